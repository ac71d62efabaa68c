"""Kernels whose text in C is written later have the text then that they would have had at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from lazyloom.host import unwritten
from lazyloom.host.c_source.library import with_text
from lazyloom.host.find import form_text, text_of
from lazyloom.host.unwritten import InC, Traced
from lazyloom.ops.spec import lookup
from lazyloom.program.extents import at_numbers, form_of, may_vary, outline
from tests.ops.checks import type_of
from tests.runtime.other_extents import variants
from tests.runtime.test_c_kernels import of_samples

#: of most kinds
OPS = ["tanh", "add", "sum", "var", "where", "cumsum", "log_softmax", "take", "transpose", "sort"]


def texts(op_names: list[str], thorough: bool) -> Iterator[tuple[str, Callable[[InC], str]]]:
    """What writes the texts of kernels, at the types of samples and for any extents."""
    for name in op_names:
        for label, spec, operands, _ in of_samples(lookup(name), thorough):
            types = tuple(None if o is None else type_of(o) for o in operands)
            yield label, lambda in_c, s=spec, t=types: text_of(s, t, in_c)
            numbers = outline(spec, types)[1]
            for chosen in list(variants(numbers))[:1] if may_vary(spec) else []:
                form, found = form_of([numbers, chosen[0]]), at_numbers(spec, types, chosen[0])
                if form is not None and found is not None:
                    yield f"{label} at any", lambda in_c, f=form, a=found: form_text(*a, f, in_c)


def compared(label: str, write: Callable[[InC], str]) -> bool:
    """Whether there is a text in C, which is the same at once and later."""
    traced = Traced()
    try:
        text, at_once = write(traced.mark), write(with_text)
    except Exception:
        # a gradient of what has none
        return False
    assert "native(" not in text, label
    if "later(" not in text:
        assert "native(" not in at_once, label
        return False
    assert traced.written(text, write) == at_once, label
    assert Traced().written(text, write) == at_once, label
    return "native(" in at_once


def test_it_is_the_text_that_would_be_written_at_once() -> None:
    assert sum([compared(*each) for each in texts(OPS, False)]) > 20


def test_so_it_is_with_all_ops(op_names: list[str], thorough: bool) -> None:
    if not thorough:
        pytest.skip("--thorough compares the texts of all ops")
    for each in texts(op_names, False):
        compared(*each)


def test_so_many_are_kept() -> None:
    spec, operands = next((s, o) for _, s, o, _ in of_samples(lookup("tanh"), False))
    types = tuple(type_of(np.asarray(o)) for o in operands)
    first, again = Traced(), []

    def write(in_c: InC) -> str:
        again.append(in_c)
        return text_of(spec, types, in_c)

    text = write(first.mark)
    for _ in range(unwritten.TRACED - 1):
        write(Traced().mark)
    again.clear()
    expected: Any = first.written(text, write)
    assert not again
    write(Traced().mark)
    again.clear()
    assert first.written(text, write) == expected and len(again) == 1
    # the op cannot be traced any more
    assert first.written(text, lambda in_c: "") == text
