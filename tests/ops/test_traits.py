"""The traits that ops declare, against what their definitions do on their samples.

A wrong trait of linearity gives wrong second derivatives: what is declared linear is not kept for
them. So linearity is found out with numbers, operand by operand and set by set, and what is
declared has to be exactly that.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters.partial_eval import dce_jaxpr

from lazyloom.ops.samples import Host, Sample, random_source, samples
from lazyloom.ops.spec import OpDef, lookup, table
from tests import quick_options

#: the ops of the package: other tests add some of their own
OPS = sorted(name for name, op in table().items() if op.version == lookup("add").version)
#: samples of an op that are run
LOOKED_AT = 12

#: ops that are linear and are not declared so, and why
UNDECLARED = {
    "shard_map": "of what its function computes, which is a product in the samples",
    "nan_to_num": "of finite numbers only, as the samples are",
    **dict.fromkeys(["xlogy", "xlog1py"], "0 for an x of 0 where the logarithm is infinite"),
}
#: ops whose samples have every element of the result in the first operand, and why not declared
NO_MOVEMENT = {
    **dict.fromkeys(["max", "min", "cummax", "cummin", "sort", "max_pool", "adaptive_max_pool"],
                    "they compare elements as well"),
    "nan_to_num": "replaces what is not finite, and the samples are",
    **dict.fromkeys(["all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                     "collective_permute", "collective_broadcast"],
                    "they take elements of other processes, which the samples have none of"),
    **dict.fromkeys(["custom", "barrier", "await_all"],
                    "with several operands the results are several"),
}


def moving(op: OpDef, sample: Sample) -> list[int]:
    """The operands of a sample that have a gradient."""
    return [i for i, o in enumerate(sample.operands)
            if o is not None and o.dtype.kind in "fcV" and op.has_gradient(i)]


def chosen(op: OpDef) -> list[Sample]:
    """Some samples with derivatives, precise and finite, of as many attributes as there are."""
    ranked = []
    for s in samples(op):
        at = moving(op, s)
        given = [s.operands[i] for i in at]
        if not given or not all(o.size and np.isfinite(o).all() for o in given if o is not None):
            continue
        dtypes = {o.dtype for o in given if o is not None}
        fine = {np.dtype("float64"), np.dtype("complex128")}
        half = any(d.itemsize < 4 for d in dtypes if d.kind != "c")
        if half:
            continue
        form = (tuple(sorted((k, str(v)) for k, v in s.attributes.items())),
                tuple(o is None for o in s.operands), any(d.kind == "c" for d in dtypes))
        ranked.append((not s.smooth, not dtypes <= fine, -sum(o.size for o in given), form, s))
    ranked.sort(key=lambda r: r[:3])
    found: dict[Any, Sample] = {}
    for *_, form, s in ranked:
        found.setdefault(form, s)
    return list(found.values())[:LOOKED_AT]


def other(rng: np.random.Generator, like: Any) -> Any:
    found = rng.uniform(0.25, 1.75, like.shape)
    if like.dtype.kind == "c":
        found = found + 1j * rng.uniform(0.25, 1.75, like.shape)
    return np.asarray(found).astype(like.dtype)


class Definition:
    """An op's function with the attributes of a sample, compiled once."""

    def __init__(self, op: OpDef, sample: Sample) -> None:
        self.attrs = op.canonical_attributes(sample.attributes)
        attrs = self.attrs

        def call(operands: Any) -> Any:
            found = op.fn(*operands, **attrs)
            return found if isinstance(found, (tuple, list)) else (found,)

        self.call = call
        with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
            given = list(sample.operands)
            self.compiled = quick_options.jit(call).lower(given).compile()

    def __call__(self, operands: Sequence[Any]) -> list[Host]:
        with jax.enable_x64(True):
            return [np.asarray(r) for r in self.compiled(list(operands))]


_definitions: dict[tuple[str, str], Definition] = {}


def definition(op: OpDef, sample: Sample) -> Definition:
    """The definition for that sample, compiled once for all tests."""
    key = (op.name, repr(sample))
    if key not in _definitions:
        _definitions[key] = Definition(op, sample)
    return _definitions[key]


#: factors that show linearity, and those that show it but for a constant
LINEAR, AFFINE = (0.75, -1.25), (0.75, 0.25)


def tolerance(results: Sequence[Host]) -> float:
    worst = max(float(jax.numpy.finfo(r.dtype).eps) for r in results)
    return min(1e7 * worst, 1e-3) if worst < 1e-4 else 0.05


