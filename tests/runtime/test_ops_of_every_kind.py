"""Ops that are added while the program runs, one of each kind, from every frontend.

An entry is all there is to write: recorded by name from the NumPy-like frontend, the torch-like one
and C, differentiated twice, mapped and cached, with no word about it anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as onp
import pytest
from jax import lax

import lazyloom as ll
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.dtypes import int64
from lazyloom.ops import Access, Derivative, Execution, OpDef, Signature, lookup
from lazyloom.ops.kinds import AnyType, Array, Floats, Integer, Ints, T
from lazyloom.ops.rules import elementwise, reduction
from lazyloom.program.donation import match_donations
from lazyloom.types import TensorType, tensor_type
from lazyloom_capi.client import Client

pytestmark = pytest.mark.usefixtures("registered")

X = onp.array([[0.3, -0.7, 1.1], [2.0, 0.4, -1.6]])
Y = onp.array([[1.2, 0.5, -0.4], [-0.9, 1.3, 0.8]])


class Kind(NamedTuple):
    """An op with what to call it with.

    Attributes:
        enter: enters it in the table.
        operands, attributes: of a call; the second call has other data.
        by: the operands to differentiate by; none for an op without derivative.
        mapped: the operands to map over their first axis; none where that is refused.
    """

    enter: Callable[[], Any]
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = {}
    by: tuple[int, ...] = (0,)
    mapped: tuple[int, ...] = (0,)


def entered(fn: Any, rule: Any = elementwise, **traits: Any) -> Callable[[], Any]:
    """What enters a function as the op ``own_`` and its name."""
    return lambda: ll.register_op(
        rule, source="the tests", name=f"own_{fn.__name__}", **{"T": "floating", **traits})(fn)


def curved(x: T) -> Array:
    """x sin x."""
    return lax.mul(x, lax.sin(x))


def product(x: T, y: T) -> Array:
    """2 x y, of equal shapes."""
    return lax.mul(lax.add(x, x), y)


def powers(x: T, *, exponents: Floats, flipped: bool = False) -> Array:
    """The sum of some powers of |x| + 1."""
    base = lax.add(lax.abs(x), lax.full_like(x, 1))
    found = lax.full_like(x, 0)
    for e in exponents:
        found = lax.add(found, lax.pow(base, lax.full_like(x, e)))
    return lax.neg(found) if flipped else found


def squares(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """The sum of squares."""
    which = tuple(range(x.ndim)) if axes is None else tuple(a % x.ndim for a in axes)
    found = lax.reduce_sum(lax.mul(x, x), which)
    if not keepdims:
        return found
    return lax.expand_dims(found, which)


def shifted(x: T) -> Array:
    """x with its last axis moved around by one."""
    last = x.ndim - 1
    return lax.concatenate([
        lax.slice_in_dim(x, 1, None, axis=last), lax.slice_in_dim(x, 0, 1, axis=last)], last)


def chosen(x: T, y: T) -> Array:
    """The larger of two."""
    return lax.max(x, y)


def of_first(count: int) -> Any:
    """A rule: so many results of the first operand's type."""

    def rule(op: OpDef, types: Sequence[TensorType], attrs: Any) -> tuple[TensorType, ...]:
        return (types[0],) * count

    return rule


def both_ways(x: T) -> tuple[Array, Array]:
    """sin x and cos x."""
    return lax.sin(x), lax.cos(x)


def listed(*xs: T) -> Any:
    """Each operand doubled."""
    found = tuple(lax.add(x, x) for x in xs)
    return found[0] if len(found) == 1 else found


def as_operands(op: OpDef, types: Sequence[TensorType], attrs: Any) -> tuple[TensorType, ...]:
    return tuple(types)


def with_residuals(x: T) -> Array:
    """exp(sin x), which is computed once for both directions."""
    return lax.exp(lax.sin(x))


