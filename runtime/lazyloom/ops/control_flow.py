"""Loops and branches whose bodies are recorded functions (:mod:`lazyloom.ops.bodies`).

``lazyloom.scan``, ``lazyloom.while_loop`` and ``lazyloom.cond`` record them, with the functions
that they receive as bodies. Values that a body uses from outside are operands, after those that the
loop passes to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import CLASSES_SORTED, bool_, float64
from ..errors import ArgumentError
from ..types import TensorType, tensor_type
from ._jax import jax, lax
from .bodies import (
    Body,
    BodyConstant,
    BodyInput,
    BodyInstruction,
    BodyResult,
    Use,
    body_text,
    parsed,
)
from .kinds import AnyType, Array, Bool
from .samples import Sample, data, random_source
from .spec import OpDef, lookup, op
from .traits import HEAVY, Derivative, Signature


def _leaves_fit(
    entry: OpDef, name: str, body: Body, types: Sequence[TensorType | None]
) -> None:
    if list(types) != list(body.leaves):
        raise ArgumentError(
            f"{entry.name}: operands of types {_texts(types)} are given to attribute {name!r}, "
            f"which was recorded for {_texts(body.leaves)}; call lazyloom.{entry.name}, which "
            "records it", op=entry.name)


def _results_fit(
    entry: OpDef, name: str, types: Sequence[TensorType], expected: Sequence[TensorType]
) -> None:
    if list(types) != list(expected):
        raise ArgumentError(
            f"{entry.name}: attribute {name!r} gives {_texts(types)}, expected "
            f"{_texts(expected)}", op=entry.name)


def _texts(types: Sequence[TensorType | None]) -> str:
    return ", ".join("None" if t is None else t.text for t in types) or "nothing"


def _counts(entry: OpDef, attrs: Mapping[str, Any], *names: str) -> None:
    for name in names:
        count = attrs[name]
        if count is not None and count < 0:
            raise ArgumentError(
                f"{entry.name}: attribute {name!r} is {count}, expected 0 or more", op=entry.name)


def _nonempty(entry: OpDef, types: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
    if not types:
        raise ArgumentError(f"{entry.name}: it has no results, expected at least one",
                            op=entry.name)
    return types


def _given_back(results: Sequence[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


# scan


def _scanned(
    entry: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The carry after the last step, then the results of the steps, stacked."""
    _counts(entry, attrs, "carry", "xs", "length")
    carry, rows, length = attrs["carry"], attrs["xs"], attrs["length"]
    body = parsed(entry, attrs["body"])
    element_types: list[TensorType] = list(types)
    for p in range(carry, min(carry + rows, len(types))):
        t = types[p]
        if t.shape[:1] != (length,):
            raise ArgumentError(
                f"{entry.name}: operand {p} is a {t.text}, expected {length} elements along its "
                "first axis, one for each step", op=entry.name)
        element_types[p] = t.like(t.shape[1:], t.dtype)
    _leaves_fit(entry, "body", body, element_types)
    _results_fit(entry, "body", body.result_types[:carry], element_types[:carry])
    return _nonempty(entry, (*types[:carry], *(
        tensor_type((length, *t.shape), t.dtype) for t in body.result_types[carry:])))


_scanned.family = "control_flow"  # type: ignore[attr-defined]


def _scan_irreversible(attrs: Mapping[str, Any], moving: Sequence[int] | None) -> str:
    body = parsed(lookup("scan"), attrs["body"])
    # a carry that one step has moved moves in the next
    return body.refuses_reverse(
        None if moving is None else {*moving, *range(attrs["carry"])})


