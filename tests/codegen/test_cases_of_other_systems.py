"""Cases that the tests of TVM, ONNX Runtime and ExecuTorch have, and none of ours had.

What is here beside :mod:`.test_partition`, :mod:`.test_patterns`, :mod:`.test_claims` and
:mod:`.test_regions`: loops and branches around regions, odd names, what XLA's own passes do at a
region's border, regions without operands, draws and views at the border, repeated blocks.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import YES, No, Pattern, any_value, match
from lazyloom.codegen.onednn import made
from tests.contract.helpers import rec

from .generators import InC, InNumPy
from .programs import Doing, divided, gives, left, regions, sound, takes, written

runs = pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none")
x = any_value()


def numbers(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def used(generator: codegen.Generator) -> Any:
    codegen.register(generator)
    return codegen.use(generator.name)


# partitions


def test_results_of_one_op_on_both_sides_of_another() -> None:
    """M's second result reaches B through X: no region may hold both M and B."""
    mine = Doing(ops="barrier negative add")
    p = written("M:barrier(x,y) X:d(M) B:t(X,M.1)")
    found = divided(p, "B", mine)
    assert regions(p, found) == ["mine: M", "mine: B"]
    assert takes(p, found.parts[1].operands) == ["X", "M.1"]


def test_a_group_whose_inner_op_has_another_result_outside() -> None:
    pattern = Pattern("pair", match("negative", match("barrier", any_value(), any_value())))
    p = written("M:barrier(x,y) A:negative(M) B:d(M.1)")
    found = divided(p, "A B", Doing(ops="negative", patterns=[pattern]))
    assert [part.region.composites for part in found.parts] == [()]
    assert left(p, found) == "M B"
    # and where nothing outside uses it
    q = written("M:barrier(x,y) A:negative(M)")
    (part,) = divided(q, "A", Doing(ops="negative", patterns=[pattern])).parts
    assert part.region.composites == (("pair", (0, 1)),)


def test_constants_alone_are_operands_of_an_op_of_several_results() -> None:
    p = written("M:barrier(1,0) A:t(M,M.1)")
    (part,) = divided(p, "A", Doing(ops="barrier add")).parts
    assert part.operands == () and gives(p, part.outputs) == ["A"]


def test_a_group_whose_check_looks_at_a_shape() -> None:
    def flattens(calls: Any) -> codegen.Answer:
        (product, reshaped) = calls
        rows = product.results[0].shape[0]
        return YES if reshaped.results[0].shape == (rows, 12) else No("it does not flatten")

    product = match("matmul", any_value(), any_value())
    pattern = Pattern("flat", match("reshape", product), flattens)
    a, b = lazyloom.from_host(numbers(5, 3, 2)), lazyloom.from_host(numbers(5, 2, 4))
    for shape, count in (((5, 12), 1), ((12, 5), 0)):
        program = lazyloom.program_of(rec("reshape", rec("matmul", a, b), shape=shape))
        found = sound(program.structure, program.outputs, [Doing(ops="", patterns=[pattern])])
        assert len(found.parts) == count
        assert count or "flat: it does not flatten" in found.reasons[1].values()


def test_two_patterns_of_one_name() -> None:
    both = [Pattern("same", match("negative", match("exp", x))),
            Pattern("same", match("negative", match("abs", x)))]
    p = written("A:exp(x) B:negative(A) C:abs(x) D:negative(C) E:subtract(B,D)")
    found = divided(p, "E", Doing(ops="", patterns=both))
    assert [part.region.composites for part in found.parts] == [(("same", (0, 1)),)] * 2


def test_blocks_that_repeat_are_a_group_each() -> None:
    """As many groups as blocks, all of one program; another number of channels is another."""
    block = Pattern("block", match(
        "relu", match("add", match("conv", any_value(), any_value()), any_value())))
    program_of = {}
    for widths in ((4, 4, 4, 4), (4, 4, 8, 8)):
        h = torch.zeros(2, 4, 6, 6)
        before = 4
        for width in widths:
            h = torch.relu(torch.conv2d(
                h, torch.zeros(width, before, 3, 3), torch.zeros(width), padding=1))
            before = width
        program = lazyloom.program_of(h)
        found = sound(program.structure, program.outputs, [
            Doing(ops="", merges=False, patterns=[block])])
        assert sum(len(part.region.composites) for part in found.parts) == len(widths)
        program_of[widths] = {part.region.program.key for part in found.parts}
    assert [len(keys) for keys in program_of.values()] == [1, 3]
    assert program_of[4, 4, 4, 4] < program_of[4, 4, 8, 8]


def branching(y: Any) -> Any:
    """mine, then a branch or a loop whose bodies are what the generator does, then mine."""
    outer = y * y
    positive = (outer.sum() > 1.0).value
    (chosen,) = lazyloom.cond(
        lazyloom.Tensor(positive), lambda given: [lazyloom.Tensor((
            np.ndarray.from_value(given[0].value) * 3.0 + outer).value)],
        lambda given: list(given), [lazyloom.Tensor(y.value)])
    return np.ndarray.from_value(chosen.value) * 2.0 + outer


