"""Elementwise ops of float32 as loops in C: an example of a code generator for lazyloom."""

from __future__ import annotations

from collections.abc import Sequence

from lazyloom import codegen
from lazyloom.codegen import YES, Answer, Call, No, Region, any_value, match

from ._text import EXPRESSIONS, text_of

#: elements from which on a loop is taken to be worth a call
FEWEST = 4096
#: operands and results that a call takes at most
MOST_ARRAYS = 256
#: bytes a second that an estimate rests on
SPEED = 1e10


class FusedLoops(codegen.Generator):
    """Regions of elementwise ops, each as one loop over the elements of its arrays."""

    name = "fused_loops"
    version = "0.1.0"
    tolerance = 8.0

    def supports(self, call: Call) -> Answer:
        """Ops of the table, on float32 arrays of one shape and scalars."""
        if call.op not in EXPRESSIONS:
            return No(f"{call.op} is not in its table")
        types = [t for t in (*call.operands, *call.results) if t is not None]
        if any(t.dtype.name != "float32" for t in types):
            return No(f"{', '.join(t.text for t in types)}, expected float32 throughout")
        shape = call.results[0].shape
        if shape == ():
            return No("the result is a scalar, expected an array")
        if any(t.shape != shape for t in call.results) or any(
            t.shape not in (shape, ()) for t in types
        ):
            return No(f"{', '.join(t.text for t in types)}, expected one shape, and scalars")
        return YES

    def patterns(self) -> Sequence[codegen.Pattern]:
        """A product and a sum, which are rounded once."""
        product, c = match("multiply", any_value(), any_value()), any_value()
        root = match("add", product, c, commutes=True)
        return [codegen.Pattern("multiply_add", root, self.supports_all)]

    def supports_all(self, calls: Sequence[Call]) -> Answer:
        """Whether it does each op of a group: a pattern looks at names and wiring alone."""
        if calls[-1].wired[0] == calls[-1].wired[1]:
            return No("a product that is added to itself, expected another term")
        return next((answer for answer in map(self.supports, calls) if not answer), YES)

    def worthwhile(self, region: Region) -> Answer:
        """Several ops, on arrays that are not small."""
        enough = codegen.at_least(len(region.calls), 2, "ops")
        if enough:
            enough = codegen.at_least(region.results[0].size, FEWEST, "elements")
        if not enough:
            return enough
        arrays = len(region.operands) + len(region.results)
        if arrays > MOST_ARRAYS:
            return No(f"{arrays} arrays, expected at most {MOST_ARRAYS}")
        return YES

    def seconds(self, region: Region) -> float | None:
        """By the bytes that are read and written."""
        return sum(t.nbytes for t in (*region.operands, *region.results)) / SPEED

    def build(self, region: Region) -> codegen.Code:
        """The loop; the compiler fuses no product and sum but those that the text does."""
        return codegen.CSource(text_of(region), ("-ffp-contract=off",))