def _scan_samples(entry: OpDef) -> Iterator[Sample]:
    """A sum and a product that continue from step to step, for each dtype."""
    rng = random_source(entry.name)
    for d in CLASSES_SORTED["any"]:
        t = tensor_type((2,), d)
        add, multiply = (lookup(n) for n in (
            ("logical_or", "logical_and") if d is bool_ else ("add", "multiply")))
        body = body_text([t, t, t], [
            BodyInstruction(multiply, {}, (Use(BodyInput(1)), Use(BodyInput(2)))),
            BodyInstruction(add, {}, (Use(BodyInput(0)), Use(BodyResult(0, 0)))),
        ], [Use(BodyResult(1, 0)), Use(BodyResult(0, 0))])  # fmt: skip
        operands = [data(rng, d, (2,)), data(rng, d, (3, 2)), data(rng, d, (2,))]
        attributes = {"body": body, "carry": 1, "xs": 1, "length": 3}
        yield Sample(operands, attributes, d.name, smooth=d.is_inexact)
        if d is float64:
            yield Sample(operands, {**attributes, "reverse": True, "unroll": 2}, "reverse")
            yield Sample([operands[0], np.zeros((0, 2)), operands[2]],
                         {**attributes, "length": 0}, "no step")
            t = tensor_type((), d)
            sine = body_text([t], [
                BodyInstruction(lookup("sin"), {}, (Use(BodyInput(0)),)),
            ], [Use(BodyResult(0, 0))])  # fmt: skip
            yield Sample([data(rng, d, ())],
                         {"body": sine, "carry": 1, "xs": 0, "length": 2}, "0-d, no rows")


@op(_scanned, source="jax.lax.scan", execution=HEAVY,
    derivative=Derivative(residuals=True, irreversible=_scan_irreversible),
    signature=Signature(lists=True, bodies=("body",),
                        output_notes={"result": "the carry, then what the steps give"}),
    samples=_scan_samples, tolerance=4.0)
def scan(
    *operands: AnyType, body: str, carry: int, xs: int, length: int, reverse: bool = False,
    unroll: int = 1,
) -> tuple[Array, ...] | Array:  # fmt: skip
    """``length`` steps of a recorded function, each going on from what the last one gave.

    The operands are the ``carry`` values to start from, the ``xs`` values of which each step gets
    one element of the first axis, and what is the same for every step. ``body`` takes them in
    this order and gives the carry for the next step and what the step gives besides. Returns the
    carry after the last step, and what the steps give, stacked along a new first axis.
    ``reverse`` goes from the last element to the first; ``unroll`` steps are one of XLA's loop.
    Recorded by ``lazyloom.scan``. Raises ArgumentError for a body that does not fit.
    """
    step = parsed(lookup("scan"), body)
    rest = operands[carry + xs :]

    def stepped(state: Any, row: Any) -> Any:
        results = step([*state, *row, *rest])
        return tuple(results[:carry]), tuple(results[carry:])

    last, stacked = lax.scan(
        stepped, tuple(operands[:carry]), tuple(operands[carry : carry + xs]), length=length,
        reverse=reverse, unroll=unroll)
    return _given_back([*last, *stacked])


# while_loop


