"""What notebooks show: arrays, tensors, programs and records."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
import lazyloom_torch as torch


class _Parsed(HTMLParser):
    """The cells of the table and the text below it; every tag must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] == "pre":
            self.text += data
        else:
            self.cells.append(data)


def test_an_array_and_a_tensor() -> None:
    x = lnp.arange(6.0).reshape(2, 3) + 1
    shown = _Parsed(x._repr_html_())
    assert shown.cells == ["shape", "(2, 3)", "dtype", "float64", "device", "default"]
    assert shown.text == repr(x) == repr(np.arange(6.0).reshape(2, 3) + 1)
    t = torch.ones(2, dtype=torch.float32, requires_grad=True) * 2
    shown = _Parsed(t._repr_html_())
    assert shown.cells == ["shape", "[2]", "dtype", "torch.float32", "device", "cpu"]
    # with the characters that HTML has a meaning for
    assert shown.text == repr(t) == "tensor([2., 2.], grad_fn=<MulBackward0>)"


@pytest.mark.parametrize("make", [lambda: lnp.arange(7.0) * 3, lambda: torch.arange(7.0) * 3])
def test_it_reads_and_runs_what_repr_does(make: Any) -> None:
    counts = []
    for show in (repr, lambda x: x._repr_html_()):
        x = make()
        with ll.testing.counted() as found:
            show(x)
        counts.append((len(found.reads), len(found.programs)))
    assert counts[0] == counts[1]


def test_programs_and_records() -> None:
    x = lnp.arange(5.0) < 2
    program = ll.program_of(x)
    shown = _Parsed(program._repr_html_())
    assert shown.text == program.text()
    assert shown.cells == ["ops", str(len(program.ops)), "key", program.key[:12]]
    x.read()
    record = ll.last_evaluation()
    assert record is not None and _Parsed(record._repr_html_()).text == record.text()
    assert _Parsed(ll.explain(program)._repr_html_()).text == str(ll.explain(program))
