"""A backend that interprets programs with NumPy, one instruction after the other.

The common ops are NumPy's functions. All others are evaluated by their definition in the op table,
which is a function of arrays; so are derived ops. A result that takes the memory of a donated leaf
is written over it, so that whoever still uses that leaf sees it. Run any test with it by
``LAZYLOOM_BACKEND=tests.runtime.numpy_backend:Interpreting``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lazyloom import Backend, OpDef, Program, TensorType, tensor_type
from lazyloom.backends import (
    Baked,
    Executable,
    Instruction,
    Leaf,
    NotLowered,
    Request,
    ScalarSlot,
)
from lazyloom.dtypes import dtype_named
from lazyloom.trace.specs import Spec


def _axes(axes: Any) -> Any:
    return axes if axes is None else tuple(axes)


#: NumPy's functions for ops of the table, by name; they take the ops' attributes
NUMPY: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in (
        "abs", "add", "subtract", "multiply", "negative", "exp", "sin", "cos", "tanh", "sqrt",
        "square", "maximum", "minimum", "greater", "less", "equal", "not_equal", "greater_equal",
        "less_equal", "matmul", "where", "logical_and", "logical_or", "logical_not", "isnan")},
    "cast": lambda x, dtype: x.astype(dtype.numpy),
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, axes=None: x.transpose(axes),
    "broadcast_to": np.broadcast_to,
    "expand_dims": lambda x, axes: np.expand_dims(x, tuple(axes)),
    "squeeze": lambda x, axes=None: np.squeeze(x, _axes(axes)),
    "flip": lambda x, axes=None: np.flip(x, _axes(axes)),
    "concatenate": lambda *xs, axis: np.concatenate(xs, axis),
    "stack": lambda *xs, axis: np.stack(xs, axis),
    "full": lambda value, shape: np.full(shape, value),
    "identity": lambda x: x,
    "sum": lambda x, axes, dtype, keepdims: np.sum(
        x, _axes(axes), None if dtype is None else dtype.numpy, keepdims=keepdims),
    "checked": lambda x, flag, kind, of, info: (x, flag),
}


def _by_definition(i: Instruction, operands: Sequence[Any]) -> Any:
    """An op's results by the function that defines it in the table."""
    import jax

    with jax.enable_x64(True):
        out = _function(i.spec)(*operands)
        return jax.tree_util.tree_map(np.asarray, out)


#: derived ops by how often they ran, and then as one program: a trace of each is far slower
_derived: dict[Spec, int | Callable[..., Any]] = {}
OFTEN = 16


def _function(spec: Spec) -> Callable[..., Any]:
    import jax

    fn = functools.partial(spec.op.fn, **spec.attrs)
    if spec.op.base is None:
        return fn
    found = _derived.get(spec, 0)
    if isinstance(found, int):
        found = _derived[spec] = found + 1 if found < OFTEN else jax.jit(fn)
    return fn if isinstance(found, int) else found


def _types_by_definition(
    op: OpDef, types: Sequence[TensorType | None], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The types of an op's results, by the function that defines it; raises what that raises."""
    import jax

    def fn(*given: Any) -> Any:
        rest = iter(given)
        return op.fn(*(None if t is None else next(rest) for t in types), **attrs)

    with jax.enable_x64(True):
        shaped = [jax.ShapeDtypeStruct(t.shape, t.dtype.numpy) for t in types if t is not None]
        leaves = jax.tree_util.tree_leaves(jax.eval_shape(fn, *shaped))
    return tuple(tensor_type(tuple(x.shape), dtype_named(str(x.dtype))) for x in leaves)


class Interpreter(Executable):
    """A program, interpreted each time that it runs."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request
        self.run = self._run
        self.direct = False
        self.needs = 0
        self.timings = {"lower": 0.0, "compile": 0.0}

    def serialize(self) -> bytes:
        return _as_program(self.request).serialized

    def _run(self, *arguments: Any) -> list[Any]:
        structure, outputs = self.request.structure, self.request.outputs
        leaves = arguments[: len(structure.leaf_types)]
        scalars = dict(zip(structure.scalar_counts, arguments[len(leaves) :], strict=True))
        results: list[tuple[Any, ...]] = []
        with np.errstate(all="ignore"):
            for i in structure.instructions:
                operands = [_operand(item, results, leaves, scalars) for item in i.operands]
                results.append(_evaluated(i, operands))
        made = [np.array(results[n][r], order="C") for n, r in outputs]
        for leaf, output in self.request.aliases.items():
            leaves[leaf][...] = made[output].reshape(leaves[leaf].shape)
            made[output] = leaves[leaf].reshape(made[output].shape)
        return made


def _operand(item: Any, results: Any, leaves: Any, scalars: Mapping[Any, Any]) -> Any:
    if item is None:
        return None
    if isinstance(item, ScalarSlot):
        return scalars[item.dtype][item.ordinal]
    if isinstance(item, Baked):
        with np.errstate(all="ignore"):
            return np.asarray(item.number).astype(item.dtype.numpy)[()]
    if isinstance(item, Leaf):
        return leaves[item.number]
    return results[item.instruction][item.number]


def _evaluated(i: Instruction, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The results of one instruction, of exactly the types that it says."""
    known = NUMPY.get(i.spec.op.name)
    out = _by_definition(i, operands) if known is None else known(*operands, **i.spec.attrs)
    listed = out if isinstance(out, (tuple, list)) else (out,)
    return tuple(
        np.asarray(x).astype(t.dtype.numpy).reshape(t.shape)
        for x, t in zip(listed, i.types, strict=True))


def _as_program(request: Request) -> Program:
    return Program(request.structure, request.outputs, sorted(request.aliases))


class Interpreting(Backend):
    """The NumPy interpreter as a backend. Its arrays are NumPy arrays of the process's memory."""

    name: ClassVar[str] = "numpy"

    def __init__(self) -> None:
        self.known: set[tuple[Any, ...]] = set()

    def compile(self, request: Request) -> Executable:
        for number, i in enumerate(request.structure.instructions):
            key = (i.spec, i.operand_types)
            if i.spec.op.name in NUMPY or key in self.known:
                continue
            try:
                _types_by_definition(i.spec.op, i.operand_types, i.spec.attrs)
            except Exception as error:
                raise NotLowered(number, error) from error
            self.known.add(key)
        return Interpreter(request)

    def load(self, data: bytes, request: Request) -> Executable:
        if Program.parse(data) != _as_program(request):
            raise ValueError("the bytes are another program's")
        return Interpreter(request)

    def upload(self, array: Any) -> Any:
        return np.ascontiguousarray(array).reshape(array.shape)

    def download(self, array: Any) -> Any:
        return array.copy()

    def copy(self, array: Any) -> Any:
        return array.copy()

    def from_dlpack(self, source: Any, copy: bool | None) -> Any:
        found = np.from_dlpack(source, copy=copy)
        if found.flags.c_contiguous and found.flags.writeable:
            return found
        if copy is False:
            raise ValueError("the memory is read-only or not in row-major order")
        return np.array(found, order="C")

    def fingerprint(self) -> str:
        return f"numpy {np.__version__}"

    def describe(self) -> Mapping[str, str]:
        return {"platform": "cpu", "device": "cpu: numpy", "numpy": np.__version__}

    def lowered_types(
        self, op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        return _types_by_definition(op, types, attrs)