def is_linear(
    f: Definition, sample: Sample, at: Sequence[int], rng: np.random.Generator,
    factors: tuple[float, float] = LINEAR,
) -> bool:  # fmt: skip
    """Whether f(a u + b v) = a f(u) + b f(v) in the operands ``at``, to rounding."""
    u, v, w = (list(sample.operands) for _ in range(3))
    for p in at:
        v[p] = other(rng, u[p])
        a, b = (np.asarray(c, u[p].dtype) for c in factors)
        w[p] = np.asarray(a * u[p] + b * v[p], u[p].dtype)
    one, two, both = f(u), f(v), f(w)
    inexact = [k for k, r in enumerate(one) if r.dtype.kind in "fcV"]
    if not inexact:
        return False
    close = tolerance([one[k] for k in inexact])
    wide = np.complex128
    for k in inexact:
        with np.errstate(invalid="ignore"):
            expected = factors[0] * one[k].astype(wide) + factors[1] * two[k].astype(wide)
        if not np.allclose(both[k].astype(wide), expected, rtol=close, atol=close):
            return False
    return True


def sets(op: OpDef, sample: Sample) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Sets of operands to try, by what they are: those of a variadic one together, and each."""
    named: dict[str, tuple[int, ...]] = {}
    for i in moving(op, sample):
        name = op.operands[min(i, len(op.operands) - 1)].name
        named[name] = (*named.get(name, ()), i)
    found: dict[str, tuple[tuple[int, ...], ...]] = {}
    for count in range(1, len(named) + 1):
        for group in itertools.combinations(named, count):
            found[" ".join(group)] = (tuple(i for n in group for i in named[n]),)
    for name, members in named.items():
        if len(members) > 1:
            found[f"each of {name}"] = tuple((i,) for i in members)
    return found


def declared(op: OpDef, sample: Sample) -> list[tuple[tuple[int, ...], tuple[float, float]]]:
    """The sets of operands in which the op says to be linear, and what that can be seen by.

    In the place of an operand that is absent there is a constant.
    """
    attrs = op.canonical_attributes(sample.attributes)
    at = moving(op, sample)
    found = []
    for bits in op.linear_groups(attrs, len(sample.operands)):
        group = tuple(p for p in at if bits >> p & 1)
        absent = any(bits >> p & 1 for p, o in enumerate(sample.operands) if o is None)
        if group:
            found.append((group, AFFINE if absent else LINEAR))
    return found


def names_of(op: OpDef, at: Sequence[int]) -> str:
    return " ".join(op.operand_name(p) for p in at)


def disagreements(op: OpDef) -> list[str]:
    """What is declared of an op's linearity and is not so, or is so and not declared."""
    if not op.derivative.differentiable:
        return []
    rng = random_source(op.name + " linear")
    wrong: list[str] = []
    always: dict[str, bool] = {}
    known: set[str] = set()
    for sample in chosen(op):
        f = definition(op, sample)
        if not any(r.dtype.kind in "fcV" for r in f(sample.operands)):
            continue
        for group, factors in declared(op, sample):
            if not is_linear(f, sample, group, rng, factors):
                wrong.append(f"{op.name} is declared linear in {names_of(op, group)!r}, and is "
                             f"not: {sample}")
        depends = op.dependences(f.attrs, len(sample.operands), True)
        for name, members in sets(op, sample).items():
            if not any(depends[p] >> w & 1 for at in members for p in at for w in at):
                known.add(name)
            elif always.get(name, True):
                always[name] = all(is_linear(f, sample, at, rng) for at in members)
    wrong += [f"{op.name} is linear in {name!r}, and not declared so"
              for name, so in always.items() if so and name not in known]
    return wrong


def test_what_is_linear_is_declared_and_nothing_else(op_names: list[str]) -> None:
    wrong: list[str] = []
    for entry in map(lookup, op_names):
        if entry.name not in UNDECLARED:
            wrong += disagreements(entry)
    assert not wrong, "\n".join(wrong)


def is_piecewise_linear(op: OpDef, sample: Sample, group: Sequence[int]) -> bool:
    """Whether the derivative is the same a small step away."""
    attrs = op.canonical_attributes(sample.attributes)
    rng = random_source(op.name + " pieces")

    def moved(step: Any, at: Any, directions: Any) -> Any:
        def call(*chosen: Any) -> Any:
            operands = list(sample.operands)
            for p, x in zip(group, chosen, strict=True):
                operands[p] = x
            found = op.fn(*operands, **attrs)
            return found if isinstance(found, (tuple, list)) else (found,)

        places = [x + step * d for x, d in zip(at, directions, strict=True)]
        return [t for t in jax.jvp(call, places, directions)[1] if t.dtype != jax.dtypes.float0]

    at = [sample.operands[p] for p in group]
    directions = [other(rng, x) for x in at]
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        compiled = quick_options.jit(moved)
        here, there = compiled(0.0, at, directions), compiled(1e-4, at, directions)
    return all(np.allclose(h, t, rtol=1e-9, atol=1e-9) for h, t in zip(here, there, strict=True))


