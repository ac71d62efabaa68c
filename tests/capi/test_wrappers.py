"""Every wrapper of lazyloom_ops.h is called, and records what loom_apply() by name does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import errors
from lazyloom.ops.samples import Host, Sample, samples
from lazyloom_capi.client import Client, Tensor

from . import wrappers
from .compilers import C99

#: all but loops and branches, whose functions in lazyloom.h record their bodies
TABLE = {name: op for name, op in ll.ops.table().items() if not op.signature.bodies}
MOST = 64


class Wrappers:
    """The wrappers, called with tensors and attributes by name."""

    def __init__(self, client: Client, ffi: Any, lib: Any) -> None:
        self.client, self.ffi, self.lib = client, ffi, lib

    def call(
        self, name: str, operands: Sequence[Tensor | None], attributes: dict[str, Any],
        capacity: int = MOST, wanted: int = 2**MOST - 1,
    ) -> list[Tensor | None]:  # fmt: skip
        """The results, in the order of their places; None for one that was not given."""
        op, _ = wrappers.op_of(name)
        array = self.ffi.new("loom_operand[]", max(len(operands), len(op.operands), 1))
        for i, x in enumerate(operands):
            if x is not None:
                array[i].kind, array[i].tensor = 1, x.handle.bits
        keep: list[Any] = []
        given = self.client._attributes(op.canonical_attributes(attributes), keep)
        results = self.ffi.new("loom_tensor[]", MOST)
        self.client.check(getattr(self.lib, f"call_{name}")(
            array, len(operands), self.ffi.cast("loom_attr *", given), results, capacity, wanted))
        return [self._owned(r.bits) if r.bits else None for r in results]

    def _owned(self, bits: int) -> Tensor:
        return Tensor(self.client, self.client.ffi.new("loom_tensor *", [bits])[0])

    def compare(self, name: str, sample: Sample) -> None:
        """The wrapper records what the op by name does."""
        op, _ = wrappers.op_of(name)
        given = [None if x is None else self.client.from_numpy(x) for x in sample.operands]
        attributes = op.canonical_attributes(sample.attributes)
        expected = self.client.apply(op.name, given, attributes)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        found = self.call(name, given, attributes)
        made = [x for x in found if x is not None]
        assert len(made) == len(expected) and found[len(made):] == [None] * (MOST - len(made))
        for ours, theirs in zip(made, expected):
            assert self.client.program_of(ours) == self.client.program_of(theirs), (name, sample)


@pytest.fixture(scope="module")
def called(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Wrappers:
    return Wrappers(client, *wrappers.compiled(tmp_path_factory.mktemp("wrappers"), C99))


def given(op: Any) -> list[Sample]:
    """A sample of each attribute's values and numbers of operands that the op's samples have."""
    found: dict[Any, Sample] = {}
    for sample in samples(op):
        key = (repr(sorted(sample.attributes.items())), tuple(x is None for x in sample.operands))
        found.setdefault(key, sample)
    return list(itertools.islice(found.values(), 6))


@pytest.mark.parametrize("letter", sorted({name[0] for name in TABLE}))
def test_wrapper_records_its_op(called: Wrappers, letter: str) -> None:
    known = wrappers.prototypes()
    for name in known:
        if name.startswith(letter):
            op, _ = wrappers.op_of(name)
            for sample in given(op):
                called.compare(name, sample)
    assert {n for n in TABLE if n.startswith(letter)} <= set(known)


def test_number_of_results_is_the_names_unless_they_are_lists() -> None:
    listed = set()
    for name, op in TABLE.items():
        for sample in samples(op):
            types = [None if x is None else ll.tensor_type(x.shape, ll.dtypes.as_dtype(x.dtype))
                     for x in sample.operands]  # fmt: skip
            made = op.infer(types, op.canonical_attributes(sample.attributes))
            if len(made) != len(op.signature.outputs):
                listed.add(name)
    assert listed == {name for name, op in TABLE.items() if op.signature.lists}


# ---- lists of one, two and five --------------------------------------------------------


def floats(*shape: int) -> Host:
    return np.arange(1, np.prod(shape, dtype=int) + 1, dtype=np.float32).reshape(shape)


def repeated(op: Any) -> Callable[[int], Sample]:
    """A step's sample with as many parameters as are asked for."""
    first = next(iter(samples(op)))
    numbers = len(op.operands) - 1

    def make(n: int) -> Sample:
        tensors = [x for x in first.operands[numbers:] for _ in range(n)]
        return Sample([*first.operands[:numbers], *tensors], first.attributes)

    return make


