"""Functions in C that are compiled for kernels which are take long, and kept for later runs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from lazyloom.host import native
from lazyloom.host.c_source.library import compiler
from tests.contract.helpers import script

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(not native.calls_c(), reason="what calls C was not compiled"),
    pytest.mark.skipif(shutil.which(compiler()[0]) is None, reason="there is no C compiler"),
]

#: programs whose kernels do not come with an installation, and what their kernels are now
HEAD = """
import gc
import numpy
import lazyloom as ll
import lazyloom_torch as torch
from lazyloom.host import native
from lazyloom.execute.compiling import background
from lazyloom.extension import NATIVE

numbers = numpy.random.RandomState(0).standard_normal((2, 3, 2, 3, 4)).astype("float32")
x, w = torch.tensor(numbers), torch.tensor(numbers[0, 0, 0, 0])


def softmax(a):
    e = numpy.exp(a - a.max(2, keepdims=True))
    return e / e.sum(2, keepdims=True)


def norm(a, scale):
    centred = a - a.mean(-1, keepdims=True)
    return centred / numpy.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale


expected = softmax(numbers), norm(numbers, numbers[0, 0, 0, 0])


def step():
    found = torch.softmax(x, 2), torch.nn.functional.layer_norm(x, (4,), w)
    for a, b in zip(found, expected):
        numpy.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-6)


def kernels():
    awaited = [o for o in gc.get_objects() if type(o) is NATIVE.Awaited]
    return len(awaited), sum(native.is_native(a.target) for a in awaited)


def compiled():
    return ll.stats()["functions_compiled"]


def errors():
    return [str(error) for _, error in background.failures()]
"""
LOOP = """
with ll.options(function_after=1):
    for _ in range(30):
        step()
    assert background.wait(120)
    for _ in range(3):
        step()
"""
RAN = """
print(compiled(), *kernels(), len(errors()))
"""

ENVIRONMENT = {"LAZYLOOM_KERNELS": "1", "LAZYLOOM_REPRODUCIBLE": "0"}


def run(code: str, cache: Path, **environment: str) -> list[int]:
    done = script(HEAD + code + RAN, cache=cache, **{**ENVIRONMENT, **environment})
    assert done.stderr == ""
    return [int(word) for word in done.stdout.split()]


def test_kernels_that_are_called_often_become_functions(tmp_path: Path) -> None:
    compiled, awaited, native_now, errors = run(LOOP, tmp_path)
    assert compiled >= 2 and not errors
    assert 2 <= native_now == awaited


def test_later_processes_call_the_functions_from_the_start(tmp_path: Path) -> None:
    run(LOOP, tmp_path)
    assert run("step()\nassert ll.stats()['host_kernels'] == 0", tmp_path) == [0, 0, 0, 0]


def test_kernels_that_are_called_seldom_are_left_alone(tmp_path: Path) -> None:
    code = "for _ in range(30):\n    step()\nassert background.wait(60)"
    compiled, awaited, native_now, _ = run(code, tmp_path)
    assert awaited >= 2 and compiled == native_now == 0


def texts_in_c(cache: Path) -> tuple[int, int]:
    """How many texts of kernels on disk have one in C, or may get it."""
    texts = [f.read_bytes() for kind in ("kernel", "kernels") for f in (cache / kind).rglob("*")
             if f.is_file()]
    return sum(b"native(" in t for t in texts), sum(b"later(" in t for t in texts)


def test_kernels_are_written_in_c_once_they_take_long(tmp_path: Path) -> None:
    run("step()", tmp_path)
    written, later = texts_in_c(tmp_path)
    assert written == 0 and later >= 2
    # in a process that has not traced them
    compiled, awaited, native_now, errors = run(LOOP, tmp_path)
    assert compiled >= 2 and not errors and native_now == awaited >= 2
    assert texts_in_c(tmp_path)[0] >= 2
    assert run("step()\nassert ll.stats()['host_kernels'] == 0", tmp_path) == [0, 0, 0, 0]


@pytest.mark.parametrize("environment", [
    {"LAZYLOOM_WITHOUT": "c_kernels"}, {"LAZYLOOM_WITHOUT": "background"},
    {"LAZYLOOM_CACHE": "0"}, {"LAZYLOOM_KERNELS": "0"}])
def test_they_can_be_switched_off(environment: dict[str, str], tmp_path: Path) -> None:
    done = script(HEAD + LOOP + RAN, cache=tmp_path, **{**ENVIRONMENT, **environment})
    assert done.stdout.split() == ["0", "0", "0", "0"]


def test_none_are_compiled_with_the_option_at_0(tmp_path: Path) -> None:
    compiled, _, native_now, errors = run(LOOP.replace("=1)", "=0)"), tmp_path)
    assert compiled == native_now == errors == 0


def test_the_option_may_change_between_a_kernels_calls(tmp_path: Path) -> None:
    often = LOOP.replace("range(30)", "range(400)")
    code = f"with ll.options(function_after=0):\n    step()\n{often}"
    compiled, *_ = run(code, tmp_path)
    assert compiled >= 2


@pytest.mark.parametrize("compiler", ["no-such-compiler", sys.executable, "'open", "true"])
def test_without_a_compiler_kernels_go_on_and_nobody_asks_again(
    compiler: str, tmp_path: Path
) -> None:
    code = LOOP + "assert any('ompiler' in e or 'failed' in e or 'CC' in e or 'made no' in e " \
        "for e in errors()), errors()\n" + LOOP + """
x = x[:, :, 0]


def softmax(a):
    e = numpy.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


with ll.options(function_after=1):
    for _ in range(5):
        numpy.testing.assert_allclose(
            torch.softmax(x, 1).numpy(), softmax(x.numpy()), rtol=1e-5, atol=1e-6)
    assert background.wait(120)