@pytest.mark.slow
def test_what_is_declared_linear_piece_by_piece_has_constant_derivatives() -> None:
    looked_at: set[str] = set()
    for name in OPS:
        entry = lookup(name)
        for sample in chosen(entry):
            if not sample.smooth:
                continue
            attrs = entry.canonical_attributes(sample.attributes)
            for bits in entry.piecewise_groups(attrs, len(sample.operands)):
                group = [p for p in moving(entry, sample) if bits >> p & 1]
                given = [sample.operands[p] for p in group]
                if group and all(o is not None and o.dtype == np.float64 for o in given):
                    assert is_piecewise_linear(entry, sample, group), sample
                    looked_at.add(name)
    assert {"maximum", "clip", "max", "floor", "sign", "index_update"} <= looked_at
    # the check finds one that is not
    (square, *_) = [s for s in chosen(lookup("square")) if s.operands[0].dtype == np.float64]
    assert not is_piecewise_linear(lookup("square"), square, [0])


#: ops whose derivative looks at data that are declared to be free, and why it may
LOOKS = {
    "linspace": "for NaN, on which no finite number depends",
    "pad": "not: JAX cannot pull back one that cuts all of an axis off, without its value",
}


def data_taken(op: OpDef, sample: Sample, by: int) -> list[bool]:
    """Which operands' data the derivative of a sample by one of them takes, as JAX has it."""
    attrs = op.canonical_attributes(sample.attributes)
    given = [p for p, o in enumerate(sample.operands) if o is not None]

    def derivative(operands: list[Any], cotangents: Any) -> Any:
        placed: list[Any] = [None] * len(sample.operands)
        for p, x in zip(given, operands, strict=True):
            placed[p] = x

        def call(x: Any) -> Any:
            placed[by] = x
            found = op.fn(*placed, **attrs)
            several = found if isinstance(found, (tuple, list)) else (found,)
            return [r for r in several if jnp.issubdtype(r.dtype, jnp.inexact)]

        results, pull = jax.vjp(call, placed[by])
        return results if cotangents is None else pull(cotangents)

    operands = [sample.operands[p] for p in given]
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        results = jax.eval_shape(lambda x: derivative(x, None), operands)
        ones = [np.ones(r.shape, r.dtype) for r in results]
        traced = jax.make_jaxpr(derivative)(operands, ones).jaxpr
    _, needed = dce_jaxpr(traced, [True] * len(traced.outvars))
    found = [False] * len(sample.operands)
    for k, p in enumerate(given):
        found[p] = needed[k]
    return found


def test_no_derivative_takes_data_that_are_declared_free(op_names: list[str]) -> None:
    wrong = []
    for name in op_names:
        entry = lookup(name)
        if not entry.derivative.differentiable or name in LOOKS:
            continue
        for sample in chosen(entry)[:1]:
            attrs = entry.canonical_attributes(sample.attributes)
            depends = entry.dependences(attrs, len(sample.operands), True)
            at = moving(entry, sample)
            free = [by for by in at if any(not bits >> by & 1 for bits in depends)]
            for by in free:
                taken = data_taken(entry, sample, by)
                wrong += [f"{name}: the derivative by {by} takes the data of {p}: {sample}"
                          for p, so in enumerate(taken) if so and not depends[p] >> by & 1]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "floor_divide",
                                  "straight_through", "fmod", "remainder"])
def test_a_constant_derivative_takes_nothing(name: str) -> None:
    entry = lookup(name)
    assert entry.derivative.constant_derivative
    for sample in chosen(entry):
        for by in moving(entry, sample)[:1 if name in ("fmod", "remainder") else None]:
            assert not any(data_taken(entry, sample, by)), sample


def stored(x: Any) -> set[bytes]:
    """The elements of an array, by their bits."""
    return {v.tobytes() for v in np.asarray(x).reshape(-1)}


def moves_only(f: Definition, sample: Sample) -> bool:
    """Whether each element of the result is one of the first operand's."""
    first = sample.operands[0]
    found = f(sample.operands)
    return first is not None and len(found) == 1 and found[0].dtype == first.dtype and (
        stored(found[0]) <= stored(first))