def positions(n: int) -> list[Host]:
    return [np.array(0)] * n


def module_of(n: int) -> Sample:
    """A StableHLO module that returns its inputs."""
    names = [f"%arg{k}" for k in range(n)]
    types = ", ".join(["tensor<2xf32>"] * n)
    inputs = ", ".join([f"{name}: tensor<2xf32>" for name in names])
    return Sample([floats(2)] * n, {"module": (
        f"module @sample {{\n  func.func public @main({inputs}) -> ({types}) {{\n"
        f"    return {', '.join(names)} : {types}\n  }}\n}}\n")})


VARIADIC: dict[str, Callable[[int], Sample]] = {
    "call_module": module_of,
    "concatenate": lambda n: Sample([floats(2, 3)] * n, {"axis": 1}),
    "stack": lambda n: Sample([floats(2, 3)] * n),
    "barrier": lambda n: Sample([floats(2)] * n),
    "custom": lambda n: Sample([floats(2)] * (n + 1), {"results": n}),
    "await_all": lambda n: Sample([floats(2)] * (n + 1), {"results": n}),
    "split": lambda n: Sample([floats(n, 2)], {"sizes": (1,) * n}),
    "einsum": lambda n: Sample([floats(3)] * n, {"equation": ",".join("a" * n) + "->a"}),
    "select_all": lambda n: Sample([np.array(True), *[floats(2)] * 2 * n]),
    "float_status": lambda n: Sample([floats(2), *[floats(2)] * n], {"function": "divide"}),
    "lbfgs_direction": lambda n: Sample(
        [floats(), floats(4), *[floats(4)] * 2 * n, *[floats()] * n]),
    "index": lambda n: Sample([floats(*[2] * n), *positions(n)], {"axes": tuple(range(n))}),
    "index_update": lambda n: Sample(
        [floats(*[2] * n), floats(), *positions(n)], {"axes": tuple(range(n))}),
    "dynamic_slice": lambda n: Sample([floats(*[2] * n), *positions(n)], {"sizes": (1,) * n}),
    "dynamic_update_slice": lambda n: Sample([floats(*[2] * n), floats(*[1] * n), *positions(n)]),
    **{name: repeated(op) for name, op in TABLE.items()
       if name == "unscale" or name.startswith("step_")},
}  # fmt: skip


def test_every_op_of_a_list_is_here() -> None:
    variadic = {n for n, op in TABLE.items() if op.signature.lists or op.max_operands < 0}
    assert variadic == set(VARIADIC)


@pytest.mark.parametrize("name", VARIADIC)
def test_lists_of_one_two_and_five(called: Wrappers, name: str) -> None:
    known = wrappers.prototypes()
    for wrapper in {name, f"{name}_with"} & set(known):
        for n in (1, 2, 5):
            called.compare(wrapper, VARIADIC[name](n))


