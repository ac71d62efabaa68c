"""The plugin of pytest: the marker ``lazyloom`` and the fixture ``lazyloom_counts``.

A package of its own, which pytest imports whenever it starts in an environment that has Lazyloom:
it imports nothing but pytest until a test asks for something.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from lazyloom.testing import Counts

_MARKER: Final = (
    "lazyloom(compiles=, programs=, reads=, transfers=, fallbacks=): how often each occurs in the "
    "test, a number; or 'warn' or 'error', which sets the strict mode of that name")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    marks = list(item.iter_markers("lazyloom"))
    if not marks:
        return (yield)
    given: dict[str, Any] = {}
    # the nearest comes first
    for mark in reversed(marks):
        if mark.args:
            raise pytest.UsageError(
                f"{item.nodeid} is marked lazyloom{mark.args}, expected keywords: {_MARKER}")
        given.update(mark.kwargs)

    import lazyloom
    from lazyloom import testing

    modes = {kind: value for kind, value in given.items() if isinstance(value, str)}
    with contextlib.ExitStack() as stack:
        stack.enter_context(lazyloom.options(**modes))
        counts = stack.enter_context(testing.counted(fresh=True))
        result = yield
    try:
        for kind, expected in given.items():
            if kind not in modes:
                counts.check(kind, expected)
    except AssertionError as error:
        pytest.fail(str(error), pytrace=False)
    return result


@pytest.fixture
def lazyloom_counts() -> Iterator[Counts]:
    """What occurs in the test: a :class:`lazyloom.testing.Counts`, which counts as a fresh process
    would."""
    from lazyloom import testing

    with testing.counted(fresh=True) as counts:
        yield counts
