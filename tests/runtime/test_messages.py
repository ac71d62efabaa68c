"""Messages of a program that waits for its compiler, in hosts that are no Python programs."""

from __future__ import annotations

import pytest

from lazyloom import settings
from lazyloom.execute.compiling.messages import VARIABLE


def test_a_host_prints_none_unless_the_variable_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings._messages[0]
    try:
        settings._messages[0] = True
        monkeypatch.delenv(VARIABLE, raising=False)
        assert settings.says_messages(VARIABLE)
        settings.silence_messages()
        assert not settings.says_messages(VARIABLE)
        monkeypatch.setenv(VARIABLE, "1")
        assert settings.says_messages(VARIABLE)
        settings._messages[0] = True
        monkeypatch.setenv(VARIABLE, "0")
        assert not settings.says_messages(VARIABLE)
    finally:
        settings._messages[0] = before
