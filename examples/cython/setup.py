"""Build beside this file: python setup.py build_ext --inplace"""

from Cython.Build import cythonize
from setuptools import Extension, setup

import ndcore

setup(
    name="page_sketches",
    ext_modules=cythonize([Extension("page_sketches", ["page_sketches.pyx"], include_dirs=[ndcore.get_include()])]),
)
