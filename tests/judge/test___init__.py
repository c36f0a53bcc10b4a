"""What the room of the judge gives to programs."""

import subprocess
import sys

import ndcore as nd


def test_the_names_of_the_room_are_those_of_its_modules() -> None:
    for name in nd.judge.__all__:
        assert getattr(nd.judge, name) is not None
    assert nd.judge.Session.__module__ == "ndcore.judge.session"


def test_a_session_needs_no_server() -> None:
    """The page needs starlette; answers that a program gives do not."""
    code = "import sys, ndcore; ndcore.judge.Session; print([name for name in sys.modules if name.startswith('starlette')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
