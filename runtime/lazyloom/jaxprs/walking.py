"""Walking functions that JAX has traced (jaxprs), without importing JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..interrupts import reraise_from_handler

#: steps that call a function, with the parameter that holds its body
CALLS: Final = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}  # fmt: skip


def called(step: Any) -> tuple[Any, Sequence[Any]] | None:
    """Return the jaxpr that a step calls, with its constants; None if it is no call."""
    parameter = CALLS.get(step.primitive.name)
    if parameter is None or parameter not in step.params:
        return None
    body = step.params[parameter]
    return (body.jaxpr, body.consts) if hasattr(body, "consts") else (body, ())


def linear_solve(p: Any, xs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Return the function that solves the system of a custom_linear_solve, and its operands.

    It is one of the functions that JAX carries along for derivatives, each with its constants.
    """
    lengths = p["const_lengths"]
    start = lengths.matvec + lengths.vecmat
    return p["jaxprs"].solve, [*xs[start : start + lengths.solve], *xs[sum(lengths) :]]


def scan_counts(p: Any) -> tuple[int, int]:
    """Return how many operands of a scan with some parameters are constants, and how many carried.
    """
    parts = p.get("ft_in")
    if parts is None:
        return int(p["num_consts"]), int(p["num_carry"])
    # a tree of constants, carried values and rows, in jax 0.12
    constants, carried, _ = parts.unpack()
    return len(constants), len(carried)


def is_literal(atom: Any) -> bool:
    """Return True if an operand is a number in the step itself."""
    return hasattr(atom, "val")


def needed(jaxpr: Any) -> list[Any]:
    """Return the steps that results depend on, and those with effects, in order."""
    live = {v for v in jaxpr.outvars if not is_literal(v)}
    kept = []
    for step in reversed(jaxpr.eqns):
        if step.effects or any(v in live for v in step.outvars):
            kept.append(step)
            live.update(v for v in step.invars if not is_literal(v))
    return kept[::-1]


def positive(n: Any) -> bool:
    """Return True if an extent is known to be positive."""
    if isinstance(n, int):
        return n > 0
    try:
        return bool(n >= 1)
    except Exception as error:
        reraise_from_handler(error)
        return False  # it depends on the values of the symbols
