"""Groups of quantised ops around a convolution or product.

A group is ``quantize(relu(conv(dequantize(x), dequantize(w)) + bias + dequantize(r)))``, where
quantize, relu and the sums may be missing. This module finds the groups that :mod:`.int8` runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...program.program import Instruction
from ...program.stream import Leaf, Operand, Result
from ...types import TensorType
from ..answers import YES, Answer, Call, No
from ..generator import Region
from ..patterns import Pattern, PatternMatch, any_value, match
from . import convolution

PRODUCTS: Final = ("dot_general", "matmul")
NARROW: Final = ("int8", "uint8")
#: the prefix of the names of groups
PREFIX: Final = "int8_"


def patterns() -> list[Pattern]:
    """Return the groups, those with the most ops first."""
    groups = []
    for kind, ops in (("conv", "conv"), ("product", " ".join(PRODUCTS))):
        main = match(ops, match("dequantize", any_value(), any_value()),
                     match("dequantize", any_value(), any_value()))
        biased = match("add", main, any_value(), commutes=True, optional=True)
        other = match("dequantize", any_value(), any_value())
        summed = match("add", biased, other, commutes=True, optional=True)
        positive = match("relu relu6", summed, optional=True)
        roots: list[tuple[str, PatternMatch]] = [
            ("_to_int8", match("quantize", positive, any_value())),
            ("_relu", match("relu relu6", biased)),
            ("_bias", match("add", main, any_value(), commutes=True)), ("", main)]
        groups += [Pattern(f"{PREFIX}{kind}{name}", root, check) for name, root in roots]
    return groups


def check(calls: Sequence[Call]) -> Answer:
    """Return YES if matched ops have the types of a group, or why not; wiring is not checked here.
    """
    main = _main(calls)
    along = (None, _channel_of_weights(main))
    for call in calls:
        types = call.operands
        if call.op not in ("quantize", "dequantize"):
            continue
        if call.attributes["axis"] not in along:
            return No(f"scales along axis {call.attributes['axis']}, expected one of {along}")
        if len(types) > 2 and types[2] is not None:
            return No("a zero point, expected none")
        scale = types[1]
        if scale is None or scale.dtype.name != "float32":
            return No("a scale of another dtype, expected float32")
    whole = [c for c in calls if c.op == "add" and c.operands[0] == c.operands[1]]
    if len(whole) != sum(c.op == "dequantize" for c in calls) - 2:
        return No("a sum with what is neither dequantised nor a number for each channel")
    return convolution.supports(main) if main.op == "conv" else _product(main)


def _main(calls: Sequence[Call]) -> Call:
    return next(c for c in calls if c.op in ("conv", *PRODUCTS))


def work(calls: Sequence[Call]) -> int:
    """Return the number of multiplications of a group."""
    main = _main(calls)
    if main.op == "conv":
        return convolution.work(main)
    x = main.operands[0]
    assert x is not None
    return main.results[0].size * x.shape[-1]


def _product(call: Call) -> Answer:
    """Return YES if a product is one of rows and a matrix, or why not."""
    x, y = call.operands[:2]
    assert x is not None and y is not None
    if y.ndim != 2 or x.ndim < 2:
        return No(f"a product of {x.ndim} and {y.ndim} axes, expected rows and a matrix")
    a = call.attributes
    if call.op == "dot_general" and (
        a["lhs_contract"] != (x.ndim - 1,) or a["lhs_batch"] or len(a["rhs_contract"]) != 1
        or a.get("accumulate") is not None
    ):
        return No("a product of other axes, expected the last one of the first operand")
    if work([call]) < convolution.SMALL:
        return No(f"{work([call])} multiplications, expected {convolution.SMALL} or more")
    return YES


def summed_axis(call: Call) -> int:
    """Return the axis of the weights over which a product sums."""
    return int(call.attributes["rhs_contract"][0]) if call.op == "dot_general" else 0


def _channel_of_weights(call: Call) -> int:
    """Return the axis of the weights that is the channels of the result."""
    return 0 if call.op == "conv" else 1 - summed_axis(call)


class QuantizedOperand(NamedTuple):
    """A quantised operand: its number and that of its scale among the region's operands."""

    data: int
    scale: int


class QuantizedGroup(NamedTuple):
    """A group.

    Attributes:
        call: the convolution or product.
        image, weight: its operands.
        channels: whether the weights have a scale for each channel of the result.
        bias: the number of the operand added to each channel, or None.
        other: the other summand, or None.
        after: "relu" or "relu6", or "".
        scale: the number of the result's scale; None where it is not quantised.
    """

    call: Call
    image: QuantizedOperand
    weight: QuantizedOperand
    channels: bool
    bias: int | None
    other: QuantizedOperand | None
    after: str
    scale: int | None


