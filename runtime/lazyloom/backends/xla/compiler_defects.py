"""Rewrites of StableHLO statements that XLA miscompiles.

Every module passes through here on its way to the compiler, whatever the device: most of these
defects are in passes that XLA runs for all devices. Each guard names upstream's report and the
versions of jaxlib that need it; docs/compiler_defects.md lists them with all others, and
tests/runtime/test_compiler_defects.py runs each defect without its guard.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from .stablehlo_text import extents_of, numbers_in, with_extents

Version = tuple[int, ...]

#: Products of an integer with itself, absolute values and counters that wrap are assumed not to be
#: negative (https://github.com/tensorflow/tensorflow/issues/118178).
INTEGERS_WRAP: Final[Version] = (0, 11, 1)
#: The start of a slice of a slice is not clamped (https://github.com/openxla/xla/issues/49121).
STARTS_ARE_CLAMPED: Final[Version] = (0, 12, 0, 1)
#: A convolution reads beyond an operand if its padding cuts elements off
#: (https://github.com/openxla/xla/issues/48713).
PADDING_CUTS: Final[Version] = (0, 12, 0, 1)
#: A pad that cuts elements off is added to the padding of a window
#: (https://github.com/openxla/xla/issues/48715).
PADS_ADD_UP: Final[Version] = (0, 12, 0, 1)
#: Sums of complex numbers are reordered, (a + b) - b to a (no report is known).
COMPLEX_SUMS_KEEP_THEIR_ORDER: Final[Version] = (0, 12, 0, 1)
#: Fusions that YNNPACK runs give wrong values or end the process
#: (https://github.com/jax-ml/jax/issues/39103, 39257 and 40412).
YNNPACK_FUSES: Final[Version] = (0, 11, 1)
#: What YNNPACK may run before that version: single products and convolutions, which are correct
_ALONE: Final = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION"


def version_of(text: str) -> Version:
    """Return the numbers that a version begins with."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, match[0].split("."))) if match else ()


def ynnpack_fuses(jaxlib: str) -> bool:
    """Return True if this version of jaxlib may let YNNPACK run fusions, including reductions."""
    return version_of(jaxlib) >= YNNPACK_FUSES


def options(jaxlib: str) -> list[tuple[str, str]]:
    """Return XLA's options that avoid a defect of this version of jaxlib on a processor."""
    if ynnpack_fuses(jaxlib):
        return []
    return [("xla_cpu_experimental_ynn_fusion_type", _ALONE)]


_NAME: Final = r"%[\w$.#-]+"
_TENSOR: Final = r"tensor<[^ ]*>"
_SIGNED: Final = r"tensor<((?:\d+x)*)i(8|16|32|64)>"
_SET: Final = rf"( *)({_NAME}) = stablehlo\."
_MULTIPLY: Final = rf"{_SET}multiply ({_NAME}), ({_NAME}) : {_SIGNED}$"
#: a dot_general that contracts at most one element is an elementwise product
_DOT: Final = (
    rf"{_SET}dot_general ({_NAME}), ({_NAME}), (.*, precision = \S+ \S+|.*) : "
    rf"\({_SIGNED}, ({_SIGNED})\) -> {_SIGNED}$")
_CONTRACTED: Final = r"contracting_dims = \[([\d, ]*)\]"
#: a product over two stacked arrays is an elementwise product
_PRODUCT: Final = (
    rf"{_SET}reduce\(({_NAME}) init: ({_NAME})\) (applies stablehlo\.multiply across .*) : "
    rf"\({_SIGNED}, tensor<i\d+>\) -> {_SIGNED}$")
_ABS: Final = rf"{_SET}abs ({_NAME}) : ({_SIGNED})$"
_IOTA: Final = rf"{_SET}iota dim = (\d+) : tensor<((?:\d+x)+)i(8|16|32)>$"
_COMPARE: Final = (
    rf"{_SET}compare +(GE|LE), +({_NAME}), +({_NAME}), +FLOAT : (.*) -> ({_TENSOR})$")
_SLICE: Final = (
    rf"{_SET}dynamic_slice ({_NAME}), (.*), sizes = \[(.*)\] : \(({_TENSOR}), (tensor<\w+>).*$")