@pytest.mark.parametrize("name", [n for n, op in TABLE.items() if op.signature.lists])
def test_too_few_places_are_an_error_with_the_number(called: Wrappers, name: str) -> None:
    client = called.client
    sample = VARIADIC[name](2)
    operands = [client.from_numpy(x) for x in sample.operands if x is not None]
    made = [x for x in called.call(name, operands, dict(sample.attributes)) if x is not None]
    places = len(made)
    before = client.out("size_t *", client.lib.loom_live_handles)
    with pytest.raises(errors.ArgumentError, match=f"is {places - 1}, expected {places}"):
        called.call(name, operands, dict(sample.attributes), places - 1)
    with pytest.raises(errors.ArgumentError, match="results is NULL"):
        called.call(name, operands, dict(sample.attributes), wanted=0)
    assert client.out("size_t *", client.lib.loom_live_handles) == before


# ---- places that are NULL ---------------------------------------------------------------


@pytest.mark.parametrize("name", [
    n for n, op in TABLE.items() if len(op.signature.outputs) > 1 and not op.signature.lists])
def test_results_that_are_not_wanted(called: Wrappers, name: str) -> None:
    client = called.client
    op = TABLE[name]
    sample = next(iter(samples(op)))
    operands = [None if x is None else client.from_numpy(x) for x in sample.operands]
    count = len(op.signature.outputs)
    everything = called.call(name, operands, dict(sample.attributes))
    found: list[Tensor | None] = []
    for wanted in range(2**count):
        found.clear()
        before = client.out("size_t *", client.lib.loom_live_handles)
        found = called.call(name, operands, dict(sample.attributes), wanted=wanted)
        live = client.out("size_t *", client.lib.loom_live_handles)
        assert live - before == wanted.bit_count()
        for i in range(count):
            assert (found[i] is not None) == bool(wanted >> i & 1)
            if found[i] is not None:
                assert found[i].dtype is everything[i].dtype
                assert found[i].shape == everything[i].shape


def test_the_only_result_must_be_given(called: Wrappers) -> None:
    x = called.client.from_numpy(floats(2))
    with pytest.raises(errors.ArgumentError, match="results is NULL"):
        called.call("tanh", [x], {}, wanted=0)


@pytest.mark.parametrize("letter", sorted({name[0] for name in TABLE}))
def test_null_and_huge_counts_are_no_crash(called: Wrappers, letter: str) -> None:
    """No place for a result; lists that are NULL, with a count; operands that are left out."""
    client, ffi = called.client, called.ffi
    huge = (1, 5, 2**62, 2**64 - 1)
    for name in wrappers.prototypes():
        op, _ = wrappers.op_of(name)
        if not name.startswith(letter):
            continue
        sample = next(iter(samples(op)))
        operands = [None if x is None else client.from_numpy(x) for x in sample.operands]
        attributes = op.canonical_attributes(sample.attributes)
        if len(op.signature.outputs) == 1 or op.signature.lists:
            with pytest.raises(errors.ArgumentError, match="results is NULL"):
                called.call(name, operands, attributes, wanted=0)
        else:
            called.call(name, operands, attributes, wanted=0)
        if op.min_operands:
            with pytest.raises(errors.ArgumentError, match="is missing|were given"):
                called.call(name, [None] * len(operands), attributes)
        lists = [i for i, a in enumerate(op.attributes) if a.kind in ("ints", "floats")]
        for i, count in itertools.product(lists, huge):
            keep: list[Any] = []
            given = client._attributes(attributes, keep)
            given[i].kind, given[i].count = 6, count
            given[i].value.integers = client.ffi.NULL
            array, results = ffi.new("loom_operand[]", 128), ffi.new("loom_tensor[]", MOST)
            for k, x in enumerate(operands):
                if x is not None:
                    array[k].kind, array[k].tensor = 1, x.handle.bits
            status = getattr(called.lib, f"call_{name}")(
                array, len(operands), ffi.cast("loom_attr *", given), results, MOST, 2**MOST - 1)
            made = [called._owned(r.bits) for r in results if r.bits]
            # NULL is absent where that is allowed, and else a mistake
            assert status in (0, 2, 3) if op.attributes[i].nullable else status == 2, name
            assert bool(made) == (status == 0)
