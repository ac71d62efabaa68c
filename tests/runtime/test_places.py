"""Where in the user's program this thread is, as the function in C finds it."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from lazyloom.extension import NATIVE
from lazyloom.trace import source

pytestmark = pytest.mark.skipif(
    not hasattr(NATIVE, "user_place"), reason="the functions in C are not compiled")


def nested(files: dict[str, bool], known: Any, depth: int) -> Any:
    if depth:
        return nested(files, known, depth - 1)
    return NATIVE.user_place(files, known)


def inner(files: dict[str, bool], known: Any = None) -> Any:
    """The function's answer from code whose file is named "inner"."""
    scope: dict[str, Any] = {"ask": NATIVE.user_place, "files": files, "known": known}
    exec(compile("def within():\n    return ask(files, known)\n", "inner", "exec"), scope)
    return scope["within"]()


def test_the_innermost_frame_outside_of_internal_files_is_found() -> None:
    found = inner({"inner": True, __file__: False})
    assert found[0] is inner.__code__ and 0 < found[1] < len(inner.__code__.co_code)


def test_there_may_be_none() -> None:
    internal = {"inner": True}
    frame: Any = sys._getframe()
    while frame is not None:
        internal[frame.f_code.co_filename] = True
        frame = frame.f_back
    assert inner(internal) == (None, 0)


def test_a_file_that_is_not_known_is_for_the_caller() -> None:
    assert inner({}) is None
    assert inner({"inner": True}) is None


def test_known_code_is_found_whatever_its_file() -> None:
    found = nested({}, test_known_code_is_found_whatever_its_file.__code__, 0)
    assert found is None
    assert nested({}, nested.__code__, 3)[0] is nested.__code__
    own = sys._getframe().f_code
    assert nested({__file__: True}, own, 3)[0] is own


def test_the_offset_is_the_frames() -> None:
    def ask() -> Any:
        return NATIVE.user_place({__file__: False}, None), sys._getframe().f_lasti

    (code, offset), later = ask()
    assert code is ask.__code__ and 0 < offset < later


def test_threads_have_places_of_their_own() -> None:
    found = []
    thread = threading.Thread(
        target=lambda: found.append(NATIVE.user_place({__file__: False}, None)))
    thread.start()
    thread.join()
    assert found[0][0].co_name == "<lambda>"


@pytest.mark.parametrize("given", [(), ({},), ({}, None, 1), ([], None)])
def test_other_arguments_are_errors(given: Any) -> None:
    with pytest.raises(TypeError, match="user_place: expected a dict"):
        NATIVE.user_place(*given)


def test_the_runtime_finds_the_same() -> None:
    (code, offset), line = source.user_place(), sys._getframe().f_lineno
    assert code is sys._getframe().f_code
    assert str(source.Site(code, offset)) == f"{__file__}:{line}"
