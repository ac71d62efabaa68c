"""Line 11: every evaluation leaves a record of why it ran, what was found and what it cost."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import counted, host, number, script


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def last() -> ll.Evaluation:
    found = ll.last_evaluation()
    assert found is not None
    return found


def test_a_record_says_why_and_where(fresh_cache: Any) -> None:
    y = rec("add", host(np.ones(7)), number(2.5))
    line = sys._getframe().f_lineno + 1
    y.read()
    record = last()
    assert record.reason == "read" and str(record.site) == f"{__file__}:{line}"
    assert record.ops == 1 and record.program is not None and record.program.ops == ["add"]
    text = record.text()
    for word in ("read", f"{__file__}:{line}", "1 ops", "28 bytes in", "28 out", record.key[:16]):
        assert word in text


def test_each_cause_has_its_reason() -> None:
    y = rec("add", host(np.ones(7)), number(2.5))
    ll.sync(y)
    assert last().reason == "sync"
    z = rec("add", y, number(2.5))
    ll.to_dlpack(z)
    assert last().reason == "dlpack"
    made = ll.source("iota", [], {"shape": (7,), "axis": 0, "dtype": ll.dtypes.float32})
    rec("add", made, y).read()
    before, record = ll.evaluations(2)
    assert record.reason == "read" and before.reason == "preparation of the read"
    assert record.spawned == [before.number]
    x = host(np.zeros(2))
    for _ in range(ll.get_option("cut_depth") + 100):
        x = rec("add", x, number(2.5))
    assert any(e.reason == "cut" for e in ll.evaluations(3))


def test_a_record_says_what_was_found(fresh_cache: Any) -> None:
    from lazyloom.cache import memory

    def run() -> str:
        rec("multiply", host(np.ones(9)), number(2.5)).read()
        return last().found

    assert run() == "compiled"
    assert run() == "memory"
    memory.clear()
    assert run() == "disk"
    assert "disk" in last().text()


def test_a_record_says_what_differed(fresh_cache: Any) -> None:
    def run(op: str, n: int) -> ll.Evaluation:
        x = host(np.ones(n))
        rec("add", rec(op, rec("exp", x)), x).read()
        return last()

    first = run("sin", 11)
    assert first.difference is not None and "first program" in first.difference
    other = run("cos", 11)
    assert other.difference is not None
    assert "cos" in other.difference and "sin" in other.difference
    assert f"{__file__}:" in other.difference
    shape = run("cos", 12)
    assert shape.difference is not None
    assert "float32[12]" in shape.difference and "float32[11]" in shape.difference
    assert run("cos", 12).difference is None


def test_a_record_counts_bytes_and_time(fresh_cache: Any) -> None:
    v = rec("add", host(np.ones(10)), number(2.5))
    v.read()
    record = last()
    assert record.bytes_in == record.bytes_out == 40
    for phase in ("collect", "lookup", "lower", "compile", "dispatch"):
        assert 0 <= record.timings[phase] < 60, phase
    v = rec("multiply", v, number(2.5))
    v.read()
    assert last().bytes_donated == 40
    kept = v
    v = rec("multiply", v, number(2.5))
    v.read()
    record = last()
    assert record.bytes_donated == 0 and record.copied == [0] and "copied" in record.text()
    assert kept.read()[0] == v.read()[0] / 2.5


def test_records_are_numbered_and_kept() -> None:
    x = host(np.ones(2))
    for k in range(5):
        rec("add", x, number(2.0 + k)).read()
    numbers = [e.number for e in ll.evaluations(5)]
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert ll.evaluations(0) == [] and len(ll.evaluations()) >= 5


def test_the_key_in_the_record_is_that_of_the_pending_program() -> None:
    v = rec("exp", rec("add", host(np.ones(5)), number(2.5)))
    key, text = ll.program_of(v).key, ll.program_of(v).text()
    v.read()
    program = last().program
    assert program is not None and program.key == key == last().key and program.text() == text


def test_stats_count_what_happened(fresh_cache: Any) -> None:
    with counted() as delta:
        a = rec("exp", host(np.ones(13)))
        b = rec("add", a, number(2.5))
        b.read()
        b.read()
    assert delta.ops_traced == delta.ops_executed == 2
    assert delta.executions == delta.programs_compiled == 1
    assert delta.programs_from_disk == delta.program_hits == 0
    assert delta.reads == 2 and delta.bytes_read == 2 * 52


def test_stats_are_a_copy() -> None:
    copy = dict(ll.stats())
    ll.stats()["executions"] = -1  # type: ignore[index]
    assert ll.stats() == copy


@pytest.mark.xla
def test_the_command_line_tells_versions_and_the_cache(tmp_path: Any) -> None:
    code = "import runpy; runpy.run_module('lazyloom', run_name='__main__')"
    out = script(code, "info", cache=tmp_path / "c").stdout
    assert "jaxlib" in out and str(tmp_path / "c") in out
    assert f"{', '.join(ll.codegen.in_use()) or 'none'}\n" in out.partition("code generators ")[2]
    (tmp_path / "c" / "lowering").mkdir(mode=0o700, parents=True, exist_ok=True)
    (tmp_path / "c" / "lowering" / "a").write_bytes(bytes(3 << 19))
    out = script(code, "cache", "info", cache=tmp_path / "c").stdout
    assert str(tmp_path / "c") in out and "{" not in out
    assert " lowering" in out and "MiB)" in out