def own_derivative(x: T) -> Array:
    """x cubed, whose derivative is said to be 6 x."""
    cube = jax.custom_jvp(lambda x: lax.integer_pow(x, 3))
    cube.defjvp(lambda p, t: (
        lax.integer_pow(p[0], 3), lax.mul(lax.mul(lax.full_like(p[0], 6), p[0]), t[0])))
    return cube(x)


def dense(x: T, y: T) -> Array:
    """The product of a matrix with another that is transposed."""
    return lax.dot_general(x, y, (((1,), (1,)), ((), ())))


def of_rows(op: OpDef, types: Sequence[TensorType], attrs: Any) -> tuple[TensorType, ...]:
    return (tensor_type((types[0].shape[0], types[1].shape[0]), types[0].dtype),)


def rounded(x: T) -> Array:
    """The nearest integers, as int64."""
    return lax.convert_element_type(lax.round(x), "int64")


def as_integers(op: OpDef, types: Sequence[TensorType], attrs: Any) -> tuple[TensorType, ...]:
    return (tensor_type(types[0].shape, int64),)


def picked(x: T, positions: Integer) -> Array:
    """Rows of x, by positions that are in range."""
    return jax.numpy.take(x, positions, axis=0, mode="clip")


def as_positions(op: OpDef, types: Sequence[TensorType], attrs: Any) -> tuple[TensorType, ...]:
    return (tensor_type((*types[1].shape, *types[0].shape[1:]), types[0].dtype),)


def spread(value: T, *, size: int) -> Array:
    """A vector of one number."""
    return lax.broadcast(value, (size,))


def as_vector(op: OpDef, types: Sequence[TensorType], attrs: Any) -> tuple[TensorType, ...]:
    return (tensor_type((attrs["size"],), types[0].dtype),)


def looked_at(
    x: AnyType, flag: AnyType, *, kind: str, of: str = "", info: Ints = ()
) -> tuple[Array, Array]:
    """x, and a flag that is looked at."""
    return x, flag


def may_fail(x: T) -> Array:
    """tanh x, by code that could fail."""
    return lax.tanh(x)


def noted(x: T) -> Array:
    """x, by an op with an effect."""
    return lax.add(x, lax.full_like(x, 1))


INDEX = {"kind": "index", "of": "own", "info": (0, 3)}

KINDS = {
    "curved": Kind(entered(curved), (X,)),
    "product": Kind(entered(product, derivative=Derivative(multilinear="x y")), (X, Y),
                    by=(0, 1), mapped=(0, 1)),
    "powers": Kind(entered(powers), (X,), {"exponents": (1.5, 2.0), "flipped": True}),
    "squares": Kind(entered(squares, reduction), (X,), {"axes": (-1,), "keepdims": True}),
    "shifted": Kind(
        entered(shifted, derivative=Derivative(linear="x"),
                access=Access(data_movement=True, offset_reads=True)), (X,)),
    "chosen": Kind(entered(chosen, derivative=Derivative(piecewise_linear="x y")), (X, Y),
                   by=(0, 1), mapped=(1,)),
    "both_ways": Kind(
        entered(both_ways, of_first(2), signature=Signature(outputs=("sine", "cosine"))), (X,)),
    "listed": Kind(
        entered(listed, as_operands, derivative=Derivative(linear="xs"), signature=Signature(
            lists=True, output_notes={"result": "one for each operand"})),
        (X, Y), by=(0, 1), mapped=(0, 1)),
    "with_residuals": Kind(
        entered(with_residuals, derivative=Derivative(residuals=True),
                execution=Execution(heavy=True)), (X,)),
    "own_derivative": Kind(entered(own_derivative), (X,)),
    "dense": Kind(
        entered(dense, of_rows, derivative=Derivative(multilinear="x y"),
                execution=Execution(heavy=True)), (X, Y), by=(0, 1), mapped=()),
    "rounded": Kind(
        entered(rounded, as_integers, derivative=Derivative(differentiable=False)), (X,), by=()),
    "picked": Kind(
        entered(picked, as_positions, derivative=Derivative(linear="x", differentiable=("x",))),
        (X, onp.array([1, 0, 1])), mapped=(1,)),
    "spread": Kind(
        entered(spread, as_vector, derivative=Derivative(linear="value"),
                signature=Signature(of_numbers=True)), (onp.array(1.5),), {"size": 4}, mapped=()),
    "looked_at": Kind(
        entered(looked_at, lambda op, types, attrs: tuple(types),
                execution=Execution(checked=True),
                derivative=Derivative(linear="x", differentiable=("x",)),
                signature=Signature(outputs=("result", "looked_at"))),
        (X, onp.array(0)), INDEX),
    "may_fail": Kind(entered(may_fail, execution=Execution(fallible=True)), (X,)),
    "noted": Kind(entered(noted, execution=Execution(effect=True)), (X,), mapped=()),
}  # fmt: skip


