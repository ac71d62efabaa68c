"""Handlers of signals that use the runtime while they interrupt it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.execute import prepare
from tests.contract.helpers import host, number, rec

X = np.linspace(0.1, 2.0, 14, dtype=np.float32).reshape(2, 7)


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], None]], None]]:
    """Has the next choice of a form interrupted by a signal, whose handler calls a function."""
    decide = prepare.decide
    before = signal.getsignal(signal.SIGUSR1)

    def next_time(call: Callable[[], None]) -> None:
        def with_signal(*given: Any) -> Any:
            monkeypatch.setattr(prepare, "decide", decide)
            signal.raise_signal(signal.SIGUSR1)
            return decide(*given)

        signal.signal(signal.SIGUSR1, lambda *_: call())
        monkeypatch.setattr(prepare, "decide", with_signal)

    yield next_time
    signal.signal(signal.SIGUSR1, before)


def test_what_an_interrupted_run_computes_cannot_be_read(interrupted: Any) -> None:
    value = rec("sin", host(X))
    later: list[Any] = []
    messages: list[str] = []

    def handler() -> None:
        later.append(rec("add", value, number(2.5)))
        for wanted in (value, later[0]):
            with pytest.raises(ll.errors.ReadForbiddenError) as raised:
                wanted.read()
            messages.append(str(raised.value))

    interrupted(handler)
    np.testing.assert_allclose(value.read(), np.sin(X), rtol=1e-6)
    assert len(messages) == 2
    for text in messages:
        assert "is being computed by the read at" in text and f"{__file__}:" in text
        assert "signal's handler" in text
    # nothing has failed: what the handler recorded was put back
    np.testing.assert_allclose(later[0].read(), np.sin(X) + 2.5, rtol=1e-6)


def test_a_handler_reads_what_is_there_and_what_it_records(interrupted: Any) -> None:
    there = rec("cos", host(X))
    there.read()
    found: list[Any] = []

    def handler() -> None:
        found.append(there.read())
        found.append(rec("exp", there).read())

    value = rec("tanh", host(X))
    interrupted(handler)
    np.testing.assert_allclose(value.read(), np.tanh(X), rtol=1e-6)
    np.testing.assert_allclose(found[0], np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(found[1], np.exp(np.cos(X)), rtol=1e-6)


def test_an_error_of_the_handler_ends_the_read_and_nothing_is_lost(interrupted: Any) -> None:
    value = rec("sinh", host(X))

    def handler() -> None:
        value.read()

    interrupted(handler)
    with pytest.raises(ll.errors.ReadForbiddenError, match="is being computed"):
        value.read()
    np.testing.assert_allclose(value.read(), np.sinh(X), rtol=1e-6)