def test_regions_do_not_reach_into_branches_or_across_them() -> None:
    y = np.asarray(numbers(4))
    lazyloom.sync(y)
    program = lazyloom.program_of(branching(y))
    assert "cond" in program.ops
    found = sound(program.structure, program.outputs, [Doing(ops="multiply add")])
    branch = program.ops.index("cond")
    assert found.owner[branch] < 0
    order = found.steps.index(-1 - branch)
    sides = [{c.op for c in part.region.calls} for part in found.parts]
    assert sides == [{"multiply"}, {"multiply", "add"}]
    assert found.steps.index(0) < order < found.steps.index(1)


# runs


@runs
@pytest.mark.xla
def test_a_branch_between_regions_runs() -> None:
    g = InNumPy("multiply", "add")
    for seed, scale in ((0, 0.01), (1, 4.0)):
        a = numbers(4, seed=seed) * numpy.float32(scale)
        with used(g):
            found = numpy.asarray(branching(np.asarray(a)))
        outer = a * a
        inner = a * 3 + outer if outer.sum() > 1 else a
        numpy.testing.assert_allclose(found, inner * 2 + outer, rtol=1e-6)
    # before and after the branch, once each, and inside where it was taken
    assert g.calls == 5


@runs
@pytest.mark.xla
@pytest.mark.parametrize("kind", [InNumPy, InC])
def test_any_name_will_do(kind: Any, tmp_path: Path) -> None:
    g = kind("multiply", "add") if kind is InNumPy else kind()
    g.name = 'unsanitary-name++ <&> "%s" \u00fc, {0}'
    a = numbers(8)
    with used(g):
        y = np.asarray(a)
        y = y * y + y
        told = codegen.explain(lazyloom.program_of(y))
        numpy.testing.assert_allclose(numpy.asarray(y), a * a + a, rtol=1e-6)
        record = lazyloom.last_evaluation()
    assert record is not None and f"1 by {g.name}" in record.text()
    assert told.generator(0) == g.name and f"{g.name}, region 0" in told.text()
    told.save(tmp_path / "program.svg")


@runs
@pytest.mark.xla
def test_two_programs_share_equal_regions_and_no_others() -> None:
    g = InNumPy("multiply", "add")
    a = numbers(6)
    with used(g):
        y = np.asarray(a)
        kept = []
        for function, expected in (
            (lambda y: np.tanh(y * y + y), numpy.tanh(a * a + a)),
            (lambda y: np.exp(y * y + y), numpy.exp(a * a + a)),
            (lambda y: np.exp(y * y + 1), numpy.exp(a * a + 1)),
        ):
            numpy.testing.assert_allclose(numpy.asarray(function(y)), expected, rtol=1e-5)
            kept.append(lazyloom.last_evaluation())
        assert len(g.built) == 2 and g.calls == 3
        # of another shape it is another region
        numpy.testing.assert_allclose(numpy.asarray(np.tanh(y[:3] * y[:3] + y[:3])),
                                      numpy.tanh(a * a + a)[:3], rtol=1e-5)
        assert len(g.built) == 3 and g.calls == 4


@runs
@pytest.mark.xla
def test_xla_simplifies_nothing_across_the_border() -> None:
    """Twice negative is nothing done, and x - x is 0 but for infinity: a region is opaque."""
    g = InNumPy("negative")
    a = numbers(5)
    with used(g):
        y = np.asarray(a)
        once = -y
        lazyloom.boundary(once.value)
        found = numpy.asarray((once + y) * 1.0)
        assert g.calls == 1
    assert numpy.array_equal(found, numpy.zeros(5, "float32"))


class Counting(codegen.Generator):
    """Does ranges, which it computes when they are built."""

    name = "counting"
    version = "1"

    def supports(self, call: codegen.Call) -> codegen.Answer:
        return YES if call.op == "iota" else No("only ranges")

    def build(self, region: codegen.Region) -> codegen.Code:
        assert region.operands == ()
        (t,) = region.results
        found = numpy.arange(t.size, dtype=t.dtype.numpy).reshape(t.shape)
        return codegen.PythonCode(lambda: found)


@runs
@pytest.mark.xla
def test_a_region_without_operands_runs() -> None:
    a = numbers(6)
    with used(Counting()):
        for _ in range(2):
            z = rec("tanh", rec("add", rec("iota", shape=(6,), dtype=lazyloom.dtypes.float32),
                                lazyloom.from_host(a)))
            told = codegen.explain(lazyloom.program_of(z))
            assert [part.operands for part in told.partition.parts] == [()]
            numpy.testing.assert_allclose(z.read(), numpy.tanh(numpy.arange(6) + a), rtol=1e-5)
    assert not codegen.failures()


@runs
@pytest.mark.xla
def test_views_go_in_as_what_they_show() -> None:
    """Transposes, steps and reversed axes of one array, all at once, and then a write to it."""
    g = InNumPy("multiply", "add")
    a = numbers(6, 6)
    with used(g):
        y = np.array(a)
        z = y.T * y[::-1] + y[:, ::-1] * y.T
        w = y[::2, 1::2]
        w *= 2.0
        expected = a.T * a[::-1] + a[:, ::-1] * a.T
        numpy.testing.assert_allclose(numpy.asarray(z), expected, rtol=1e-6)
        after = a.copy()
        after[::2, 1::2] *= 2
        numpy.testing.assert_array_equal(numpy.asarray(y), after)
    assert g.calls and not codegen.failures()