"""
    compiled, awaited, native_now, errors = run(code, tmp_path, CC=compiler)
    assert awaited >= 2 and compiled == native_now == 0
    assert errors == 1


@pytest.mark.parametrize("kind", ["library", "function"])
@pytest.mark.parametrize("damage", ["cut", "removed"])
def test_what_is_damaged_on_disk_is_compiled_again(
    kind: str, damage: str, tmp_path: Path
) -> None:
    run(LOOP, tmp_path)
    files = [f for f in (tmp_path / kind).rglob("*") if f.is_file()]
    assert files
    for file in files:
        if damage == "cut":
            file.write_bytes(file.read_bytes()[:-9])
        else:
            file.unlink()
    compiled, awaited, native_now, errors = run(LOOP, tmp_path)
    assert compiled >= 2 and not errors
    assert native_now == awaited


def test_threads_call_a_kernel_while_its_function_comes(tmp_path: Path) -> None:
    code = """
import threading

def work():
    for _ in range(200):
        step()

with ll.options(function_after=1):
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert background.wait(120)
    step()
"""
    compiled, awaited, native_now, errors = run(code, tmp_path)
    assert compiled >= 2 and not errors
    # what was called by fewer than so many still waits
    assert 2 <= native_now <= awaited


def test_other_extents_of_a_kernel_take_the_same_function(tmp_path: Path) -> None:
    code = LOOP + """
before = compiled()
for n in range(5, 12):
    more = numpy.random.RandomState(n).standard_normal((2, 3, n, 3, 4)).astype("float32")
    for _ in range(2):
        numpy.testing.assert_allclose(
            torch.softmax(torch.tensor(more), 2).numpy(), softmax(more), rtol=1e-5, atol=1e-6)
"""
    compiled, *_ = run(code, tmp_path)
    assert compiled >= 2


def test_kernels_of_many_extents_count_together(tmp_path: Path) -> None:
    code = """
# each takes some 50 us: none so long by itself
with ll.options(function_after=500):
    for n in range(3, 203):
        more = numpy.random.RandomState(n).standard_normal((2, 3, n, 3, 4)).astype("float32")
        numpy.testing.assert_allclose(
            torch.softmax(torch.tensor(more), 2).numpy(), softmax(more), rtol=1e-5, atol=1e-6)
assert background.wait(60)
from lazyloom.host import functions_on_demand
assert compiled() or functions_on_demand._waiting, functions_on_demand._absent
"""
    run(code, tmp_path)


def test_a_function_takes_the_place_of_a_kernel_with_absent_operands(tmp_path: Path) -> None:
    code = LOOP.replace("step()", """y = torch.nn.functional.layer_norm(x, (4,), None, None)
        numpy.testing.assert_allclose(
            y.numpy(), norm(numbers, 1.0), rtol=1e-5, atol=1e-6)""")
    compiled, awaited, native_now, _ = run(code, tmp_path)
    assert compiled >= 1 and native_now == awaited >= 1


#: many kernels, each of its own
MANY = """
import itertools

small = torch.tensor(numpy.random.RandomState(0).rand(1, 2, 1, 2, 2, 2, 2).astype("float32"))
kinds = itertools.cycle([
    (f, axes) for k in range(1, 7) for axes in itertools.combinations(range(7), k)
    for f in (torch.var, torch.amax, torch.mean)])


def other():
    f, axes = next(kinds)
    f(small, axes).numpy()

"""


def test_a_signals_handler_may_ask_while_a_kernel_asks(tmp_path: Path) -> None:
    code = MANY + """
import signal

# a handler runs in what the collector calls, too, which must not compute arrays
gc.disable()


def handler(*_):
    global busy
    if not busy:
        busy = True
        try:
            other()
        finally:
            busy = False

busy = True
other()
for _ in range(20):
    other()
busy = False
with ll.options(function_after=1):
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.002)
    try:
        for _ in range(150):
            other()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert background.wait(120)
"""
    assert run(code, tmp_path)[3] == 0


def test_a_kernel_that_is_interrupted_while_it_asks_asks_again(tmp_path: Path) -> None:
    code = """
class Stop(Exception):
    pass


def tell(awaited, seconds):
    told.append(seconds)
    if len(told) == 1:
        raise Stop
    return numpy.inf


told = []
kernel = NATIVE.Awaited(lambda a: a, 0.0, tell)
try:
    kernel(1)
except Stop:
    pass
else:
    raise AssertionError("it raised nothing")
assert kernel(2) == 2 and kernel(3) == 3 and len(told) == 2, told
kernel.use(lambda a: -a)
assert kernel(4) == -4 and kernel.costly is None
del kernel
"""
    run(code, tmp_path)


def test_functions_are_compiled_by_another_process_if_one_is_lost(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\ncase \"$1\" in --version) exec cc \"$@\";; esac\n"
                    "sleep 0.5\nexec cc \"$@\"\n")
    slow.chmod(0o755)
    code = MANY + """
import os
import signal
import time

with ll.options(function_after=1):
    for _ in range(6):
        other()
    while not background._compiler.process.pid:
        time.sleep(0.01)
    time.sleep(0.4)
    os.kill(background._compiler.process.pid, signal.SIGKILL)
    assert background.wait(120)
    assert ll.stats()["compilers_lost"] == 1
"""
    compiled, awaited, native_now, errors = run(code, tmp_path / "cache", CC=str(slow))
    assert compiled >= 2 and not errors
    assert native_now == awaited


def test_libraries_that_cannot_be_loaded_are_said_once(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for _ in range(2):
        compiled, _, native_now, errors = run(
            LOOP + LOOP, tmp_path / "cache", TMPDIR=str(open_to_all))
        assert compiled == native_now == 0
        assert errors <= 1
