"""Descriptions that leave through the C ABI as text: ops, counters, programs."""

from __future__ import annotations

import json
import math
from typing import Any

import lazyloom
from lazyloom.errors import ArgumentError


def op_description(op: Any) -> dict[str, Any]:
    """An entry of the op table as plain data."""
    classes = lazyloom.dtypes.CLASSES_SORTED
    differentiable = op.derivative.differentiable
    return {
        "name": op.name,
        "doc": op.doc,
        "source": op.source,
        "family": op.family,
        "reference": op.reference,
        "operands": [
            {
                "name": o.name,
                "class": o.classes,
                "dtypes": [d.name for d in classes[op.T if o.classes == "T" else o.classes]],
                "optional": o.optional,
                "variadic": o.variadic,
            }
            for o in op.operands
        ],
        "attributes": [
            {
                "name": a.name,
                "kind": a.kind,
                "nullable": a.nullable,
                "required": a.required,
                "default": _plain(a.default),
            }
            for a in op.attributes
        ],
        "outputs": list(op.signature.outputs),
        "lists": op.signature.lists,
        "differentiable":
            differentiable if isinstance(differentiable, bool) else list(differentiable),
        "fallible": op.execution.fallible,
        "effect": op.execution.effect,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such numbers
        return repr(value)
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, lazyloom.dtypes.DType):
        return value.name
    return value


def op_json(op: Any) -> str:
    """An entry of the op table as a JSON object."""
    return json.dumps(op_description(op), ensure_ascii=False)


#: the counters at the last reset
_before: dict[str, int] = {}


def counters() -> dict[str, int]:
    """All counters, since the last reset."""
    return {k: v - _before.get(k, 0) for k, v in lazyloom.stats().items()}


def reset() -> None:
    """Count from 0 again; Python's own counts go on."""
    _before.update(lazyloom.stats())


def stats_json() -> str:
    """All counters as a JSON object."""
    return json.dumps(counters())


def stat(name: str) -> int:
    """One counter; raises ArgumentError for a name that is none."""
    known = counters()
    found = known.get(name)
    if found is None:
        raise ArgumentError(
            f"loom_stat: {name!r} is no counter, expected one of {', '.join(sorted(known))}")
    return found


def op_count(program: Any) -> int:
    """The number of ops in a program."""
    ops = program.ops
    return ops if isinstance(ops, int) else len(ops)


def last_evaluation() -> str:
    """The record of the newest evaluation; "" before the first."""
    evaluation = lazyloom.last_evaluation()
    return "" if evaluation is None else evaluation.text()
