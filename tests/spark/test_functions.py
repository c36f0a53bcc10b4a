"""The functions of pyspark.sql, imported late."""

import subprocess
import sys

from pyspark.sql import functions

from ndcore.spark.functions import F


def test_they_are_those_of_pyspark():
    assert F.col is functions.col and F.udf is functions.udf
    assert not hasattr(F, "no_such_function")


def test_import_takes_no_pyspark():
    code = "import sys, ndcore.spark; from ndcore.spark.functions import F; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
