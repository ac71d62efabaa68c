"""Operands whose arrays stay the same may be bound, and a run never computes with other values."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from tests.codegen.generators import InC, InNumPy, interpret

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]


class Kept:
    """What a generator keeps of constants."""

    def __init__(self, values: Mapping[int, Any]) -> None:
        self.values = {k: v.copy() for k, v in values.items()}


class Binding(InNumPy):
    """Ops in NumPy that compute with copies of their second operands, where these are bound.

    Attributes:
        bound_to: what was bound, as long as it is kept.
        bound_calls: runs with bound values.
    """

    def __init__(self, *ops: str, name: str = "binding", order: bool = False) -> None:
        super().__init__(*ops, name=name, order=order)
        self.bound_to: list[weakref.ref[Kept]] = []
        self.bound_calls = 0

    def constants(self, region: codegen.Region) -> list[int]:
        seconds = {i.operands[1] for i in region.program.structure.instructions
                   if len(i.operands) > 1}
        return [item.number for item in seconds if isinstance(item, codegen.Leaf)]

    def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
        kept = Kept(values)
        self.bound_to.append(weakref.ref(kept))

        def run(*operands: Any) -> tuple[Any, ...]:
            self.bound_calls += 1
            given = [kept.values.get(k, x) for k, x in enumerate(operands)]
            if self.order:
                given = [x.T for x in given]
            results = interpret(region, tuple(given))
            return tuple(x.T for x in results) if self.order else results

        return codegen.PythonCode(run)

    @property
    def keeps(self) -> int:
        """How many sets of values are kept."""
        gc.collect()
        return sum(each() is not None for each in self.bound_to)


def used(generator: codegen.Generator) -> Any:
    codegen.register(generator)
    return codegen.use(generator.name)


def numbers(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def test_values_are_bound_at_the_second_run_with_the_same_arrays() -> None:
    g = Binding("multiply", "add")
    w, b = np.asarray(numbers(4, 5)), np.asarray(numbers(4, 5, seed=1))
    before = lazyloom.stats()["constants_bound"]
    with used(g):
        for run in range(4):
            x = numbers(4, 5, seed=10 + run)
            found = numpy.asarray(np.asarray(x) * w + b)
            numpy.testing.assert_array_equal(found, x * numpy.asarray(w) + numpy.asarray(b))
    assert (g.calls, g.bound_calls, len(g.bound_to)) == (1, 3, 1)
    assert lazyloom.stats()["constants_bound"] == before + 2


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3)])
def test_what_is_bound_has_the_shape_of_its_operand(shape: tuple[int, ...]) -> None:
    given: list[tuple[int, ...]] = []

    class Shapes(Binding):
        def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
            given.extend(value.shape for value in values.values())
            assert not any(value.flags.writeable for value in values.values())
            return super().bound(region, values)

    g = Shapes("multiply")
    w = np.asarray(numbers(*shape))
    with used(g):
        for run in range(3):
            x = numbers(*shape, seed=10 + run)
            found = numpy.asarray(np.asarray(x) * w)
            numpy.testing.assert_array_equal(found, x * numpy.asarray(w))
            assert found.shape == shape
    assert given == [shape] and g.bound_calls == 2
    assert not codegen.failures()


def test_what_the_generator_does_not_name_is_never_bound() -> None:
    g = InNumPy("multiply")
    x, w = np.asarray(numbers(4, 5)), np.asarray(numbers(4, 5, seed=1))
    with used(g):
        for _ in range(3):
            numpy.testing.assert_array_equal(
                numpy.asarray(x * w), numpy.asarray(x) * numpy.asarray(w))
    assert g.calls == 3


def test_a_write_in_place_is_seen_at_once() -> None:
    g = Binding("multiply")
    x, w = torch.tensor(numbers(8)), torch.tensor(numbers(8, seed=1))
    value = w.numpy().copy()
    with used(g), torch.no_grad():
        for run in range(12):
            if run % 4 == 3:
                w.mul_(2) if run % 8 == 3 else w[2:4].fill_(float(run))
                if run % 8 == 3:
                    value *= 2
                else:
                    value[2:4] = run
            numpy.testing.assert_array_equal((x * w).numpy(), x.numpy() * value)
    assert g.bound_calls >= 5


def test_memory_that_is_used_again_is_not_what_was_there_before() -> None:
    g = Binding("multiply")
    x = numbers(64, 64)
    random = numpy.random.default_rng(3)
    with used(g):
        held: list[Any] = []
        for run in range(120):
            if not held or random.random() < 0.3:
                if len(held) > 2 or (held and random.random() < 0.7):
                    del held[int(random.integers(len(held)))]
                held.append((value := numbers(64, 64, seed=run), np.asarray(value)))
            value, w = held[int(random.integers(len(held)))]
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * w), x * value)
    assert g.bound_calls > 20 and g.calls > 20


def test_training_and_inference_in_turns() -> None:
    g = Binding("multiply")
    x = torch.tensor(numbers(16))
    w = torch.tensor(numbers(16, seed=1), requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.9)
    value = w.detach().numpy().copy()
    velocity = numpy.zeros_like(value)
    with used(g):
        for step in range(12):
            if step % 3 == 0:
                optimizer.zero_grad()
                torch.tanh(x * w).sum().backward()
                optimizer.step()
                gradient = x.numpy() * (1 - numpy.tanh(x.numpy() * value) ** 2)
                velocity = numpy.float32(0.9) * velocity + gradient
                value = value - numpy.float32(0.5) * velocity
            with torch.no_grad():
                numpy.testing.assert_allclose(
                    (x * w).numpy(), x.numpy() * value, rtol=1e-4, atol=1e-5)
    assert g.bound_calls


def test_memory_that_others_may_write_to_is_not_bound() -> None:
    g = Binding("multiply")
    x = numbers(4096)
    # memory that is aligned is taken as it is
    room = numpy.zeros(4096 + 16, "float32")
    start = -room.ctypes.data % 64 // 4
    outside = room[start : start + 4096]
    with used(g):
        w = np.from_dlpack(outside)
        for run in range(4):
            outside[:] = run
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * w), x * outside)
        assert g.bound_calls == 0
        # and memory that is handed out is not bound any more
        v = np.asarray(numbers(4096, seed=2))
        for _ in range(2):
            numpy.asarray(np.asarray(x) * v)
        assert g.bound_calls == 1
        numpy.from_dlpack(v)
        numpy.asarray(np.asarray(x) * v)
        assert g.bound_calls == 1


def test_what_was_made_ends_with_the_arrays() -> None:
    g = Binding("multiply")
    x = numbers(32)
    with used(g):
        w = np.asarray(numbers(32, seed=1))
        for _ in range(3):
            numpy.asarray(np.asarray(x) * w)
        assert g.keeps == 1
        del w
        assert g.keeps == 0


def test_what_was_made_ends_with_the_program() -> None:
    g = Binding("multiply")
    x, w = numbers(33), np.asarray(numbers(33, seed=1))
    with used(g):
        for _ in range(3):
            numpy.asarray(np.asarray(x) * w)
        assert g.keeps == 1
        memory.clear()
        assert g.keeps == 0
        numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * w), x * numpy.asarray(w))


def test_two_models_of_one_structure_in_turns() -> None:
    g = Binding("multiply", "add")
    models = [[np.asarray(numbers(6, seed=10 * m + k)) for k in range(2)] for m in range(3)]
    with used(g):
        for run in range(9):
            w, b = models[run % 3]
            x = numbers(6, seed=100 + run)
            numpy.testing.assert_array_equal(
                numpy.asarray(np.asarray(x) * w + b),
                x * numpy.asarray(w) + numpy.asarray(b))
    assert (g.calls, g.bound_calls, g.keeps) == (3, 6, 3)


def test_one_region_with_other_arrays_in_other_places_of_a_program() -> None:
    g = Binding("multiply")
    layers = [np.asarray(numbers(5, seed=k)) for k in range(3)]
    with used(g):
        for run in range(3):
            x = numbers(5, seed=20 + run)
            y, expected = np.asarray(x), x
            for w in (*layers, layers[0]):
                y = np.tanh(y * w)
                expected = numpy.tanh(expected * numpy.asarray(w))
            numpy.testing.assert_allclose(numpy.asarray(y), expected, rtol=1e-5)
    assert (g.calls, g.bound_calls) == (4, 8)
    # the first and the last place have the same arrays
    assert len(g.bound_to) == 3


def test_the_order_in_memory_holds_for_values() -> None:
    g = Binding("multiply", order=True)
    w = numbers(3, 4)
    theirs = np.asarray(w)
    with used(g):
        for run in range(3):
            x = numbers(3, 4, seed=run)
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * theirs), x * w)
    assert g.bound_calls == 2


def test_values_that_cannot_be_bound_leave_the_region_as_it_was() -> None:
    class Failing(Binding):
        def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
            raise MemoryError("no room")

    g = Failing("multiply", name="failing")
    x, w = numbers(7), numbers(7, seed=1)
    with used(g):
        ours = np.asarray(w)
        numpy.asarray(np.asarray(x) * ours)
        with pytest.warns(RuntimeWarning, match="failed to bind the constants of .* no room"):
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * ours), x * w)
        numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * ours), x * w)
        memory.clear()
        numpy.asarray(np.asarray(x) * ours)
    assert g.calls == 4 and [f.when for f in codegen.failures()] == ["bind"]


def test_a_run_with_bound_values_that_fails_is_done_by_the_host() -> None:
    class Failing(Binding):
        def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
            def run(*operands: Any) -> Any:
                raise OSError("it broke")

            return codegen.PythonCode(run)

    x, w = numbers(7), numbers(7, seed=1)
    with used(Failing("multiply", name="failing")):
        ours = np.asarray(w)
        numpy.asarray(np.asarray(x) * ours)
        with pytest.warns(RuntimeWarning, match="it broke"):
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * ours), x * w)
        numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * ours), x * w)


def test_no_more_is_bound_than_may_be_kept() -> None:
    g = Binding("multiply")
    x = numbers(1024)
    with used(g), lazyloom.options(constants_kept=10_000):
        held = [np.asarray(numbers(1024, seed=k)) for k in range(4)]
        for w in held:
            for _ in range(3):
                numpy.testing.assert_array_equal(
                    numpy.asarray(np.asarray(x) * w), x * numpy.asarray(w))
        assert g.keeps == 2
        large = np.asarray(numbers(4096))
        for _ in range(3):
            numpy.asarray(np.asarray(numbers(4096, seed=1)) * large)
        assert g.keeps == 2


def test_c_may_be_bound() -> None:
    class Texts(InC):
        name = "texts"
        texts = 0

        def constants(self, region: codegen.Region) -> list[int]:
            return [1]

        def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
            self.texts += 1
            written = ", ".join(f"{v:.9g}f" for v in values[1].tolist())
            return codegen.CSource(
                f"static const float w[] = {{{written}}};\n"
                "const char *region(void *const *p) {\n"
                f"    for (long k = 0; k < {values[1].size}; k++)\n"
                "        ((float *)p[2])[k] = ((const float *)p[0])[k] * w[k];\n"
                "    return 0;\n}\n")

    g = Texts()
    x, w = numbers(9), numpy.arange(1, 10, dtype="float32") + 0.5
    ours = np.asarray(w)
    with used(g):
        for _ in range(3):
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(x) * ours), x * w)
    assert g.texts == 1


def test_a_program_from_disk_binds_as_one_that_was_compiled(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path))
    g = Binding("multiply")
    x, w = numbers(21), numbers(21, seed=1)
    with used(g):
        for again in range(2):
            ours = np.asarray(w)
            memory.clear()
            before = lazyloom.stats()["programs_from_disk"]
            for _ in range(3):
                found = numpy.asarray(np.tanh(np.asarray(x) * ours))
                numpy.testing.assert_allclose(found, numpy.tanh(x * w), rtol=1e-6)
            assert lazyloom.stats()["programs_from_disk"] == before + again
            assert (g.calls, g.bound_calls) == (1 + again, 2 * (1 + again))


def test_threads_that_run_one_program() -> None:
    g = Binding("multiply", "add")
    wrong: list[Any] = []

    def work(seed: int) -> None:
        with lazyloom.options(reproducible=True):
            steps(seed)

    def steps(seed: int) -> None:
        w = numbers(50, seed=seed)
        ours = np.asarray(w)
        for run in range(40):
            if run % 10 == 9:
                w = numbers(50, seed=1000 * seed + run)
                ours = np.asarray(w)
            x = numbers(50, seed=run)
            if not numpy.array_equal(numpy.asarray(np.asarray(x) * ours + ours), x * w + w):
                wrong.append((seed, run))

    with used(g):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong and g.bound_calls


def test_a_program_runs_without_while_constants_are_bound_beside_it() -> None:
    begun, go = threading.Event(), threading.Event()

    class Slow(Binding):
        def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
            begun.set()
            assert go.wait(60)
            assert all(not v.flags.writeable for v in values.values())
            return super().bound(region, values)

    g = Slow("multiply", name="slow_binding")
    a, b = numbers(6, 7), numbers(6, 7, seed=1)
    with used(g):
        y = np.asarray(b)

        def run() -> None:
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(a) * y), a * b)

        # compiled at once, since the tests here run with reproducible=True
        run()
        with lazyloom.options(reproducible=False):
            for _ in range(5):
                run()
            assert begun.wait(60) and g.bound_calls == 0
            calls = g.calls
            go.set()
            for _ in range(2000):
                run()
                if g.bound_calls:
                    break
                time.sleep(0.01)
            assert g.bound_calls and g.calls >= calls >= 6 and len(g.bound_to) == 1


def test_what_fails_beside_is_told_once() -> None:
    class Failing(Binding):
        def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
            raise OSError("no room")

    g = Failing("multiply", name="failing_beside")
    a, b = numbers(6, 7), numbers(6, 7, seed=1)
    with used(g):
        y = np.asarray(b)
        numpy.asarray(np.asarray(a) * y)
        with lazyloom.options(reproducible=False), pytest.warns(RuntimeWarning, match="no room"):
            for _ in range(2000):
                numpy.testing.assert_array_equal(numpy.asarray(np.asarray(a) * y), a * b)
                if codegen.failures():
                    break
                time.sleep(0.01)
    (failure,) = codegen.failures()
    assert failure.when == "bind" and "no room" in failure.error
