"""Graphs of ONNX under construction, which nothing has written yet."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from ...dtypes import DType
from ...types import TensorType

#: TensorProto.DataType of each dtype
DTYPES: Final = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15,
    "bfloat16": 16,
}  # fmt: skip
#: the versions of ONNX's operators that rules write for, and the one that all of them do with
OLDEST_OPSET, NEWEST_OPSET, OPSET = 17, 23, 20
#: the versions of the file format that came with these, of ONNX 1.12 and later
IR_VERSIONS: Final = {17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}
#: the domain of operators that ONNX Runtime has beside the standard's
CONTRIB: Final = "com.microsoft"

#: the largest number of elements of constants that are looked for among those there are
_SHARED_SIZE: Final = 16

#: the value of an attribute of a node
Attribute: TypeAlias = "int | float | str | Sequence[int] | OnnxGraph"


class OnnxNode(NamedTuple):
    """A node.

    Attributes:
        op: ONNX's operator.
        inputs: names of values; "" for one that is absent.
        outputs: the names of the results.
        attributes: by name; an :class:`OnnxGraph` for a body.
        domain: of the operator; "" for ONNX's own.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: list[str]
    attributes: Mapping[str, Attribute]
    domain: str = ""


class VaryingType(NamedTuple):
    """The type of a value in a body, some of whose extents are symbols or expressions of these."""

    dtype: DType
    shape: tuple[int | str, ...]


class OnnxGraph:
    """A graph under construction: each node's results have new names.

    Attributes:
        opset: the version of the operators.
        varying: whether it is compared with graphs of other extents, from which it should differ
            in numbers alone.
        nodes: in an order in which they can run.
        constants: arrays by name.
        inputs, outputs: of the body of a loop or branch only; the names of its values, with their
            types.
    """

    def __init__(
        self, opset: int = OPSET, taken: Container[str] = (), outer: OnnxGraph | None = None,
        varying: bool = False,
    ) -> None:
        """Begin a graph.

        Args:
            opset: the version of the operators.
            taken: names that others have.
            varying: it is compared with graphs of other extents.
            outer: for the body of a loop or branch, the graph that it belongs to, whose values it
                may read.
        """
        self.opset: Final = opset
        self.varying: Final = varying
        self.nodes: Final[list[OnnxNode]] = []
        self.constants: Final[dict[str, Any]] = {}
        self.inputs: Final[list[tuple[str, TensorType | VaryingType]]] = []
        self.outputs: Final[list[tuple[str, TensorType | VaryingType]]] = []
        self._known: Final[dict[tuple[str, tuple[int, ...], bytes], str]] = {}
        self._taken: Final = taken
        self._outer: Final = outer
        self._count = 0

    def name(self) -> str:
        """Return a name that no other value has."""
        if self._outer is not None:
            return self._outer.name()
        while True:
            self._count += 1
            name = f"v{self._count}"
            if name not in self._taken:
                return name

    def add(self, op: str, *inputs: str, **attributes: Attribute) -> str:
        """Add a node with one result; return the result's name."""
        return self.several(1, op, *inputs, **attributes)[0]

    def several(self, count: int, op: str, *inputs: str, **attributes: Attribute) -> list[str]:
        """Add a node; return the names of its results."""
        results = [self.name() for _ in range(count)]
        self.nodes.append(OnnxNode(op, inputs, results, attributes))
        return list(results)

    def contrib(self, op: str, *inputs: str, **attributes: Attribute) -> str:
        """Add a node that ONNX Runtime has beside the standard's; return its result's name."""
        result = self.name()
        self.nodes.append(OnnxNode(op, inputs, [result], attributes, CONTRIB))
        return result

    def body(self) -> OnnxGraph:
        """Return a graph for the body of a loop or branch."""
        return OnnxGraph(self.opset, self._taken, self, self.varying)

    def constant(self, array: Any) -> str:
        """Return the name of an array; equal small ones share one."""
        if self._outer is not None:
            return self._outer.constant(array)
        key = (array.dtype.name, array.shape, array.tobytes()) if (
            array.size <= _SHARED_SIZE) else None
        name = self._known.get(key) if key else None
        if name is None:
            name = self.name()
            self.constants[name] = array
            if key:
                self._known[key] = name
        return name

    def value_of(self, name: str) -> Any:
        """Return the array that a name is a constant for, or None."""
        if self._outer is not None:
            return self._outer.value_of(name)
        return self.constants.get(name)

    def ints(self, values: Sequence[int]) -> str:
        """Return the name of an array of int64."""
        return self.constant(np.array(list(values), np.int64))

    def number(self, value: complex, dtype: DType) -> str:
        """Return the name of a 0-d number of a dtype."""
        return self.constant(np.array(value, dtype.numpy))

    def cast(self, name: str, dtype: DType | str) -> str:
        """Return the name of a value cast to a dtype, by Cast."""
        return self.add("Cast", name, to=DTYPES[dtype if isinstance(dtype, str) else dtype.name])

    def reshape(self, name: str, shape: Sequence[int]) -> str:
        """Return the name of a value in another shape, which may have extents of 0."""
        more = {"allowzero": 1} if 0 in shape else {}
        return self.add("Reshape", name, self.ints(shape), **more)

    def reduce(
        self, op: str, name: str, axes: Sequence[int], keepdims: bool, ndim: int
    ) -> str:
        """Return the name of a value reduced along axes, none of which leaves it as it is."""
        keep = int(keepdims)
        if op == "ReduceSum" or self.opset >= 18:
            return self.add(op, name, self.ints(axes), keepdims=keep, noop_with_empty_axes=1)
        # axes are an attribute in older versions, and none of them means all
        if not axes and ndim:
            return self.add("Identity", name)
        return self.add(op, name, keepdims=keep, **({"axes": list(axes)} if axes else {}))