def test_ops_that_only_move_data_are_declared_so() -> None:
    wrong = []
    for name in OPS:
        entry = lookup(name)
        found = chosen(entry)
        if name in NO_MOVEMENT or not found:
            assert not entry.access.data_movement
            continue
        so = all(moves_only(definition(entry, s), s) for s in found)
        if so != entry.access.data_movement:
            wrong.append(f"{name} is declared {entry.access.data_movement}, and is {so}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [n for n in OPS if lookup(n).access.positions is not None])
def test_positions_are_positions_along_the_axis(name: str) -> None:
    entry = lookup(name)
    number = entry.access.positions
    assert number is not None
    looked_at = 0
    for sample in samples(entry):
        x = sample.operands[0]
        if x is None or not x.size or x.dtype.name == "bfloat16":
            continue
        f = definition(entry, sample)
        found = f(sample.operands)[number]
        assert found.dtype.kind == "i", sample
        assert found.min() >= 0 and found.max() < x.shape[f.attrs["axis"]], sample
        looked_at += 1
    assert looked_at > 3


def test_layouts_are_what_the_definitions_do() -> None:
    declared = {n: lookup(n).access.layout for n in OPS if lookup(n).access.layout}
    assert declared == {"reshape": "reshape", "transpose": "transpose"}
    for name in declared:
        for sample in chosen(lookup(name)):
            x = np.asarray(sample.operands[0])
            f = definition(lookup(name), sample)
            expected = (x.reshape(f.attrs["shape"]) if name == "reshape"
                        else x.transpose(f.attrs["axes"]))
            np.testing.assert_array_equal(f(sample.operands)[0], expected)


def derived(
    entry: OpDef, kind: str, operands: list[Any], attrs: dict[str, Any]
) -> tuple[OpDef, list[Any], dict[str, Any]]:
    """The op derived from one, by all of its operands, with operands and attributes for it."""
    made = entry.derive(kind)
    rng = random_source(made.name)
    at = tuple(p for p, x in enumerate(operands) if x.dtype.kind == "f")
    if kind == "vmap":
        stacked = [np.stack([x, np.asarray(other(rng, x))]) if p in at else x
                   for p, x in enumerate(operands)]
        return made, stacked, {**attrs, made.own[0]: at}
    if kind == "jvp":
        return made, [*operands, *[other(rng, operands[p]) for p in at]], {
            **attrs, made.own[0]: at}
    with jax.enable_x64(True):
        (result, *_) = results_of(entry, attrs)(operands)
    return made, [*operands, other(rng, result)], {
        **attrs, made.own[0]: len(operands), made.own[1]: at, made.own[2]: (0,)}


def results_of(entry: OpDef, attrs: dict[str, Any]) -> Any:
    def call(operands: Sequence[Any]) -> list[Any]:
        found = entry.fn(*operands, **attrs)
        return list(found) if isinstance(found, (tuple, list)) else [found]

    return call


def slopes_of(call: Any, count: int) -> Any:
    """The derivatives of the results by each operand, along ones."""

    def slopes(operands: Any) -> Any:
        return [
            jax.jvp(lambda x, by=by: call([*operands[:by], x, *operands[by + 1:]]),
                    [operands[by]], [jax.numpy.ones_like(operands[by])])[1]
            for by in range(count)]

    return slopes


PARTLY = {
    "multiply": [(3,), (3,)], "divide": [(3,), (3,)], "matmul": [(2, 3), (3, 2)],
    "addcmul": [(3,), (3,), (3,), ()], "lerp": [(3,), (3,), ()], "add": [(3,), (3,)],
    "maximum": [(3,), (3,)], "sin": [(3,)],
    "batch_norm_infer": [(4, 3), (3,), (3,), (3,), (3,)],
}  # fmt: skip
CHAINS = [(), ("vjp",), ("jvp",), ("vmap",), ("vjp", "vjp"), ("jvp", "vjp"), ("vmap", "vjp", "jvp")]


@pytest.mark.parametrize("chain", CHAINS, ids=lambda c: ".".join(c) or "table")
def test_no_derivative_depends_on_what_is_not_said_to_matter(chain: tuple[str, ...]) -> None:
    """Of derived ops too: the derivative by one operand while the data of another changes."""
    independent = 0
    for name, shapes in PARTLY.items():
        entry = lookup(name)
        rng = random_source(name + " depends")
        operands: list[Any] = [np.asarray(rng.uniform(0.5, 2, s)) for s in shapes]
        attrs: dict[str, Any] = entry.canonical_attributes({})
        for kind in chain:
            entry, operands, attrs = derived(entry, kind, operands, attrs)
        depends = entry.dependences(attrs, len(operands), False)
        with jax.enable_x64(True):
            slopes = slopes_of(results_of(entry, attrs), len(operands))
            compiled = quick_options.jit(slopes)
            before = compiled(operands)
            for p, x in enumerate(operands):
                # near enough for what chooses to choose the same
                after = compiled([*operands[:p], x * 1.001, *operands[p + 1:]])
                for q in range(len(operands)):
                    if depends[p] >> q & 1:
                        continue
                    independent += 1
                    for one, two in zip(before[q], after[q], strict=True):
                        np.testing.assert_allclose(
                            one, two, rtol=1e-12, atol=1e-12,
                            err_msg=f"{entry.name}: derivative by {q}, data of {p}")
    assert independent > 20
