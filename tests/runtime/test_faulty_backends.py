"""What a backend does wrong is an error that names it, and never a wrong answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.backends import Backend, Executable, NotLowered, Request, fingerprint, returned
from lazyloom.backends.selection import VARIABLE, backend
from lazyloom.cache import memory
from lazyloom.errors import ArgumentError, ExecutionError
from tests.contract.helpers import counted, host, number, script

NAME = backend().name


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def last() -> ll.Evaluation:
    found = ll.last_evaluation()
    assert found is not None
    return found


class Changed(Executable):
    """An executable of the backend in use whose run returns something else."""

    def __init__(self, inner: Executable, change: Callable[[list[Any]], Any]) -> None:
        self.inner = inner
        self.run = lambda *arguments: change(inner.run(*arguments))
        self.direct = False
        self.needs = inner.needs
        self.timings: Any = inner.timings

    def serialize(self) -> bytes:
        return self.inner.serialize()


def changed(monkeypatch: pytest.MonkeyPatch, change: Callable[[list[Any]], Any]) -> None:
    """Let the runs of all programs that are compiled from now on return something else."""
    compiled = backend().compile
    monkeypatch.setattr(
        backend(), "compile", lambda request: Changed(compiled(request), change))


def error_of(value: Any) -> ExecutionError:
    with pytest.raises(ExecutionError) as caught:
        value.read()
    return caught.value


def uploaded(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return backend().upload(np.zeros(shape, dtype))


@pytest.mark.parametrize("shape, dtype", [
    ((7, 3), np.float32), ((28,), np.float32), ((7, 4), np.int32), ((7, 4), np.float64)])
def test_a_result_of_another_type_fails_where_it_is_made(
    shape: tuple[int, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache
    x = host(np.ones((7, 4)))
    with monkeypatch.context() as patch:
        changed(patch, lambda _: [uploaded(shape, dtype)])
        line = sys._getframe().f_lineno + 1
        y = ll.record("tanh", [x])
        ll.sync(y)
    below = rec("sum", rec("multiply", y, number(2.0)), axes=None, keepdims=False)
    for value in (below, y, below):
        error = error_of(value)
        given = f"{np.dtype(dtype).name}[{','.join(map(str, shape))}]"
        assert str(error) == (
            f"op tanh, recorded at {__file__}:{line}, failed: the backend {NAME} returned {given} "
            "for its result, expected float32[7,4].")
        assert error.op == "tanh" and error.site == f"{__file__}:{line}"
    assert x.read().sum() == 28


def test_of_several_results_it_is_said_which(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache
    x = host(np.eye(2))
    changed(monkeypatch, lambda results: [*results[:-1], "no array"])
    values, vectors = ll.apply("eigh", [ll.Tensor(x)])
    with pytest.raises(ExecutionError, match=r"op eigh.*returned a str for its result 1 of 2, exp"):
        ll.sync(values, vectors, wait=True)


@pytest.mark.parametrize("change, what", [
    (lambda r: r[:1], "returned 1 of 2 results"), (lambda r: [], "returned 0 of 2 results"),
    (lambda r: [*r, r[0]], "returned 3 results, expected 2"),
    (lambda r: None, "returned a NoneType, expected a list of 2 arrays"),
    (lambda r: r[0], "expected a list of 2 arrays"),
])  # fmt: skip
def test_the_number_of_results_is_compared(
    change: Callable[[list[Any]], Any], what: str, monkeypatch: pytest.MonkeyPatch,
    fresh_cache: Path,
) -> None:
    assert fresh_cache
    changed(monkeypatch, change)
    x = host(np.ones(5))
    y = rec("exp", x)
    z = rec("sin", y)
    for value in (y, z):
        text = str(error_of(value))
        assert f"failed: the backend {NAME} " in text and what in text, text
        assert "a program of 2 ops (exp, sin)" in text


def test_only_the_first_run_of_a_program_is_compared(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache
    looks = []
    check = returned.check_results
    monkeypatch.setattr(
        returned, "check_results", lambda *given: (looks.append(1), check(*given)))
    for k in range(4):
        assert rec("add", host(np.ones(3)), number(2.5 + k)).read()[0] == 3.5 + k
    assert len(looks) == 1
    memory.clear()
    rec("add", host(np.ones(3)), number(2.5)).read()
    assert last().found == "disk" and len(looks) == 2


def test_what_a_faulty_run_was_given_to_write_over_is_lost(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache
    t = ll.Tensor(rec("add", host(np.ones(6)), number(2.0)))
    t.read()
    changed(monkeypatch, lambda _: [uploaded((5,))])
    t._write(rec("multiply", t.value, number(3.0)))
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"returned float32\[5\].*are lost; options\(don"):
            t.read()


@pytest.mark.parametrize("at", [-1, 2, 99, None])
def test_an_instruction_that_the_program_does_not_have(
    at: Any, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache

    def compile(request: Request) -> Executable:
        raise NotLowered(at, ValueError("cannot do it"))

    value = rec("sin", rec("exp", host(np.ones(5))))
    monkeypatch.setattr(backend(), "compile", compile)
    text = str(error_of(value))
    assert f"the backend {NAME} raised NotLowered for instruction {at} of 2" in text
    assert "ValueError: cannot do it" in text


@pytest.mark.parametrize("given", ["text", None])
def test_a_program_that_cannot_be_stored_is_used(
    given: Any, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache
    with monkeypatch.context() as patch, counted() as delta:
        patch.setattr(Changed, "serialize", lambda self: given)
        changed(patch, lambda results: results)
        assert rec("add", host(np.ones(3)), number(2.5)).read()[0] == 3.5
    assert delta.disk_errors == 1
    memory.clear()
    rec("add", host(np.ones(3)), number(2.5)).read()
    assert last().found == "compiled"


def test_what_loads_no_program_has_it_compiled_again(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache
    rec("add", host(np.ones(3)), number(2.5)).read()
    memory.clear()
    monkeypatch.setattr(backend(), "load", lambda data, request: None)
    with counted() as delta:
        assert rec("add", host(np.ones(3)), number(2.5)).read()[0] == 3.5
    assert last().found == "compiled" and delta.disk_errors == 1


@pytest.mark.parametrize("attribute, given, what", [
    ("run", 3, "run is 3, expected a function"), ("direct", None, "direct is None, expected a b"),
    ("needs", "12", "needs is '12', expected a number of bytes"),
    ("timings", {"foo": "bar"}, "timings is {'foo': 'bar'}, expected seconds by phase"),
    ("timings", None, "timings is None, expected seconds by phase"),
])  # fmt: skip
def test_an_executable_is_looked_at_when_it_is_made(
    attribute: str, given: Any, what: str, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache
    compiled = backend().compile

    def compile(request: Request) -> Executable:
        found = Changed(compiled(request), lambda results: results)
        setattr(found, attribute, given)
        return found

    monkeypatch.setattr(backend(), "compile", compile)
    text = str(error_of(rec("add", host(np.ones(3)), number(2.5))))
    assert f"failed: compile of the backend {NAME} returned a" in text and what in text, text
    assert "failed" in last().text()


def test_an_executable_is_one(monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    assert fresh_cache
    monkeypatch.setattr(backend(), "compile", lambda request: None)
    text = str(error_of(rec("add", host(np.ones(3)), number(2.5))))
    assert f"compile of the backend {NAME} returned a NoneType, expected a lazyloom" in text


@pytest.mark.parametrize("error, what", [
    (KeyError("x"), "failed: KeyError: 'x'."), (ZeroDivisionError(), "failed: ZeroDivisionError."),
    (MemoryError("no room"), "failed: out of memory: no room."),
    (MemoryError(), "failed: out of memory."),
])  # fmt: skip
@pytest.mark.parametrize("during", ["run", "compile"])
def test_an_error_is_given_with_its_type(
    during: str, error: Exception, what: str, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache

    def failing(_: Any) -> Any:
        raise error

    if during == "run":
        changed(monkeypatch, failing)
    else:
        monkeypatch.setattr(backend(), "compile", failing)
    assert what in str(error_of(rec("add", host(np.ones(3)), number(2.5))))


def test_the_record_names_the_backend(monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    assert fresh_cache
    for found in ("compiled", "memory"):
        rec("add", host(np.ones(3)), number(2.5)).read()
        assert last().backend == NAME and f"1 ops on {NAME}, {found}" in last().text()

    def failing(_: Any) -> Any:
        raise ValueError("it fails")

    monkeypatch.setattr(backend(), "compile", failing)
    error_of(rec("add", host(np.ones(4)), number(2.5)))
    assert last().backend == NAME


def test_the_record_of_what_is_left_of_a_program_is_of_what_ran(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    """After an op that could not be lowered, the rest of the program is what the record is of."""
    assert fresh_cache
    compiled = backend().compile

    def without_sort(request: Request) -> Executable:
        for n, i in enumerate(request.structure.instructions):
            if i.spec.op.name == "sort":
                raise NotLowered(n, NotImplementedError("no sort"))
        return compiled(request)

    monkeypatch.setattr(backend(), "compile", without_sort)
    for found in ("compiled", "memory"):
        x = host(np.ones(5))
        good = rec("sin", rec("exp", x))
        bad = rec("cos", rec("negative", rec("sort", x, axis=0)))
        both = rec("add", good, bad)
        assert good.read() is not None
        record = last()
        assert "no sort" in str(error_of(both)) and "no sort" in str(record.error)
        assert record.program is not None and record.program.ops == ["exp", "sin"]
        assert record.ops == 2 and record.found == found
        assert (record.difference is not None) == (found == "compiled")
        assert ("compiled because" in record.text()) == (found == "compiled")


def faulty_download(given: Any) -> Callable[[Any], Any]:
    return lambda array: given


@pytest.mark.parametrize("given, what", [
    (None, "a NoneType"), ([1.0], "a list"), (np.zeros(2, np.float32), r"float32\[2\]"),
    (np.zeros(3), r"float64\[3\]"),
])  # fmt: skip
def test_a_download_of_something_else(
    given: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = host(np.ones(3))
    line = sys._getframe().f_lineno + 1
    y = ll.record("add", [x, number(2.5)])
    ll.sync(y)
    monkeypatch.setattr(backend(), "download", faulty_download(given))
    for _ in range(2):
        with pytest.raises(
            ExecutionError, match=f"op add, recorded at {__file__}:{line}, failed: download of the "
            rf"backend {NAME} returned {what}, expected a NumPy array of type float32\[3\]",
        ):
            y.read()


def test_a_number_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rec("add", host(np.ones(())), number(1.5))
    ll.sync(x)
    monkeypatch.setattr(backend(), "number", lambda array, dtype: np.zeros(3))
    with pytest.raises(
        ExecutionError, match=f"number of the backend {NAME} returned float64\\[3\\], expected a "
        "Python number or None"
    ):
        x.read_number()


def test_a_download_of_something_else_for_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    flag = host([0], np.int32)
    value, _ = rec("checked", host([1.0]), rec("add", flag, flag), kind="none", of="x", info=())
    ll.sync(value)
    monkeypatch.setattr(backend(), "is_ready", lambda array: False)
    monkeypatch.setattr(backend(), "download", faulty_download(None))
    with pytest.raises(ExecutionError, match=f"download of the backend {NAME} returned a NoneType"):
        value.read()


def test_an_upload_of_nothing_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = host(np.ones(3))
    with monkeypatch.context() as patch:
        patch.setattr(backend(), "upload", lambda array: None)
        text = str(error_of(rec("add", x, x)))
    assert f"failed: upload of the backend {NAME} returned None, expected an array" in text
    assert rec("add", x, x).read().tolist() == [2, 2, 2]


def test_what_a_backend_says_of_itself(monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    assert fresh_cache
    for given in ({"device": "toy"}, None):
        monkeypatch.setattr(backend(), "describe", lambda given=given: given)
        with pytest.raises(
            ExecutionError, match=f"describe of the backend {NAME} returned .*with 'platform'"
        ):
            ll.platform()
    monkeypatch.setattr(backend(), "fingerprint", lambda: None)
    fingerprint.fingerprint.cache_clear()
    try:
        text = str(error_of(rec("add", host(np.ones(3)), number(2.5))))
    finally:
        fingerprint.fingerprint.cache_clear()
    assert f"fingerprint of the backend {NAME} returned a NoneType, expected a str" in text


def test_a_backend_has_a_name() -> None:
    methods = {name: lambda self, *given: None for name in Backend.__abstractmethods__}
    for name in ({}, {"name": ""}, {"name": 3}):
        bare: Any = type("Bare", (Backend,), {**methods, **name})()
        with pytest.raises(ArgumentError, match="use_backend: a .*Bare whose name is .* was given"):
            ll.use_backend(bare)


@pytest.mark.parametrize("name", ["no_such_module:x", "..x:y", "tests.runtime.test_backends:ROOT"])
def test_the_command_line_says_what_is_wrong_with_the_choice(name: str) -> None:
    done = script(
        "import runpy; runpy.run_module('lazyloom', run_name='__main__')", "info", check=False,
        **{VARIABLE: name})
    assert done.returncode == 1 and "Traceback" not in done.stderr and not done.stdout
    assert f"python -m lazyloom: {VARIABLE} is {name!r}" in done.stderr
