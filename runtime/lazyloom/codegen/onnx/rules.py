"""The table of ops in ONNX: for each of them what it can say, and how.

A rule says whether it supports a call, or why not, and adds the nodes that compute it to a graph.
There are two who ask. An exported model may have what the operators of ONNX define to be the op;
dtypes that an operator lacks, or that the usual runtimes lack, are computed in a wider one. A
region of a program is claimed for ONNX Runtime only where that computes what the op's definition
does: what is claimed is compared with XLA on all samples of its op, including NaN and infinities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ...dtypes import dtype_named
from ...types import TensorType, tensor_type
from ..answers import YES, Answer, Call, No
from .graph import DTYPES, OnnxGraph

#: from names of the operands ("" for one that is absent) to names of the results
Emit = Callable[[OnnxGraph, Call, Sequence[str]], "str | list[str]"]
Check = Callable[[Call], Answer]
#: from a call to the calls of its bodies, each with the name of the body
Inner = Callable[[Call], Sequence[tuple[str, Call]]]

FLOAT32: Final = ("float32",)
FLOATS: Final = ("float16", "float32", "float64")
WIDE_FLOATS: Final = ("float32", "float64")
NUMBERS: Final = (*FLOATS, "int32", "int64", "uint64")
ANY: Final = tuple(DTYPES)
#: what moves data is claimed in these
MOVED: Final = ("float32", "uint8", "int8", "int32", "int64", "bool")
#: the dtype that one without an operator is computed in
_WIDER: Final = {
    "float16": "float32", "bfloat16": "float32", "int8": "int32", "uint8": "int32",
    "int16": "int32", "uint16": "int32", "int32": "int64", "uint32": "int64",
}  # fmt: skip


def always(call: Call) -> Answer:
    """Return YES."""
    return YES


def is_bool(call: Call) -> bool:
    """Return True if the first operand is of bool."""
    return operand(call, 0).dtype.kind == "b"


def no_bodies(call: Call) -> Sequence[tuple[str, Call]]:
    """Return nothing, as most ops have no bodies."""
    return ()


class Rule(NamedTuple):
    """How an op is done.

    Attributes:
        emit: adds its nodes.
        dtypes: those of operands and results that its nodes are written for; others are computed
            in the next wider one of these.
        check: called for a call whose dtypes fit.
        since: the version of the operators that it needs.
        claimed: the dtypes of operands and results in which a region takes it.
        claim: called, for a region, after ``check``.
        inner: gives the calls of its bodies.
    """

    emit: Emit
    dtypes: tuple[str, ...] = FLOATS
    check: Check = always
    since: int = 17
    claimed: tuple[str, ...] = ()
    claim: Check = always
    inner: Inner = no_bodies


RULES: Final[dict[str, Rule]] = {}


def rule(
    *ops: str, dtypes: tuple[str, ...] = FLOATS, check: Check = always, since: int = 17,
    claimed: tuple[str, ...] = (), claim: Check = always, inner: Inner = no_bodies,
) -> Callable[[Emit], Emit]:  # fmt: skip
    """Enter a function as the rule of ops."""
    def enter(function: Emit) -> Emit:
        for op in ops:
            RULES[op] = Rule(function, dtypes, check, since, claimed, claim, inner)
        return function

    return enter


def operand(call: Call, k: int) -> TensorType:
    """Return the type of an operand that is there."""
    t = call.operands[k]
    assert t is not None
    return t


def given(x: Sequence[str], k: int) -> str:
    """Return the name of an operand that may be absent, "" if it is."""
    return x[k] if k < len(x) else ""


def one(op: str, **attributes: Any) -> Emit:
    """Return a rule of one node with fixed attributes."""
    return lambda g, call, x: g.add(op, *x, **attributes)


def claims(call: Call) -> Answer:
    """Return YES if ONNX Runtime computes a call as it is defined, or why it is not claimed."""
    known = RULES.get(call.op)
    if known is None or not known.claimed:
        if ".vjp" in call.op or ".jvp" in call.op:
            return No("a derivative, and its regions are of inference")
        return No(f"{call.op} is not in its table")
    for t in (*call.operands, *call.results):
        if t is not None and t.dtype.name not in known.claimed:
            return No(f"dtype {t.dtype.name}, expected {' or '.join(known.claimed)}")
    return known.check(call) and known.claim(call)


def wider(name: str, dtypes: Sequence[str]) -> str | None:
    """Return the dtype that one is computed in by a rule of dtypes; None if there is none."""
    found: str | None = name
    while found is not None and found not in dtypes:
        found = _WIDER.get(found)
    return found


def exports(call: Call, opset: int) -> Answer:
    """Return YES if ONNX has a call, or why not."""
    known = RULES.get(call.op)
    if known is None:
        if ".vjp" in call.op or ".jvp" in call.op:
            return No("a derivative, for which there is no mapping to ONNX")
        return No("there is no mapping to ONNX")
    if opset < known.since:
        return No(f"opset {opset}, expected {known.since} or later")
    for t in (*call.operands, *call.results):
        if t is not None and wider(t.dtype.name, known.dtypes) is None:
            return No(f"dtype {t.dtype.name}, expected {', '.join(known.dtypes)}")
    for name, inner in known.inner(call):
        answer = exports(inner, opset)
        if isinstance(answer, No):
            return No(f"its {name} has {inner.op}: {answer.reason}")
    return known.check(_widened(call, known.dtypes))


def _wider_type(t: TensorType, dtypes: Sequence[str]) -> TensorType:
    name = wider(t.dtype.name, dtypes)
    assert name is not None, t
    return t if name == t.dtype.name else tensor_type(t.shape, dtype_named(name))


def _widened(call: Call, dtypes: Sequence[str]) -> Call:
    return Call(
        call.op, call.attributes,
        [None if t is None else _wider_type(t, dtypes) for t in call.operands],
        [_wider_type(t, dtypes) for t in call.results], call.values)


def emit(g: OnnxGraph, call: Call, operands: Sequence[str]) -> list[str]:
    """Add the nodes of a supported call; return the names of its results."""
    known = RULES[call.op]
    wide = _widened(call, known.dtypes)
    operands = [*operands, *[""] * (len(call.operands) - len(operands))]
    cast = [name if not name or t is None or w is None or w.dtype is t.dtype
            else g.cast(name, w.dtype)
            for name, t, w in zip(operands, call.operands, wide.operands, strict=True)]
    found = known.emit(g, wide, cast)
    names = [found] if isinstance(found, str) else found
    return [name if w.dtype is t.dtype else g.cast(name, t.dtype)
            for name, t, w in zip(names, call.results, wide.results, strict=True)]