class _No(Exception):
    """Says why :mod:`.int8` cannot run a region."""


def group_of(region: Region) -> QuantizedGroup | No:
    """Return the group that a region is, or why it is none."""
    try:
        return _Reader(region).read()
    except _No as error:
        return No(str(error))


class _Reader:
    def __init__(self, region: Region) -> None:
        self.region: Final = region
        self.instructions: Final[list[Instruction]] = region.program.structure.instructions

    def read(self) -> QuantizedGroup:
        at: Operand = Result(*self.region.program.outputs[0])
        scale: int | None = None
        i = self._instruction(at)
        if _name(i) == "quantize":
            if i.spec.attrs["axis"] is not None:
                raise _No("a scale for each place of an axis in a result")
            scale = self._leaf(i.operands[1])
            i = self._instruction(i.operands[0])
        after = ""
        if _name(i) in ("relu", "relu6"):
            after = _name(i)
            i = self._instruction(i.operands[0])
        bias: int | None = None
        other: QuantizedOperand | None = None
        while _name(i) == "add":
            onward, added = self._sum(i)
            if isinstance(added, int):
                if bias is not None:
                    raise _No("two sums with a number for each channel")
                bias = added
            else:
                if other is not None or scale is None:
                    raise _No("a sum of three, or one that is not quantised")
                other = added
            i = onward
        if other is not None and after == "relu6":
            raise _No("a limit above a sum")
        image, images_axis = self._quantized(i.operands[0], NARROW)
        weight, axis = self._quantized(i.operands[1], ("int8",))
        call = Call.of(i)
        if images_axis is not None:
            raise _No("a scale for each place of an axis in images")
        channel = _channel_of_weights(call)
        if axis is not None and axis != channel:
            raise _No(f"a scale for each place along axis {axis} of the weights, "
                      f"expected axis {channel}")
        return QuantizedGroup(call, image, weight, axis is not None, bias, other, after, scale)

    def _sum(self, i: Instruction) -> tuple[Instruction, int | QuantizedOperand]:
        """Return the operands of a sum: the op that leads to the product, and the other summand."""
        result = i.types[0]
        for item, other, kind in zip(
            i.operands, i.operands[::-1], i.operand_types[::-1], strict=True
        ):
            if not isinstance(item, Result) or kind is None:
                continue
            onward = self._instruction(item)
            if _name(onward) == "dequantize" or onward.types[0].shape != result.shape:
                continue
            if isinstance(other, Result):
                added, axis = self._quantized(other, NARROW)
                if axis is None and kind.shape == result.shape:
                    return onward, added
            elif _for_each_channel(kind, result, self._channel_axis(result)):
                return onward, self._leaf(other)
        raise _No("a sum with something else than a number for each channel")

    def _channel_axis(self, result: TensorType) -> int:
        conv = any(_name(i) == "conv" for i in self.instructions)
        return 1 if conv else result.ndim - 1

    def _quantized(
        self, item: Operand, dtypes: Sequence[str]
    ) -> tuple[QuantizedOperand, int | None]:
        """Return a dequantised operand, and the axis of its scales."""
        i = self._instruction(item)
        t = i.operand_types[0]
        if _name(i) != "dequantize" or t is None:
            raise _No("an operand that is not dequantised")
        if t.dtype.name not in dtypes:
            raise _No(f"an operand of dtype {t.dtype.name}, expected {' or '.join(dtypes)}")
        axis: int | None = i.spec.attrs["axis"]
        return (QuantizedOperand(self._leaf(i.operands[0]), self._leaf(i.operands[1])),
                None if axis is None else axis % t.ndim)

    def _instruction(self, item: Operand) -> Instruction:
        if not isinstance(item, Result):
            raise _No("an operand from elsewhere")
        return self.instructions[item.instruction]

    def _leaf(self, item: Operand) -> int:
        if not isinstance(item, Leaf):
            raise _No("a number that is part of the program")
        return item.number


def _name(i: Instruction) -> str:
    return Call.of(i).op


def _for_each_channel(t: TensorType, result: TensorType, axis: int) -> bool:
    """Return True if an operand of a sum has one number for each channel of the result."""
    shape = (1,) * (result.ndim - t.ndim) + t.shape
    return math.prod(t.shape) == shape[axis] == result.shape[axis]
