"""Why calls of captured functions were recorded, over all functions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import lazyloom
import lazyloom_numpy as lnp
from lazyloom.capture import function, recorded_calls
from tests.contract.helpers import counted


def codes(site: str) -> list[str]:
    return [call.code for call in recorded_calls() if call.site == site]


def test_a_function_that_is_made_anew_says_so() -> None:
    x = lnp.asarray(np.ones(5))
    with counted() as delta:
        for k in range(4):
            made = lazyloom.jit(lambda a, k=k: lnp.tanh(a) * 2.5)
            line = sys._getframe().f_lineno + 1
            made(x)
    site = f"{__file__}:{line}"
    assert codes(site) == ["first_calls", *["made_anew"] * 3]
    assert delta.calls_recorded == 4 and "made anew" in str(made.explain())
    assert "<lambda>" in recorded_calls()[-1].function


def test_functions_of_one_code_that_live_on_are_not_made_anew() -> None:
    x = lnp.asarray(np.ones(5))
    kept = [lazyloom.jit(lambda a, k=k: lnp.tanh(a) * 2.5) for k in range(3)]
    line = sys._getframe().f_lineno + 2
    for made in kept:
        made(x)
    assert codes(f"{__file__}:{line}") == ["first_calls"] * 3


def test_arguments_that_change_say_so() -> None:
    called: Any = lazyloom.jit(lambda a: lnp.tanh(a) * 2.5)
    line = sys._getframe().f_lineno + 2
    for n in (4, 4, 4, 5):
        called(lnp.asarray(np.ones(n)))
    assert codes(f"{__file__}:{line}")[-1] == function.CHANGED
    assert len(recorded_calls()) <= function.CALLS_KEPT