_CONVOLUTION: Final = (
    rf"{_SET}convolution\(({_NAME}), (.*) dim_numbers = \[(.*?)\]x(.*)"
    rf"pad = \[(.*?\])\](.*) : \(({_TENSOR}), (.*)$")

_PAD: Final = (
    rf"{_SET}pad ({_NAME}), ({_NAME}), low = \[(.*)\], high = \[(.*)\], interior = \[(.*)\] : "
    rf"\(({_TENSOR}), ({_TENSOR})\) -> ({_TENSOR})$")
_COMPLEX_SUM: Final = (
    rf"{_SET}(add|subtract) ({_NAME}), ({_NAME}) : tensor<((?:\d+x)*)complex<(f32|f64)>>$")


def _multiply(m: re.Match[str]) -> Iterator[str]:
    """Multiply as unsigned numbers, whose products have the same bits."""
    margin, name, x, y, dims, bits = m.groups()
    signed, unsigned = f"tensor<{dims}i{bits}>", f"tensor<{dims}ui{bits}>"
    a, b, product = _further(name, "xyp")
    yield f"{margin}{a} = stablehlo.bitcast_convert {x} : ({signed}) -> {unsigned}"
    yield f"{margin}{b} = stablehlo.bitcast_convert {y} : ({signed}) -> {unsigned}"
    yield f"{margin}{product} = stablehlo.multiply {a}, {b} : {unsigned}"
    yield f"{margin}{name} = stablehlo.bitcast_convert {product} : ({unsigned}) -> {signed}"


def _dot(m: re.Match[str]) -> Iterator[str]:
    """Multiply as unsigned numbers, if all have the same number of bits."""
    margin, name, x, y, axes, left, bits, right, _, other, dims, result = m.groups()
    contracted = re.search(_CONTRACTED, axes)
    extents = extents_of(f"tensor<{left}")
    summed = math.prod([extents[n] for n in numbers_in(contracted[1])]) if contracted else 1
    if not bits == other == result or summed != 1:
        yield m[0]
        return
    a, b, product = _further(name, "xyp")
    unsigned = [f"tensor<{left}ui{bits}>", right.replace("i" + bits, "ui" + bits),
                f"tensor<{dims}ui{bits}>"]
    yield f"{margin}{a} = stablehlo.bitcast_convert {x} : (tensor<{left}i{bits}>) -> {unsigned[0]}"
    yield f"{margin}{b} = stablehlo.bitcast_convert {y} : ({right}) -> {unsigned[1]}"
    yield (f"{margin}{product} = stablehlo.dot_general {a}, {b}, {axes} : "
           f"({unsigned[0]}, {unsigned[1]}) -> {unsigned[2]}")
    yield (f"{margin}{name} = stablehlo.bitcast_convert {product} : ({unsigned[2]}) -> "
           f"tensor<{dims}i{bits}>")


def _product(m: re.Match[str]) -> Iterator[str]:
    """Reduce as unsigned numbers, as in :func:`_multiply`."""
    margin, name, x, first, how, dims, bits, kept, _ = m.groups()
    a, b, product = _further(name, "xip")
    for each, operand, extents in ((a, x, dims), (b, first, "")):
        yield (f"{margin}{each} = stablehlo.bitcast_convert {operand} : (tensor<{extents}i{bits}>) "
               f"-> tensor<{extents}ui{bits}>")
    yield (f"{margin}{product} = stablehlo.reduce({a} init: {b}) {how} : "
           f"(tensor<{dims}ui{bits}>, tensor<ui{bits}>) -> tensor<{kept}ui{bits}>")
    yield (f"{margin}{name} = stablehlo.bitcast_convert {product} : (tensor<{kept}ui{bits}>) -> "
           f"tensor<{kept}i{bits}>")


def _abs(m: re.Match[str]) -> Iterator[str]:
    """Write abs(x) as the larger of x and -x, so that XLA assumes no sign."""
    margin, name, x, tensor = m.groups()[:4]
    (negated,) = _further(name, "n")
    yield f"{margin}{negated} = stablehlo.negate {x} : {tensor}"
    yield f"{margin}{name} = stablehlo.maximum {x}, {negated} : {tensor}"


