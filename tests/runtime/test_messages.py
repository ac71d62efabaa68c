"""Messages of a program that waits for its compiler, in hosts that are no Python programs."""

from __future__ import annotations

import pytest

from lazyloom import settings
from lazyloom.execute.compiling.messages import VARIABLE


@pytest.mark.parametrize("takes", [True, False], ids=["it_takes_them", "it_takes_none"])
@pytest.mark.parametrize("variable", [None, "0", "1"])
@pytest.mark.parametrize("silent", [True, False], ids=["silent", "not_silent"])
def test_a_host_has_messages_and_prints_none_unless_the_variable_says_so(
    takes: bool, variable: str | None, silent: bool, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv(VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    heard: list[str] = []
    before = settings._messages[0], settings._receiver[0]

    def receiver(text: str) -> bool:
        heard.append(text)
        return takes

    try:
        settings._messages[0], settings._receiver[0] = True, None
        assert settings.says_messages(VARIABLE) == (variable != "0")
        settings.send_messages(receiver, silent)
        assert settings.says_messages(VARIABLE)
        settings.tell("it takes long", VARIABLE)
    finally:
        settings._messages[0], settings._receiver[0] = before
    printed = not takes and (variable == "1" or (variable is None and not silent))
    assert heard == ["it takes long"]
    assert capsys.readouterr().err == ("it takes long\n" if printed else "")