def _looped(
    entry: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The types of the carry."""
    _counts(entry, attrs, "carry", "max_steps")
    carry = attrs["carry"]
    for name in ("condition", "body"):
        body = parsed(entry, attrs[name])
        _leaves_fit(entry, name, body, types)
        _results_fit(entry, name, body.result_types, types[:carry] if name == "body" else [
            tensor_type((), bool_)])
    return _nonempty(entry, tuple(types[:carry]))


_looped.family = "control_flow"  # type: ignore[attr-defined]


def _while_irreversible(attrs: Mapping[str, Any], moving: Sequence[int] | None) -> str:
    if attrs["max_steps"] is None:
        return ("how many steps a while_loop takes is not known before it runs, so there is no "
                "bound on what reverse mode would have to keep; give max_steps, use "
                "lazyloom.scan, or differentiate in forward mode (lazyloom.jvp, lazyloom.jacfwd)")
    body = parsed(lookup("while_loop"), attrs["body"])
    return body.refuses_reverse(
        None if moving is None else {*moving, *range(attrs["carry"])})


def _while_samples(entry: OpDef) -> Iterator[Sample]:
    """Counting down to 1, with a product in each step."""
    rng = random_source(entry.name)
    for d in (*CLASSES_SORTED["floating"], *CLASSES_SORTED["integer"][:1]):
        t, flag = tensor_type((), d), tensor_type((2,), d)
        condition = body_text([t, flag, flag], [
            BodyInstruction(lookup("greater"), {}, (Use(BodyInput(0)), Use(BodyConstant(1, d)))),
        ], [Use(BodyResult(0, 0))])  # fmt: skip
        body = body_text([t, flag, flag], [
            BodyInstruction(lookup("subtract"), {}, (Use(BodyInput(0)), Use(BodyConstant(1, d)))),
            BodyInstruction(lookup("multiply"), {}, (Use(BodyInput(1)), Use(BodyInput(2)))),
        ], [Use(BodyResult(0, 0)), Use(BodyResult(1, 0))])  # fmt: skip
        for steps in (5, 2) if d is float64 else (5,):
            yield Sample(
                [np.asarray(3.5).astype(d.numpy), data(rng, d, (2,)), data(rng, d, (2,))],
                {"condition": condition, "body": body, "carry": 2, "max_steps": steps},
                f"{d.name} {steps}", smooth=d.is_inexact)
    counted = {*CLASSES_SORTED["floating"], *CLASSES_SORTED["integer"][:1]}
    for d in CLASSES_SORTED["any"]:
        if d in counted:
            continue
        # another value of the carry counts
        t, number = tensor_type((2,), d), tensor_type((), float64)
        condition = body_text([t, number, t], [
            BodyInstruction(lookup("greater"), {}, (Use(BodyInput(1)), Use(BodyConstant(1,
                float64)))),
        ], [Use(BodyResult(0, 0))])  # fmt: skip
        body = body_text([t, number, t], [
            BodyInstruction(lookup("logical_and" if d is bool_ else "multiply"), {},
                        (Use(BodyInput(0)), Use(BodyInput(2)))),
            BodyInstruction(lookup("subtract"), {}, (Use(BodyInput(1)), Use(BodyConstant(1,
                float64)))),
        ], [Use(BodyResult(0, 0)), Use(BodyResult(1, 0))])  # fmt: skip
        yield Sample(
            [data(rng, d, (2,)), np.asarray(3.5), data(rng, d, (2,))],
            {"condition": condition, "body": body, "carry": 2, "max_steps": 5},
            f"{d.name} counted", smooth=False)


@op(_looped, source="jax.lax.while_loop", execution=HEAVY,
    derivative=Derivative(residuals=True, irreversible=_while_irreversible),
    signature=Signature(lists=True, bodies=("condition", "body"),
                        output_notes={"result": "the carry"}), samples=_while_samples,
    tolerance=4.0)
def while_loop(
    *operands: AnyType, condition: str, body: str, carry: int, max_steps: int | None = None
) -> tuple[Array, ...] | Array:
    """A recorded function again and again, while another one is true of what it gives.

    The operands are the ``carry`` values to start from, and what is the same for every step.
    ``condition`` takes them in this order and gives a bool[], ``body`` gives the carry for the
    next step. Returns the carry for which the condition is false, or that after ``max_steps``
    steps. Only with ``max_steps`` can cotangents be pulled back through it; the derivative then
    takes that many steps' time and memory. Recorded by ``lazyloom.while_loop``. Raises
    ArgumentError for functions that do not fit.
    """
    goes_on = parsed(lookup("while_loop"), condition)
    step = parsed(lookup("while_loop"), body)

    def holds(state: Any, rest: Any) -> Any:
        return goes_on([*state, *rest])[0]

    def stepped(state: Any, rest: Any) -> Any:
        return tuple(step([*state, *rest]))

    start, rest = tuple(operands[:carry]), tuple(operands[carry:])
    if max_steps is None:
        last = lax.while_loop(lambda s: holds(s, rest), lambda s: stepped(s, rest), start)
    else:
        last = _bounded(holds, stepped, max_steps)(start, rest)
    return _given_back(last)


def _bounded(holds: Any, stepped: Any, most: int) -> Any:
    """A loop of at most ``most`` steps; its derivative is that of ``most`` conditional steps."""

    def short(state: Any, rest: Any) -> Any:
        def again(counted: Any) -> Any:
            return lax.bitwise_and(lax.lt(counted[0], most), holds(counted[1], rest))

        def step(counted: Any) -> Any:
            return lax.add(counted[0], lax.full_like(counted[0], 1)), stepped(counted[1], rest)

        zero = lax.full((), 0, np.dtype(np.int64))
        return lax.while_loop(again, step, (zero, state))[1]

    def full(state: Any, rest: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            running, state = carry
            running = lax.bitwise_and(running, holds(state, rest))
            return (running, lax.cond(running, lambda s: stepped(s, rest), lambda s: s, state)), ()

        return lax.scan(step, (lax.full((), True), state), None, length=most)[0][1]

    loop = jax.custom_jvp(short)
    loop.defjvp(lambda primals, tangents: jax.jvp(full, primals, tangents))
    return loop


# cond


def _chosen(
    entry: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The types of the results of both branches."""
    if types[0].shape != ():
        raise ArgumentError(
            f"{entry.name}: operand 'which' is a {types[0].text}, expected bool[]", op=entry.name)
    result_types: list[tuple[TensorType, ...]] = []
    for name in ("if_true", "if_false"):
        body = parsed(entry, attrs[name])
        _leaves_fit(entry, name, body, types[1:])
        result_types.append(body.result_types)
    _results_fit(entry, "if_false", result_types[1], result_types[0])
    return _nonempty(entry, result_types[0])


_chosen.family = "control_flow"  # type: ignore[attr-defined]


def _cond_irreversible(attrs: Mapping[str, Any], moving: Sequence[int] | None) -> str:
    for name in ("if_true", "if_false"):
        why = parsed(lookup("cond"), attrs[name]).refuses_reverse(
            None if moving is None else [p - 1 for p in moving if p])
        if why:
            return why
    return ""


def _cond_samples(entry: OpDef) -> Iterator[Sample]:
    """A product, or a square and a sum."""
    rng = random_source(entry.name)
    for d in CLASSES_SORTED["number"]:
        t = tensor_type((2,), d)
        product = BodyInstruction(lookup("multiply"), {}, (Use(BodyInput(0)), Use(BodyInput(1))))
        square = BodyInstruction(lookup("multiply"), {}, (Use(BodyInput(0)), Use(BodyInput(0))))
        total = BodyInstruction(lookup("add"), {}, (Use(BodyResult(0, 0)), Use(BodyInput(1))))
        branches = [
            body_text([t, t], [product], [Use(BodyResult(0, 0)), Use(BodyInput(0))]),
            body_text([t, t], [square, total], [Use(BodyResult(1, 0)), Use(BodyInput(0))])]
        for which in (True, False):
            yield Sample(
                [np.asarray(which), data(rng, d, (2,)), data(rng, d, (2,))],
                {"if_true": branches[0], "if_false": branches[1]}, f"{d.name} {which}",
                smooth=d.is_inexact)


@op(_chosen, source="jax.lax.cond", execution=HEAVY,
    derivative=Derivative(residuals=True, irreversible=_cond_irreversible),
    signature=Signature(lists=True, bodies=("if_true", "if_false"),
                        output_notes={"result": "what the branch gives"}), samples=_cond_samples)
def cond(
    which: Bool, *operands: AnyType, if_true: str, if_false: str
) -> tuple[Array, ...] | Array:
    """One of two recorded functions of the same operands; the other one does not run.

    ``if_true`` where ``which``, a bool[], is, else ``if_false``. Mapped over an axis of ``which``,
    both run and each element takes its own. Recorded by ``lazyloom.cond``. Raises ArgumentError
    for functions that do not fit.
    """
    branches = [parsed(lookup("cond"), text) for text in (if_true, if_false)]
    return _given_back(lax.cond(
        which, lambda xs: tuple(branches[0](xs)), lambda xs: tuple(branches[1](xs)),
        operands))