def _iota(m: re.Match[str]) -> Iterator[str]:
    """Write a counter that wraps as one of unsigned numbers."""
    margin, name, axis, dims, bits = m.groups()
    if int(dims.split("x")[int(axis)]) <= 1 << (int(bits) - 1):
        yield m[0]
        return
    (count,) = _further(name, "c")
    unsigned = f"tensor<{dims}ui{bits}>"
    yield f"{margin}{count} = stablehlo.iota dim = {axis} : {unsigned}"
    yield (f"{margin}{name} = stablehlo.bitcast_convert {count} : ({unsigned}) -> "
           f"tensor<{dims}i{bits}>")


def _compare(m: re.Match[str]) -> Iterator[str]:
    """Write "greater or equal" as two comparisons, which LLVM merges again."""
    margin, name, direction, x, y, operands, tensor = m.groups()
    beyond, equal = _further(name, "be")
    for each, sign in ((beyond, direction.replace("E", "T")), (equal, "EQ")):
        yield f"{margin}{each} = stablehlo.compare {sign}, {x}, {y}, FLOAT : {operands} -> {tensor}"
    yield f"{margin}{name} = stablehlo.or {beyond}, {equal} : {tensor}"


def _slice(m: re.Match[str]) -> Iterator[str]:
    """Clamp the starts before the slice."""
    margin, name, x, starts, sizes, tensor, index = m.groups()
    clamped = []
    (lowest,) = _further(name, "l")
    yield f"{margin}{lowest} = stablehlo.constant dense<0> : {index}"
    for axis, (start, size, extent) in enumerate(zip(
        starts.split(", "), numbers_in(sizes), extents_of(tensor), strict=True)):
        highest, start_inside = _further(f"{name}_{axis}", "hs")
        yield f"{margin}{highest} = stablehlo.constant dense<{extent - size}> : {index}"
        yield f"{margin}{start_inside} = stablehlo.clamp {lowest}, {start}, {highest} : {index}"
        clamped.append(start_inside)
    head, _, tail = m[0].partition(f"{x}, {starts}")
    yield f"{head}{x}, {', '.join(clamped)}{tail}"


def _pad(m: re.Match[str]) -> Iterator[str]:
    """Cut elements off after an interior pad; XLA does so for other pads."""
    margin, name, x, value = m.groups()[:4]
    low, high, interior = (numbers_in(m[k]) for k in (5, 6, 7))
    if min(low + high, default=0) >= 0 or not any(interior):
        yield m[0]
        return
    (whole,) = _further(name, "w")
    extents = [max(n + (n - 1) * k, 0) + max(a, 0) + max(b, 0)
               for n, k, a, b in zip(extents_of(m[8]), interior, low, high, strict=True)]
    padded = with_extents(m[8], extents)
    above = [[max(n, 0) for n in pads] for pads in (low, high)]
    positions = ", ".join(f"{max(-a, 0)}:{n - max(-b, 0)}"
                          for n, a, b in zip(extents, low, high, strict=True))
    yield (f"{margin}{whole} = stablehlo.pad {x}, {value}, low = {above[0]}, high = {above[1]}, "
           f"interior = {interior} : ({m[8]}, {m[9]}) -> {padded}")
    yield f"{margin}{name} = stablehlo.slice {whole} [{positions}] : ({padded}) -> {m[10]}"


def _convolution(m: re.Match[str]) -> Iterator[str]:
    """Slice off before the convolution what negative padding cuts off."""
    margin, name, x, rest, axes, numbers, padding, window, tensor, end = m.groups()
    pairs = [numbers_in(pair) for pair in padding.split("], [")]
    dilated = re.search(r"lhs_dilate = \[(.*?)\]", window)
    apart = [int(n) for n in dilated[1].split(",")] if dilated else [1] * len(pairs)
    places = axes.split(", ")
    extents = extents_of(tensor)
    taken = [(0, extent) for extent in extents]
    for number, (low, high) in enumerate(pairs):
        axis = places.index(str(number))
        # a dilated operand takes another path in XLA, which is correct
        if apart[number] == 1 and min(low, high) < 0:
            first = min(max(-low, 0), extents[axis])
            last = max(extents[axis] - max(-high, 0), first)
            taken[axis] = first, last
            # a cut beyond the other end remains as padding there
            pairs[number] = [low + first, high + extents[axis] - last]
    if taken == [(0, extent) for extent in extents]:
        yield m[0]
        return
    (part,) = _further(name, "p")
    cut = with_extents(tensor, [b - a for a, b in taken])
    positions = ", ".join(f"{a}:{b}" for a, b in taken)
    yield f"{margin}{part} = stablehlo.slice {x} [{positions}] : ({tensor}) -> {cut}"
    padded = "], [".join(f"{low}, {high}" for low, high in pairs)
    yield (f"{margin}{name} = stablehlo.convolution({part}, {rest} dim_numbers = [{axes}]x{numbers}"
           f"pad = [[{padded}]]{window} : ({cut}, {end}")


