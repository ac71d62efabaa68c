"""Functions of loops and branches: offered to generators, run in regions, told of, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import bodies
from lazyloom.codegen.check import Unsound, check
from lazyloom.codegen.partition import DividedBody, Partition
from lazyloom.errors import FallbackError
from lazyloom.program.program import Structure
from tests.codegen.generators import ByKernels, InC, InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.usefixtures("fresh_cache"),
]


def array(*shape: int) -> Any:
    """Small integers: what the functions below compute of them is exact."""
    size = int(numpy.prod(shape))
    found = np.asarray((numpy.arange(size) % 5 - 2).reshape(shape).astype("float32"))
    lazyloom.sync(found)
    return found


def scanned(x: Any, w: Any) -> Any:
    last, each = lazyloom.scan(
        lambda carry, row: (np.maximum(carry * row, -8.0) - w, carry.sum()), x, array(3, 2, 4))
    return last.sum() + each.sum()


def looped(x: Any, w: Any) -> Any:
    state = (np.asarray(0), x)
    return lazyloom.while_loop(
        lambda at: at[0] < 3, lambda at: (at[0] + 1, at[1] * w - x), state, max_steps=4)[1].sum()


def branched(x: Any, w: Any) -> Any:
    return lazyloom.cond(x.sum() < 100, lambda a: (a * w - a).sum(), lambda a: (a * a).sum(), x)


def nested(x: Any, w: Any) -> Any:
    def inner(carry: Any, _: Any) -> Any:
        return carry * w - x, None

    def outer(carry: Any, row: Any) -> Any:
        return lazyloom.scan(inner, carry, None, length=2)[0] + row, None

    return lazyloom.scan(outer, x, array(2, 2, 4))[0].sum()


FUNCTIONS = {"scan": scanned, "while": looped, "cond": branched, "nested": nested}
OPS = ("multiply", "subtract", "maximum")
DERIVATIVES = tuple(f"{op}.vjp" for op in OPS)


def beside_xla(f: Callable[..., Any], *names: str) -> list[Any]:
    """What a function of two arrays gives with generators and without, to the last bit the same."""
    found = []
    for use in (names, ("xla",)):
        with codegen.use(*use):
            results = f(array(2, 4), array(2, 4))
            results = results if isinstance(results, tuple) else (results,)
            lazyloom.sync(*results)
            regions = lazyloom.last_evaluation().regions
            found.append(([numpy.asarray(r) for r in results], regions))
    (mine, regions), (xla, none) = found
    for a, b in zip(mine, xla, strict=True):
        numpy.testing.assert_array_equal(a, b)
    assert not none.run and not regions.failed and not codegen.failures()
    return list(regions.run)


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_run_in_regions(kind: str, order: bool) -> None:
    mine = ByKernels(*OPS, order=order)
    codegen.register(mine)
    run = beside_xla(FUNCTIONS[kind], "by_kernels")
    assert run and all(r.generator == "by_kernels" and r.key for r in run)
    # each step of a loop runs the region: two in two of a nested loop, one of a branch
    assert mine.ran["multiply"] == {"scan": 3, "while": 3, "cond": 1, "nested": 4}[kind]


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_gradients_run_in_regions(kind: str) -> None:
    mine = ByKernels(*OPS, *DERIVATIVES, "add", "add.vjp")
    codegen.register(mine)
    run = beside_xla(lazyloom.grad(FUNCTIONS[kind], argnums=(0, 1)), "by_kernels")
    assert run
    if kind in ("scan", "cond"):
        steps = 3 if kind == "scan" else 1
        assert mine.ran["multiply.vjp"] == steps
        # the steps are not computed again for it
        assert mine.ran.get("multiply", steps) == steps
    # of no derivative of its own, the function is called all the same
    only = ByKernels(*OPS, name="forward_only")
    codegen.register(only)
    both = lazyloom.value_and_grad(FUNCTIONS[kind], argnums=(0, 1))

    def value_and_gradients(x: Any, w: Any) -> Any:
        value, gradients = both(x, w)
        return value, *gradients

    assert beside_xla(value_and_gradients, "forward_only")
    assert only.ran["multiply"]


def test_second_derivatives_and_mapped_loops_are_left_and_told_of() -> None:
    codegen.register(ByKernels(*OPS, *DERIVATIVES))
    twice = lazyloom.grad(lambda x, w: lazyloom.grad(scanned)(x, w).sum())
    beside_xla(twice, "by_kernels")
    beside_xla(lambda x, w: lazyloom.vmap(scanned)(np.stack([x, w]), np.stack([w, x])),
               "by_kernels")
    with codegen.use("by_kernels"):
        mapped = lazyloom.vmap(scanned)(array(2, 2, 4), array(2, 2, 4))
        told = codegen.explain(lazyloom.program_of(mapped))
        assert "not offered: its function is mapped, or differentiated" in told.text()
        assert "not offered: its function is mapped, or differentiated" in told.grouped()
    (n,) = [n for n, i in enumerate(told.program.structure.instructions)
            if i.spec.op.name == "scan.vmap"]
    assert told.partition.unoffered[n] in told.line(n)


def test_residuals_of_a_later_program() -> None:
    program = lazyloom.program_of(*lazyloom.grad(scanned, argnums=(0, 1))(array(2, 4), array(2, 4)))
    structure = program.structure
    (forward,) = [n for n, i in enumerate(structure.instructions) if i.spec.op.kind == "fwd"]
    primary = bodies.primary_of(structure.instructions[forward])
    loops, why = bodies.loops_of(structure, program.outputs)
    assert [loop.instructions[0] for loop in loops] == [forward] and not why
    loops, why = bodies.loops_of(structure, [*program.outputs, (forward, primary)])
    assert not loops and why[forward] == "its residuals are results of the program"
    assert len(why) == 2


def test_the_report_has_the_functions_by_their_path() -> None:
    codegen.register(InNumPy("multiply"))
    x, w = array(2, 4), array(2, 4)
    with codegen.use("in_numpy"):
        plain = codegen.explain(lazyloom.program_of(scanned(x, w)))
        program = lazyloom.program_of(*lazyloom.grad(scanned, argnums=(0, 1))(x, w))
        told = codegen.explain(program)
        none = codegen.explain(lazyloom.program_of(x * w))
    assert none.bodies == {}
    (path,) = plain.bodies
    assert path == "%0.body" and plain.bodies[path].coverage > 0
    assert [p.generator.name for p in plain.bodies[path].partition.parts] == ["in_numpy"]
    # a loop counts as the ops of its function, of which one is done
    ops = len(plain.program.ops) - 1 + len(plain.bodies[path].program.ops)
    assert plain.coverage == 1 / ops
    text = plain.text()
    assert "  %0.body:\n      %0 = multiply : float32[2,4] -> in_numpy, region 0" in text
    assert [p.partition(".")[2] for p in told.bodies] == ["body", "body.vjp"]
    assert "%0.body.vjp" not in text and ".body.vjp:" in told.text() and ".body:" in told.grouped()
    drawn = plain.svg()
    assert "%0.body.0 multiply" in drawn and "%0.body, region 0" in drawn
    assert "%0.body, in_numpy: 1 op in 1 region" in drawn


def test_profiles_draw_the_functions() -> None:
    codegen.register(InNumPy("multiply"))
    with codegen.use("in_numpy"), lazyloom.profile() as profile:
        numpy.asarray(scanned(array(2, 4), array(2, 4)))
    programs = profile.report.data["programs"]
    graphs = [p["details"]["graph"] for p in programs if p["details"] is not None]
    assert any("%0.body.0 multiply" in [box["name"] for box in graph["boxes"]]
               for graph in graphs)


def test_heavy_work_inside_is_told_of() -> None:
    codegen.register(InNumPy("multiply"))

    def f(x: Any, w: Any) -> Any:
        return lazyloom.scan(lambda c, row: ((c * row) @ w, None), x, array(3, 2, 4))[0]

    with codegen.use("in_numpy"):
        found = f(array(2, 4), array(4, 4))
        told = codegen.explain(lazyloom.program_of(found))
        assert told.left_behind() == [] and told.bodies["%0.body"].left_behind() == [1]
        assert "warning: %1, matmul, is heavy work" in told.text()
        lazyloom.sync(found)
    assert lazyloom.last_evaluation().regions.left == ("matmul in %0.body",)
    # a loop of which nothing is in a region is itself left behind, beside other regions
    codegen.register(InNumPy("negative", name="negates"))
    with codegen.use("negates"):
        told = codegen.explain(lazyloom.program_of(f(-array(2, 4), array(4, 4))))
    assert [told.program.ops[n] for n in told.left_behind()] == ["scan"]


def test_a_loop_that_a_generator_does_as_an_op_is_not_opened() -> None:
    codegen.register(InNumPy("scan", "multiply"))
    with codegen.use("in_numpy"):
        told = codegen.explain(lazyloom.program_of(scanned(array(2, 4), array(2, 4))))
    assert told.generator(0) == "in_numpy" and not told.bodies and not told.partition.loops


def test_two_generators_and_patterns_inside() -> None:
    class Fused(ByKernels):
        def patterns(self) -> list[codegen.Pattern]:
            root = codegen.match("subtract", codegen.match(
                "multiply", codegen.any_value(), codegen.any_value()), codegen.any_value())
            return [codegen.Pattern("multiply_subtract", root, lambda calls: codegen.YES)]

    codegen.register(Fused("nothing", name="fused"))
    codegen.register(ByKernels("sum", "add", "maximum", name="rest"))
    run = beside_xla(looped, "fused", "rest")
    assert {(r.generator, r.ops) for r in run} >= {("fused", ("multiply", "subtract"))}
    assert any(r.generator == "rest" for r in run)


def test_c_source_runs_in_a_loop() -> None:
    codegen.register(InC())

    def f(x: Any, w: Any) -> Any:
        return lazyloom.scan(lambda c, row: (c * row + c, None), x, array(3, 2, 4))[0]

    run = beside_xla(f, "in_c")
    assert [r.ops for r in run] == [("multiply", "add")]


def test_what_cannot_be_built_is_left_and_what_fails_runs_on_the_host() -> None:
    class Unable(ByKernels):
        def build(self, region: codegen.Region) -> codegen.Code:
            if "subtract" in [call.op for call in region.calls]:
                raise NotImplementedError("no subtract")
            return super().build(region)

    codegen.register(Unable(*OPS, name="unable"))
    x, w = array(2, 4), array(2, 4)
    with codegen.use("xla"):
        expected = numpy.asarray(scanned(x, w))
    with codegen.use("unable"), pytest.warns(RuntimeWarning, match="no subtract"):
        found = scanned(x, w)
        assert numpy.asarray(found) == expected
    regions = lazyloom.last_evaluation().regions
    assert any("subtract" in r.ops for r in regions.failed)
    assert regions.run and all("subtract" not in r.ops for r in regions.run)

    class Failing(ByKernels):
        def before(self, operands: tuple[Any, ...]) -> None:
            if self.ran.get("multiply", 0) == 1:
                raise OSError("its device went away")

    codegen.register(Failing(*OPS, name="failing"))
    with codegen.use("failing"), pytest.warns(RuntimeWarning, match="its device went away"):
        # the second step fails, and those after it
        assert numpy.asarray(scanned(x, w)) == expected
    with codegen.use("failing"):
        assert numpy.asarray(scanned(x, w)) == expected
        assert all("multiply" not in r.ops for r in lazyloom.last_evaluation().regions.run)


def test_verified_runs_inside_loops() -> None:
    class Wrong(ByKernels):
        def build(self, region: codegen.Region) -> codegen.Code:
            code = super().build(region)
            assert isinstance(code, codegen.PythonCode)
            right = code.function

            def run(*operands: Any) -> tuple[Any, ...]:
                return tuple(x + 1 for x in right(*operands))

            return codegen.PythonCode(run)

    codegen.register(ByKernels(*OPS))
    with codegen.verify():
        run = beside_xla(lazyloom.grad(scanned, argnums=(0, 1)), "by_kernels")
        assert run
    codegen.register(Wrong(*OPS, name="wrong"))
    x, w = array(2, 4), array(2, 4)
    with codegen.use("xla"):
        expected = numpy.asarray(scanned(x, w))
    with codegen.use("wrong"), codegen.verify(), pytest.warns(RuntimeWarning, match="wrong"):
        assert numpy.asarray(scanned(x, w)) == expected


def test_in_segments() -> None:
    mine = ByKernels(*OPS, *DERIVATIVES)
    codegen.register(mine)
    with codegen.segmented():
        assert beside_xla(scanned, "by_kernels")
        before = mine.ran["multiply"]
        assert before == 3
        # the two halves may be in two segments, and then neither is in regions
        with codegen.use("by_kernels"):
            with_regions = [numpy.asarray(g) for g in lazyloom.grad(scanned, argnums=(0, 1))(
                array(2, 4), array(2, 4))]
    with codegen.use("xla"):
        alone = [numpy.asarray(g) for g in lazyloom.grad(scanned, argnums=(0, 1))(
            array(2, 4), array(2, 4))]
    for a, b in zip(with_regions, alone, strict=True):
        numpy.testing.assert_array_equal(a, b)


def test_coverage_counts_the_functions() -> None:
    codegen.register(ByKernels(*OPS, "sum", "add"))
    with codegen.use("by_kernels", coverage=1.0):
        numpy.asarray(scanned(array(2, 4), array(2, 4)))
    codegen.register(ByKernels("sum", "add", name="sums"))
    with codegen.use("sums", coverage=0.9), pytest.raises(
        FallbackError, match="4 of 7 ops .*, 1 subtract"
    ):
        numpy.asarray(scanned(array(2, 4), array(2, 4)))


def divided(f: Callable[..., Any] = scanned) -> tuple[lazyloom.Program, Partition]:
    program = lazyloom.program_of(*lazyloom.grad(f, argnums=(0, 1))(array(2, 4), array(2, 4)))
    found = codegen.partition(program.structure, program.outputs, [ByKernels(*OPS, *DERIVATIVES)])
    check(program.structure, program.outputs, found)
    assert found.loops and any(found.every_part()) and not any(found.parts)
    return program, found


def changed(found: Partition, name: str, change: Callable[[DividedBody], DividedBody]) -> Partition:
    loops = [loop._replace(bodies=tuple(
        change(b) if b.program.path.endswith(name) else b for b in loop.bodies))
        for loop in found.loops]
    return Partition(found.parts, found.steps, found.owner, found.reasons, loops=loops)


def without_last(b: DividedBody) -> DividedBody:
    p = b.partition
    return b._replace(partition=Partition(p.parts, p.steps[:-1], p.owner, p.reasons))


def other_function(b: DividedBody) -> DividedBody:
    s = b.program.structure
    stream = list(s.stream)
    at = next(k for k, x in enumerate(stream) if getattr(x, "arity", 0) == 2)
    stream[at + 1], stream[at + 2] = stream[at + 2], stream[at + 1]
    return b._replace(program=b.program._replace(structure=Structure(tuple(stream), s.leaf_types)))


def other_gradient(b: DividedBody) -> DividedBody:
    g = b.program.gradient
    assert g is not None
    return b._replace(program=b.program._replace(gradient=g._replace(gives=(*g.gives, None))))


@pytest.mark.parametrize(("name", "change", "error"), [
    (".body", without_last, "expected each of"),
    (".body.vjp", without_last, "are done|are inside regions"),
    (".body", other_function, "op 0"),
    (".body", lambda b: b._replace(program=b.program._replace(outputs=())), "does not give"),
    (".body.vjp", other_gradient, "cotangents, expected"),
    (".body", lambda b: b._replace(program=b.program._replace(name="else")), "are divided"),
])
def test_the_checker_finds_what_is_wrong_inside(
    name: str, change: Callable[[DividedBody], DividedBody], error: str
) -> None:
    program, found = divided()
    with pytest.raises(Unsound, match=error):
        check(program.structure, program.outputs, changed(found, name, change))


def test_the_checker_finds_loops_that_are_wrong() -> None:
    program, found = divided()
    twice = Partition(found.parts, found.steps, found.owner, found.reasons,
                      loops=[*found.loops, *found.loops])
    with pytest.raises(Unsound, match="twice"):
        check(program.structure, program.outputs, twice)
    forward = found.loops[0].instructions[0]
    primary = bodies.primary_of(program.structure.instructions[forward])
    with pytest.raises(Unsound, match="used elsewhere"):
        check(program.structure, [*program.outputs, (forward, primary)], found)


def test_equal_loops_share_engines() -> None:
    mine = ByKernels(*OPS)
    codegen.register(mine)
    beside_xla(lambda x, w: scanned(x, w) + scanned(w, w), "by_kernels")
    assert len(mine.built) == len({tuple(ops) for ops in mine.built})


class _Accumulating(InNumPy):
    """Adds to what the result's memory holds, which is the first operand's."""

    merges = False

    def __init__(self) -> None:
        super().__init__("add", name="accumulating")

    def supports(self, call: codegen.Call) -> codegen.Answer:
        if call.op != "add" or any(t != call.results[0] or not t.ndim for t in call.operands):
            return codegen.No("no sum of two arrays of one type")
        return codegen.YES

    def aliases(self, region: codegen.Region) -> dict[int, int]:
        return {0: 0}

    def build(self, region: codegen.Region) -> codegen.Code:
        def run(*arrays: Any) -> None:
            self.calls += 1
            *operands, out = arrays
            out += operands[-1].copy()

        return codegen.PythonCode(run, fills=True)


def _carried(x: Any, w: Any) -> Any:
    (a, b), each = lazyloom.scan(
        lambda carry, row: ((carry[1], carry[0] + row), carry[0] + w), (x, x), array(5, 2, 4))
    return a, b, each


def _repeated(x: Any, w: Any) -> Any:
    def body(state: Any) -> Any:
        n, a, b = state
        total = a + b
        return n + 1, total, a + total

    return lazyloom.while_loop(lambda state: state[0] < 4, body, (np.asarray(0), x, w))[1:]


def _chosen(x: Any, w: Any) -> Any:
    return lazyloom.cond(x.sum() < 100, lambda a, b: (a + b, b + a), lambda a, b: (b, a), x, w)


def _pulled_back(x: Any, w: Any) -> Any:
    def loss(x: Any, w: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            total = np.tanh(carry * w) + row
            return total + carry, total * row

        last, each = lazyloom.scan(step, x, array(3, 2, 4) / 4)
        return last.sum() + (each * each).sum()

    return lazyloom.grad(loss, argnums=(0, 1))(x, w)


@pytest.mark.parametrize("function", [_carried, _repeated, _chosen, _pulled_back])
def test_results_in_the_memory_of_operands(function: Callable[..., Any]) -> None:
    generator = _Accumulating()
    codegen.register(generator)
    given = array(2, 4), array(2, 4) + 1

    def found() -> list[Any]:
        return [numpy.asarray(a) for a in (*function(*given), *given)]

    with lazyloom.options(reproducible=True):
        with codegen.use("xla"):
            expected = found()
        with codegen.use("accumulating"):
            values = found()
    assert generator.calls and not codegen.failures()
    for a, b in zip(values, expected, strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-6)