@pytest.fixture(scope="module")
def registered() -> Iterator[None]:
    before = set(ll.ops.table())
    for kind in KINDS.values():
        kind.enter()
    yield
    table: Any = ll.ops.table()
    for name in set(table) - before:
        # what other tests go through is the table of the package
        del table[name]


@pytest.fixture(scope="module")
def client() -> Client:
    return Client()


def tuple_of(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def moved(kind: Kind) -> tuple[Any, ...]:
    """Other data of the same types."""
    return tuple(o * 1.25 if o.dtype.kind == "f" else o for o in kind.operands)


def definition(name: str, operands: Sequence[Any]) -> tuple[Any, ...]:
    return tuple_of(lookup(f"own_{name}").fn(*operands, **KINDS[name].attributes))


def expected(name: str, operands: Sequence[Any]) -> list[Any]:
    with jax.enable_x64(True):
        return [onp.asarray(r) for r in definition(name, [jax.numpy.asarray(o) for o in operands])]


def derivatives(name: str, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """By JAX: gradients of the sum of the results, and of the sum of squares of those."""
    by = KINDS[name].by

    def total(*chosen: Any) -> Any:
        full = [jax.numpy.asarray(o) for o in operands]
        for p, x in zip(by, chosen, strict=True):
            full[p] = x
        return sum(r.sum() for r in definition(name, full) if r.dtype.kind == "f")

    numbers = tuple(range(len(by)))
    first = jax.grad(total, numbers)
    second = jax.grad(lambda *c: sum((g * g).sum() for g in first(*c)), numbers)
    with jax.enable_x64(True):
        given = [jax.numpy.asarray(operands[p]) for p in by]
        return [[onp.asarray(g) for g in f(*given)] for f in (first, second)]  # type: ignore[return-value]


def close(found: Any, wanted: Any) -> None:
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(onp.asarray(f), w, rtol=1e-9, atol=1e-12)


def twice(kind: Kind, call: Callable[[Sequence[Any]], Any], check: Callable[..., None]) -> None:
    """Call with some data and with other data, for which nothing is compiled."""
    for number, operands in enumerate((kind.operands, moved(kind))):
        compiled = ll.stats()["programs_compiled"]
        check(call(operands), operands)
        assert not number or ll.stats()["programs_compiled"] == compiled


FRONTENDS = {"numpy": (np.array, np.ndarray), "torch": (torch.tensor, torch.Tensor)}


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("name", KINDS)
def test_a_frontend_calls_it_and_it_is_cached(name: str, frontend: str) -> None:
    make, kind_of_tensor = FRONTENDS[frontend]

    def call(operands: Sequence[Any]) -> list[Any]:
        found = tuple_of(ll.apply(f"own_{name}", [make(o) for o in operands],
                                  KINDS[name].attributes))
        assert all(isinstance(r, kind_of_tensor) for r in found)
        return [r.read() for r in found]

    twice(KINDS[name], call, lambda found, o: close(found, expected(name, o)))


@pytest.mark.parametrize("name", KINDS)
def test_c_calls_it_by_name_and_it_is_cached(name: str, client: Client) -> None:
    def call(operands: Sequence[Any]) -> list[Any]:
        found = tuple_of(client.apply(f"own_{name}", operands, KINDS[name].attributes))
        return [r.read() for r in found]

    twice(KINDS[name], call, lambda found, o: close(found, expected(name, o)))


DIFFERENTIATED = [name for name, kind in KINDS.items() if kind.by]


def total(results: Sequence[Any]) -> Any:
    """The sum of all elements, by the table's ops."""
    found = [ll.apply("sum", [r]) for r in results if r.type.dtype.is_inexact]
    while len(found) > 1:
        found[:2] = [ll.apply("add", found[:2])]
    return found[0]


@pytest.mark.parametrize("read", [False, True], ids=["pending", "read_between"])
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_numpy_differentiates_it_twice(name: str, read: bool) -> None:
    kind = KINDS[name]

    def call(operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        arrays = [np.array(o) for o in operands]

        def of(*chosen: Any) -> Any:
            full = list(arrays)
            for p, x in zip(kind.by, chosen, strict=True):
                full[p] = x
            found = tuple_of(ll.apply(f"own_{name}", full, kind.attributes))
            if read:
                ll.sync(*found)
            return total(found)

        at = tuple(range(len(kind.by)))
        chosen = [arrays[p] for p in kind.by]
        first = ll.grad(of, at)
        second = ll.grad(lambda *c: total(
            [ll.apply("multiply", [g, g]) for g in first(*c)]), at)
        return ([g.read() for g in first(*chosen)], [g.read() for g in second(*chosen)])

    def check(found: Any, operands: Any) -> None:
        for f, wanted in zip(found, derivatives(name, operands), strict=True):
            close(f, wanted)

    twice(kind, call, check)


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_torch_differentiates_it(name: str) -> None:
    kind = KINDS[name]

    def call(operands: Sequence[Any]) -> list[Any]:
        tensors = [torch.tensor(o) for o in operands]
        for p in kind.by:
            tensors[p].requires_grad_(True)
        found = tuple_of(ll.apply(f"own_{name}", tensors, kind.attributes))
        sum(r.sum() for r in found if r.is_floating_point()).backward()  # type: ignore[union-attr]
        assert "Own" in str(found[0].grad_fn)
        return [tensors[p].grad.read() for p in kind.by]

    twice(kind, call, lambda found, o: close(found, derivatives(name, o)[0]))


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_c_differentiates_it(name: str, client: Client) -> None:
    kind = KINDS[name]

    def call(operands: Sequence[Any]) -> list[Any]:
        tensors = [client.from_numpy(o) for o in operands]
        for p in kind.by:
            client.check(client.lib.loom_tensor_require_grad(tensors[p].handle, True))
        found = tuple_of(client.apply(f"own_{name}", tensors, kind.attributes))
        sums = [client.apply("sum", [r]) for r in found if r.dtype.is_inexact]
        gradients = client.gradients(sums, [tensors[p] for p in kind.by])
        return [g.read() for g in gradients]

    twice(kind, call, lambda found, o: close(found, derivatives(name, o)[0]))


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.mapped])
def test_it_is_mapped_over_an_axis(name: str, frontend: str) -> None:
    """As a loop over the axis, its gradient too; a second use compiles nothing."""
    kind = KINDS[name]
    make, kind_of_tensor = FRONTENDS[frontend]
    axes = tuple(0 if p in kind.mapped else None for p in range(len(kind.operands)))
    vmap = torch.vmap if frontend == "torch" else ll.vmap

    def stacked(operands: Sequence[Any]) -> list[Any]:
        return [onp.stack([o, o * 2 if o.dtype.kind == "f" else o]) if p in kind.mapped else o
                for p, o in enumerate(operands)]

    def call(operands: Sequence[Any]) -> list[Any]:
        def one(*given: Any) -> Any:
            return ll.apply(f"own_{name}", given, kind.attributes)

        found = tuple_of(vmap(one, axes)(*[make(o) for o in stacked(operands)]))
        assert all(isinstance(r, kind_of_tensor) for r in found)
        return [r.read() for r in found]

    def check(found: Any, operands: Any) -> None:
        whole = stacked(operands)
        each = [expected(name, [o[k] if p in kind.mapped else o for p, o in enumerate(whole)])
                for k in range(2)]
        close(found, [onp.stack(pair) for pair in zip(*each, strict=True)])

    twice(kind, call, check)


def test_a_check_of_its_own_is_looked_at() -> None:
    x, flag = np.array(X), np.array(7)
    found, _ = ll.apply("own_looked_at", [x, flag], INDEX)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        ll.apply("exp", [found]).read()


def test_an_effect_is_no_part_of_a_loop() -> None:
    x = np.array(X)
    for f in (lambda c, _: (ll.apply("own_noted", [c]), None),
              lambda c, _: (c, ll.apply("own_noted", [x]))):  # fmt: skip
        with pytest.raises(ll.errors.ArgumentError, match=(
            r"own_noted: the op has effects, which cannot be in the function <lambda> \(.*\) that "
            "lazyloom.scan records; call it outside"
        )):  # fmt: skip
            ll.scan(f, x, None, length=2)


def test_an_effect_is_not_mapped() -> None:
    with pytest.raises(ll.errors.ArgumentError, match="own_noted.*has effects"):
        ll.vmap(lambda x: ll.apply("own_noted", [x]))(np.array(X))


def test_bounds_are_known_through_data_that_only_moves() -> None:
    entered_integers = ll.register_op(
        elementwise, source="the tests", name="own_backwards",
        access=Access(data_movement=True), derivative=Derivative(linear="x"))

    @entered_integers
    def backwards(x: T) -> Array:
        """x from its end."""
        return lax.rev(x, (0,))

    given = ll.from_host(onp.array([3, 1, 2]))
    found = ll.record("own_backwards", [given])
    assert ll.known_bounds(found) == (1, 3)
    assert ll.known_bounds(ll.record("negative", [found])) is None
    assert found.read().tolist() == [2, 1, 3]


def test_a_result_takes_over_the_memory_that_its_entry_names() -> None:
    def passed(step: T, state: T) -> tuple[Array, Array]:
        """Something else, and the state a step on."""
        return lax.mul(step, step), lax.add(state, step)

    def twisted(step: T, state: T) -> tuple[Array, Array]:
        """The state a step on, and something else."""
        return lax.add(state, step), lax.mul(step, step)

    def other(op: OpDef, operands: int, results: int, result: int) -> int:
        return 1 - result

    entered(passed, of_first(2))()
    entered(twisted, of_first(2), execution=Execution(aliases=other))()
    for name, wanted in (("own_passed", {0: 0, 1: 1}), ("own_twisted", {1: 0, 0: 1})):
        step, state = ll.from_host(X), ll.from_host(Y)
        results = ll.record(name, [step, state])
        program = ll.program_of(*results)
        assert match_donations(program.structure, [(0, 0), (0, 1)], [0, 1]) == wanted


@pytest.mark.parametrize("trait", ["linear", "multilinear", "piecewise_linear"])
def test_a_trait_that_names_no_operand_is_refused(trait: str) -> None:
    def misnamed(x: T) -> Array:
        """x."""
        return x

    kinds: dict[str, Any] = {trait: "y"}
    told = rf"own_misnamed: trait {trait} names 'y', expected its operands: x"
    with pytest.raises(ll.errors.ArgumentError, match=told):
        entered(misnamed, derivative=Derivative(**kinds))()


def test_derived_ops_know_what_they_are() -> None:
    base = lookup("own_product")
    vjp = base.derive("vjp")
    second = vjp.derive("vmap").derive("vjp")
    assert vjp is base.derive("vjp") and vjp.name == "own_product.vjp"
    assert (second.kind, second.base, second.root) == ("vjp", vjp.derive("vmap"), base)
    assert vjp.own == ("primals1", "argnums1", "outnums1")
    assert second.own == ("primals2", "argnums2", "outnums2") and second.times("vjp") == 2
    assert base.kind == "" and base.base is None and base.root is base