def _complex_sum(m: re.Match[str]) -> Iterator[str]:
    """Add the real and imaginary parts separately."""
    margin, name, step, x, y, dims, element = m.groups()
    whole, part = f"tensor<{dims}complex<{element}>>", f"tensor<{dims}{element}>"
    parts = []
    for each, (a, b, total) in (("real", _further(name, "abr")), ("imag", _further(name, "cdi"))):
        yield f"{margin}{a} = stablehlo.{each} {x} : ({whole}) -> {part}"
        yield f"{margin}{b} = stablehlo.{each} {y} : ({whole}) -> {part}"
        yield f"{margin}{total} = stablehlo.{step} {a}, {b} : {part}"
        parts.append(total)
    yield f"{margin}{name} = stablehlo.complex {', '.join(parts)} : {whole}"


def _further(name: str, letters: str) -> list[str]:
    """Return names for the additional values of a statement."""
    return [f"%guard{name[1:]}_{letter}" for letter in letters]


_Written = Callable[[re.Match[str]], Iterator[str]]
#: for each statement, its pattern, which is compiled when a program is, the function that rewrites
#: it, and the first version of jaxlib that does not need this; () means that all need it
_GUARDS: Final[Mapping[str, tuple[str, _Written, Version]]] = {
    "multiply": (_MULTIPLY, _multiply, INTEGERS_WRAP),
    "dot_general": (_DOT, _dot, INTEGERS_WRAP),
    "reduce": (_PRODUCT, _product, INTEGERS_WRAP),
    "abs": (_ABS, _abs, INTEGERS_WRAP),
    "iota": (_IOTA, _iota, INTEGERS_WRAP),
    # comparing a NaN with a value that is never less than 0; no report is known, it came with
    # https://github.com/openxla/xla/pull/17580
    "compare": (_COMPARE, _compare, ()),
    "dynamic_slice": (_SLICE, _slice, STARTS_ARE_CLAMPED),
    "pad": (_PAD, _pad, PADS_ADD_UP),
    "convolution": (_CONVOLUTION, _convolution, PADDING_CUTS),
    "add": (_COMPLEX_SUM, _complex_sum, COMPLEX_SUMS_KEEP_THEIR_ORDER),
    "subtract": (_COMPLEX_SUM, _complex_sum, COMPLEX_SUMS_KEEP_THEIR_ORDER),
}
_STATEMENT: Final = re.compile(r"^ *%\S+ = stablehlo\.(\w+)")


@functools.lru_cache(maxsize=8)
def _guards(jaxlib: str) -> Mapping[str, tuple[re.Pattern[str], _Written]]:
    version = version_of(jaxlib)
    return {name: (re.compile(pattern), written)
            for name, (pattern, written, until) in _GUARDS.items()
            if not until or version < until}


def guarded(text: str, jaxlib: str) -> str:
    """Return the StableHLO module without statements that this version of jaxlib miscompiles.

    The regions of reductions, scatters and sorts stay as they are, since XLA recognizes them by
    their form; so do slices in the main function, which belong to loops and lie within bounds.
    """
    guards = _guards(jaxlib)
    lines: list[str] = []
    region = main = False
    for line in text.split("\n"):
        statement = _STATEMENT.match(line)
        name = statement[1] if statement is not None and not region else ""
        guard = guards.get(name) if not main or name != "dynamic_slice" else None
        m = guard[0].match(line) if guard is not None else None
        if guard is None or m is None:
            lines.append(line)
            if line.startswith("  func.func"):
                main = " @main(" in line
            elif "^bb0(" in line:
                region = True
            elif "stablehlo.return" in line:
                region = False
            continue
        lines.extend(guard[1](m))
    return "\n".join(lines)