@runs
@pytest.mark.xla
def test_draws_are_the_same_beside_regions() -> None:
    g = InNumPy("multiply", "add", "where")
    a = numbers(64)

    def dropped() -> Any:
        torch.manual_seed(7)
        y = torch.tensor(a, requires_grad=True)
        z = torch.nn.functional.dropout(y * y + y, 0.5) * 1.5
        (z * z).sum().backward()
        assert y.grad is not None
        return z.detach().numpy(), y.grad.numpy(), torch.rand(3).numpy()

    with codegen.use("xla"):
        expected = dropped()
    with used(g):
        found = dropped()
    assert g.calls
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-6)
        assert numpy.array_equal(one == 0, other == 0)


@runs
@pytest.mark.xla
def test_two_threads_that_need_one_engine_build_it_once() -> None:
    class Slow(InNumPy):
        def build(self, region: codegen.Region) -> codegen.Code:
            time.sleep(0.2)
            return super().build(region)

    g = Slow("multiply", "add", name="slow")
    a = numbers(7)
    found: list[Any] = []

    def work() -> None:
        with lazyloom.options(reproducible=True):
            y = np.asarray(a)
            found.append(numpy.asarray(y * y + y))

    with used(g):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(g.built) == 1 and len(found) == 4
    for each in found:
        numpy.testing.assert_allclose(each, a * a + a, rtol=1e-6)


_ENDS = """
import sys
sys.path.insert(0, {root!r})
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from tests.codegen.generators import InC, InNumPy
codegen.register(InC())
codegen.register(InNumPy("tanh"))
codegen.use("in_c", "in_numpy")
x = np.asarray(numpy.ones(10, "float32"))
with lazyloom.options(reproducible=True):
    y = np.tanh(x * x + x)
    print(float(y[0]) > 0.9, len(lazyloom.last_evaluation().program.ops) > 0)
    # never waited for, and then still pending
    z = np.tanh(y * y + y)
    lazyloom.sync(z)
    w = np.tanh(z * z + z)
"""


@runs
@pytest.mark.xla
def test_a_process_ends_with_regions_alive() -> None:
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", _ENDS.format(root=root)],
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr
    assert "Traceback" not in done.stderr and "rror" not in done.stderr, done.stderr


def inverted_residual(h: Any, before: int, after: int, random: Any) -> Any:
    """A block of MobileNetV2: wider, by channel, narrower, and around it where it fits."""
    def weights(*shape: int) -> Any:
        return torch.tensor(random.standard_normal(shape).astype("float32") / shape[1] ** 0.5,
                            requires_grad=True)

    wide = 4 * before
    parts = [weights(wide, before, 1, 1), weights(wide, 1, 3, 3), weights(after, wide, 1, 1)]
    z = torch.nn.functional.relu6(torch.conv2d(h, parts[0]))
    z = torch.nn.functional.relu6(torch.conv2d(z, parts[1], padding=1, groups=wide))
    z = torch.conv2d(z, parts[2])
    return (z + h if before == after else z), parts


@runs
@pytest.mark.xla
@pytest.mark.slow
@pytest.mark.skipif(made() is None, reason="oneDNN is not installed")
def test_a_mobile_network_from_end_to_end() -> None:
    """Values and gradients of a stack of MobileNetV2's blocks, by oneDNN and by XLA alone."""
    generator = made()
    assert generator is not None
    codegen.register(generator)

    def step() -> tuple[list[Any], codegen.Report]:
        random = numpy.random.default_rng(5)
        h = torch.tensor(random.standard_normal((2, 16, 24, 24)).astype("float32"))
        parameters = []
        for before, after in ((16, 16), (16, 24), (24, 24)):
            h, parts = inverted_residual(h, before, after, random)
            parameters += parts
        loss = h.square().mean()
        loss.backward()
        gradients = [w.grad for w in parameters]
        told = codegen.explain(lazyloom.program_of(loss, *gradients))
        return [loss.item(), *(w.numpy() for w in gradients)], told

    with codegen.use("xla"):
        expected, _ = step()
    with codegen.use("onednn"):
        found, told = step()
    convolutions = [n for n, op in enumerate(told.program.ops) if op.startswith("conv")]
    assert len(convolutions) >= 18
    assert all(told.generator(n) == "onednn" for n in convolutions) and not told.left_behind()
    assert not codegen.failures()
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * numpy.abs(other).max())


def test_the_page_names_a_test_for_each_component() -> None:
    """The table of what other frameworks have."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "codegen_vendor.md").read_text()
    table = page.partition("## Components of other frameworks")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    for row in rows:
        files = re.findall(r"`(?:tests/)?([\w/]*test_\w+\.py)`", row[3])
        here = Path(__file__).parent
        assert files and all(
            (here / file).exists() or (here.parent / file).exists() for file in files), row
