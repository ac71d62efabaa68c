"""One op as a function of NumPy arrays.

The op's JAX function is traced (:mod:`.find`), and each of its steps becomes a line of Python that
calls NumPy. So nothing is compiled, and a small op costs what NumPy takes. Ops with a step that has
no exact counterpart in NumPy have no kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jaxprs.walking import called, is_literal, needed
from .blocks import blocked, used_once
from .counting import counts, positions, write_count, write_positions
from .loading import ANY_SIZE
from .patterns import functions_of_slices, sums_of_pads, transposed_products
from .primitives.elementwise import call
from .primitives.entry import ELEMENTWISE, KEYS, Primitive
from .primitives.functions import function_in, shared
from .primitives.shapes import assembled
from .primitives.table import PRIMITIVES
from .writer import (
    Expr,
    FreshNames,
    Unsupported,
    Writer,
    dtype_of,
    extents,
    is_narrow,
    name_of,
    powers,
    released,
)


def kernel_text(
    closed: Any, symbols: Sequence[str] | None = None, conditions: Sequence[str] = ()
) -> str:
    """The Python text of a traced function (a ClosedJaxpr): ``kernel(*operands)``, a tuple.

    ``shared`` says of each result whether its memory may be an operand's or a constant's. With
    ``symbols`` the kernel is what ``of(*symbols)`` returns, or None where the text is not right for
    these; ``conditions`` have to hold of them. Raises Unsupported.
    """
    names = FreshNames()
    names.symbolic = symbols is not None
    names.conditions += conditions
    w = _Writer(names)
    operands = [_operand(w, f"a{k}", v.aval) for k, v in enumerate(closed.jaxpr.invars)]
    results = [
        _result(w, w.full(r), v.aval) for r, v in
        zip(w.body(closed.jaxpr, closed.consts, operands), closed.jaxpr.outvars, strict=True)]
    arguments = ", ".join(f"a{k}" for k in range(len(operands)))
    kept = {r.text for r in results}
    returned = ", ".join(r.text for r in results)
    lines = released(blocked(w.lines, names.made, kept, w.indent, names.fresh), names.large, kept)
    once = [k for k in used_once(lines, [x.text for x in operands])
            if operands[k].text not in kept]
    head = [*names.constants, f"shared = {shared(results)!r}"]
    body = [
        f"def kernel({arguments}):",
        *lines,
        f"    return {returned}" if len(results) == 1 else f"    return ({returned})",
        *([f"kernel.over = {tuple(once)!r}"] if any("in_blocks(" in x for x in lines) else []),
    ]  # fmt: skip
    if symbols is None:
        return "\n".join([*head, *body]) + "\n"
    text = "\n".join([*names.conditions, *body])
    checks = "".join(
        f"    if not {condition}:\n        return None\n" for condition in names.conditions)
    if not any(re.search(rf"\b{s}\b", text) for s in symbols):
        # one for all
        head += body
        body = []
    if names.parts < 2:
        head.insert(0, ANY_SIZE)
    inner = "\n    ".join([*body, "return kernel"])
    made = powers(f"def of({', '.join(symbols)}):\n{checks}    {inner}\n")
    return "\n".join([*head, made])


def _operand(w: Writer, name: str, aval: Any) -> Expr:
    shape = extents(aval.shape)
    if is_narrow(aval):
        return w.let(f"{name}.astype(d_float32)", shape, np.dtype(np.float32))
    return Expr(name, shape, shape, dtype_of(aval), True)


def _result(w: Writer, value: Expr, aval: Any) -> Expr:
    if is_narrow(aval):
        return w.let(f"{value.text}.astype(d_{aval.dtype})", value.shape, value.dtype)
    return value


class _Writer(Writer):
    __slots__ = ()

    def body(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Expr]) -> list[Expr]:
        values: dict[Any, Expr] = {}
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            values[var] = self.array(const)
        values.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> Expr:
            if is_literal(atom):
                return self.literal(atom.val, dtype_of(atom.aval), tuple(atom.aval.shape))
            return values[atom]

        steps = list(needed(jaxpr))
        sums = sums_of_pads(steps, jaxpr.outvars)
        slices = functions_of_slices(steps)
        swapped = transposed_products(steps, jaxpr.outvars)
        placed, counted = positions(steps, jaxpr.outvars), counts(steps, jaxpr.outvars)
        # called more than once with the same types: a function of its own, written once
        often = Counter(
            id(c[0]) for c in map(called, steps) if c is not None and len(c[0].eqns) > 2)
        functions: dict[int, tuple[str, list[bool]]] = {}
        for step in steps:
            parts, cut = sums.get(id(step)), slices.get(id(step))
            if id(step) in placed:
                written = placed[id(step)]
                if written is None:
                    continue
                results: Sequence[Expr] = [write_positions(self, *map(read, written))]
            elif id(step) in counted:
                if counted[id(step)] is None:
                    continue
                results = [write_count(self, read(counted[id(step)]), step.outvars[0])]
            elif id(step) in swapped:
                product = swapped[id(step)]
                if product is None:
                    continue
                (left, right), (batch_left, batch_right) = product.params["dimension_numbers"]
                numbers = ((right, left), (batch_right, batch_left))
                results = [_one(
                    self, "dot_general", {**product.params, "dimension_numbers": numbers},
                    [read(a) for a in reversed(product.invars)], step.outvars[0])]
            elif cut is not None:
                x, out = read(cut.invars[0]), cut.outvars[0]
                whole = call(self, step.primitive.name, [x], x.shape, x.dtype)
                results = [_one(self, "slice", cut.params, [whole], out)]
            elif parts is None:
                given = [read(a) for a in step.invars]
                inner = called(step)
                if inner is not None and often[id(inner[0])] > 1:
                    results = _called(self, step, inner, given, functions)
                else:
                    results = _step(self, step, given)
            elif parts:
                aval = step.outvars[0].aval
                padded = [part._replace(of=self.full(read(part.of))) for part in parts]
                results = [assembled(self, padded, tuple(aval.shape), dtype_of(aval))]
            else:
                continue
            values.update(zip(step.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]


def _called(
    w: Writer, step: Any, call: tuple[Any, Sequence[Any]], xs: list[Expr],
    functions: dict[int, tuple[str, list[bool]]],
) -> list[Expr]:
    """A call of a function that is written where it is first called."""
    key = id(call[0])
    if key not in functions:
        functions[key] = function_in(w, call)
    name, theirs = functions[key]
    whole = w.names.fresh("c")
    w.line(f"{whole} = {name}({', '.join(w.full(x).text for x in xs)})")
    found = [w.let(f"{whole}[{k}]", tuple(v.aval.shape), dtype_of(v.aval), None, s)
             for k, (v, s) in enumerate(zip(step.outvars, theirs, strict=True))]
    w.line(f"del {whole}")
    return found


def _step(w: Writer, step: Any, xs: list[Expr]) -> Sequence[Expr]:
    name = step.primitive.name
    inner = called(step)
    if inner is not None:
        return w.body(*inner, xs)
    if step.effects:
        raise Unsupported(f"{name}, which has an effect")
    known = PRIMITIVES.get(name)
    if known is None:
        raise Unsupported(name)
    atoms = (*step.invars, *step.outvars)
    if known.kind != KEYS and any(map(_is_key, atoms)):
        raise Unsupported(f"{name} of keys")
    if known.bits and any(is_narrow(v.aval) for v in atoms):
        raise Unsupported(f"{name} of 16 bits")
    if w.arrays and known.kind != ELEMENTWISE:
        raise Unsupported(f"reduce by {name}")
    if known.whole:
        results: Sequence[Expr] = known.numpy(w, step, xs)
        return results
    (out,) = step.outvars
    one = _one(w, name, step.params, xs, out)
    if _rounds(step, known):
        text = f"{one.text}.astype(d_{out.aval.dtype}).astype(d_float32)"
        one = w.local(w.let(text, one.shape, one.dtype, one.actual), "elementwise", [one])
    return [one]


def _one(w: Writer, name: str, p: Any, xs: list[Expr], out: Any) -> Expr:
    found: Expr = PRIMITIVES[name].numpy(w, p, xs, extents(out.aval.shape), dtype_of(out.aval))
    return found


def _rounds(step: Any, known: Primitive) -> bool:
    """Whether a result in half precision, computed in float32, is rounded before it is used.

    A conversion is for that. And float16 ends at 65,504: what is infinite where each step is
    rounded, as XLA does, may not come back as a number. The exponents of bfloat16 are float32's.
    """
    out, operands = step.outvars[0].aval, step.invars
    if step.primitive.name == "convert_element_type":
        return is_narrow(out) and not is_narrow(operands[0].aval)
    return known.overflows and name_of(out.dtype) == "float16"


def _is_key(atom: Any) -> bool:
    return name_of(atom.aval.dtype).startswith("key<")
