"""One op as a function of NumPy arrays.

The op's JAX function is traced (:mod:`.find`), and each of its steps becomes a line of Python that
calls NumPy. So nothing is compiled, and a small op costs what NumPy takes. Ops with a step that has
no exact counterpart in NumPy have no kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..jaxprs import random_steps
from ..jaxprs.walking import called, is_literal, linear_solve, needed, scan_counts
from .blocks import blocked, used_once
from .counting import counts, positions, write_count, write_positions
from .elementwise import call, emit
from .linalg import STEPS
from .patterns import functions_of_slices, sums_of_pads, transposed_products
from .routines import NAMESPACE
from .steps import SINGLE, assembled, cumulative, reduction, scatter, several, windows
from .writer import (
    Expr,
    FreshNames,
    Unsupported,
    Writer,
    extent,
    extents,
    is_narrow,
    name_of,
    released,
)
from .writer import dtype_of as _dtype

#: steps that depend on how a number is written in memory
_BITS: Final = ("bitcast_convert_type", "nextafter", "reduce_precision")
#: steps of finite numbers whose result may be too large for float16
_LEAVES: Final = frozenset([
    "add", "add_any", "sub", "mul", "div", "square", "integer_pow", "pow", "exp", "exp2", "expm1",
    "sinh", "cosh", "tan", "rsqrt", "reduce_sum", "reduce_prod", "cumsum", "cumprod",
    "dot_general", "reduce_window_sum", "conv_general_dilated",
])
#: the sign of powers in the text of extents; that of exclusive or has spaces around
_POWER: Final = re.compile(r"(?<=[\w)])\^(?=\d)")
#: the first line of a kernel that is the same for large arrays, which have nothing to compute in
#: blocks
ANY_SIZE: Final = "# of any size"
#: a loop that would take more steps of NumPy than this has no kernel
LONGEST: Final = 20_000


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
    w = Writer(names)
    operands = [_operand(w, f"a{k}", v.aval) for k, v in enumerate(closed.jaxpr.invars)]
    results = [
        _result(w, w.full(r), v.aval) for r, v in
        zip(_body(w, closed.jaxpr, closed.consts, operands), closed.jaxpr.outvars, strict=True)]
    arguments = ", ".join(f"a{k}" for k in range(len(operands)))
    kept = {r.text for r in results}
    returned = ", ".join(r.text for r in results)
    lines = released(blocked(w.lines, names.made, kept, w.indent, names.fresh), names.large, kept)
    once = [k for k in used_once(lines, [x.text for x in operands])
            if operands[k].text not in kept]
    head = [*names.constants, f"shared = {_shared(results)!r}"]
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


def powers(text: str) -> str:
    """A text of extents in Python."""
    return _POWER.sub("**", text)


def _operand(w: Writer, name: str, aval: Any) -> Expr:
    shape = extents(aval.shape)
    if is_narrow(aval):
        return w.let(f"{name}.astype(d_float32)", shape, np.dtype(np.float32))
    return Expr(name, shape, shape, _dtype(aval), True)


def _result(w: Writer, value: Expr, aval: Any) -> Expr:
    if is_narrow(aval):
        return w.let(f"{value.text}.astype(d_{aval.dtype})", value.shape, value.dtype)
    return value


def _shared(results: Sequence[Expr]) -> tuple[bool, ...]:
    """Whether the memory of each result may be somebody else's."""
    names = [r.text for r in results]
    return tuple(r.shared or names.count(r.text) > 1 for r in results)


def load(text: str) -> tuple[Callable[..., Any], tuple[bool, ...]]:
    """The function of :func:`kernel_text`, which returns its result or a tuple; and ``shared``."""
    return _load(text, "kernel")


def load_family(text: str) -> tuple[Callable[..., Any], tuple[bool, ...]]:
    """The function of symbols of :func:`kernel_text`, which returns the kernel; and ``shared``."""
    return _load(text, "of")


def load_types(text: str) -> Callable[..., tuple[tuple[tuple[int, ...], str], ...]]:
    """The function of symbols that gives the types of the results, of a text that has one."""
    return _load(text, "types")[0]


def _load(text: str, name: str) -> tuple[Callable[..., Any], tuple[bool, ...]]:
    # its constants are cells of a function of their own: a namespace each would be most of what a
    # kernel takes
    lines = "\n    ".join(text.rstrip().split("\n"))
    space: dict[str, Any] = {}
    exec(compile(f"def made():\n    {lines}\n    return {name}, shared\n", "<host kernel>", "exec"),
         NAMESPACE, space)
    found: tuple[Callable[..., Any], tuple[bool, ...]] = space["made"]()
    return found


def _body(
    w: Writer, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Expr]
) -> list[Expr]:
    values: dict[Any, Expr] = {}
    for var, const in zip(jaxpr.constvars, consts, strict=True):
        values[var] = w.array(const)
    values.update(zip(jaxpr.invars, operands, strict=True))

    def read(atom: Any) -> Expr:
        if is_literal(atom):
            return w.literal(atom.val, _dtype(atom.aval), tuple(atom.aval.shape))
        return values[atom]

    steps = list(needed(jaxpr))
    sums = sums_of_pads(steps, jaxpr.outvars)
    slices = functions_of_slices(steps)
    swapped = transposed_products(steps, jaxpr.outvars)
    placed, counted = positions(steps, jaxpr.outvars), counts(steps, jaxpr.outvars)
    # called more than once with the same types: a function of its own, written once
    often = Counter(id(c[0]) for c in map(called, steps) if c is not None and len(c[0].eqns) > 2)
    functions: dict[int, tuple[str, list[bool]]] = {}
    for step in steps:
        parts, cut = sums.get(id(step)), slices.get(id(step))
        if id(step) in placed:
            written = placed[id(step)]
            if written is None:
                continue
            results: Sequence[Expr] = [write_positions(w, *map(read, written))]
        elif id(step) in counted:
            if counted[id(step)] is None:
                continue
            results = [write_count(w, read(counted[id(step)]), step.outvars[0])]
        elif id(step) in swapped:
            product = swapped[id(step)]
            if product is None:
                continue
            (left, right), (batch_left, batch_right) = product.params["dimension_numbers"]
            numbers = ((right, left), (batch_right, batch_left))
            results = [SINGLE["dot_general"](
                w, {**product.params, "dimension_numbers": numbers},
                [read(a) for a in reversed(product.invars)], step.outvars[0])]
        elif cut is not None:
            x, out = read(cut.invars[0]), cut.outvars[0]
            whole = call(w, step.primitive.name, [x], x.shape, x.dtype)
            results = [SINGLE["slice"](w, cut.params, [whole], out)]
        elif parts is None:
            given = [read(a) for a in step.invars]
            inner = called(step)
            if inner is not None and often[id(inner[0])] > 1:
                results = _called(w, step, inner, given, functions)
            else:
                results = _step(w, step, given)
        elif parts:
            aval = step.outvars[0].aval
            results = [assembled(w, [part._replace(of=w.full(read(part.of))) for part in parts],
                                 tuple(aval.shape), _dtype(aval))]
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
        functions[key] = _function(w, call)
    name, shared = functions[key]
    whole = w.names.fresh("c")
    w.line(f"{whole} = {name}({', '.join(w.full(x).text for x in xs)})")
    found = [w.let(f"{whole}[{k}]", tuple(v.aval.shape), _dtype(v.aval), None, s)
             for k, (v, s) in enumerate(zip(step.outvars, shared, strict=True))]
    w.line(f"del {whole}")
    return found


def _step(w: Writer, step: Any, xs: list[Expr]) -> Sequence[Expr]:
    name, p = step.primitive.name, step.params
    inner = called(step)
    if inner is not None:
        return _body(w, *inner, xs)
    if step.effects:
        raise Unsupported(f"{name}, which has an effect")
    if name.startswith("random_"):
        return _random(w, step, xs)
    if any(_is_key(v) for v in (*step.invars, *step.outvars)):
        raise Unsupported(f"{name} of keys")
    if name in _BITS and any(is_narrow(v.aval) for v in (*step.invars, *step.outvars)):
        raise Unsupported(f"{name} of 16 bits")
    if name in STEPS:
        return STEPS[name](w, step, xs)
    if name == "custom_linear_solve":
        closed, given = linear_solve(p, xs)
        return _body(w, closed.jaxpr, closed.consts, given)
    if name == "platform_index":
        return [_platform(w, step)]
    if name == "reduce":
        return _reduce(w, step, xs)
    if name in _LOOPS:
        return _LOOPS[name](w, step, xs)
    found = several(w, name, p, xs, step.outvars)
    if found is not None:
        return found
    if len(step.outvars) != 1:
        raise Unsupported(name)
    out = step.outvars[0]
    _dtype(out.aval)
    rule = SINGLE.get(name)
    one = rule(w, p, xs, out) if rule is not None else (
        emit(w, step, xs) or reduction(w, name, p, xs, out) or cumulative(w, name, p, xs, out)
        or scatter(w, name, p, xs, out) or windows(w, name, p, xs, out))
    if one is None:
        raise Unsupported(name)
    if _rounds(step, name):
        text = f"{one.text}.astype(d_{out.aval.dtype}).astype(d_float32)"
        one = w.local(w.let(text, one.shape, one.dtype, one.actual), "elementwise", [one])
    return [one]


def _rounds(step: Any, name: str) -> bool:
    """Whether a result in half precision, computed in float32, is rounded before it is used.

    A conversion is for that. And float16 ends at 65,504: what is infinite where each step is
    rounded, as XLA does, may not come back as a number. The exponents of bfloat16 are float32's.
    """
    out, operands = step.outvars[0].aval, step.invars
    if name == "convert_element_type":
        return is_narrow(out) and not is_narrow(operands[0].aval)
    return name in _LEAVES and name_of(out.dtype) == "float16"


def _is_key(atom: Any) -> bool:
    return name_of(atom.aval.dtype).startswith("key<")


def _random(w: Writer, step: Any, xs: list[Expr]) -> Sequence[Expr]:
    """Steps on keys, which are written as the arrays that they wrap."""
    name, p = step.primitive.name, step.params
    if name == "random_wrap":
        w.names.generator = p["impl"]
        return xs
    if name == "random_unwrap":
        return xs
    closed = random_steps.traced(step, w.names.generator, [(x.shape, x.dtype) for x in xs])
    if closed is None:
        raise Unsupported(f"{name} of such keys")
    return _body(w, closed.jaxpr, closed.consts, xs)


def _platform(w: Writer, step: Any) -> Expr:
    """The number of the branch that is for the processor, or for any platform."""
    choices = list(step.params["platforms"])
    number = next((k for k, names in enumerate(choices) if names is not None and "cpu" in names),
                  None)
    if number is None:
        number = choices.index(None)
    found = w.literal(number, np.int32)
    w.names.numbers[found.text] = number
    return found


def _reduce(w: Writer, step: Any, xs: list[Expr]) -> Sequence[Expr]:
    """A reduction by a function of its own: of arrays, as its steps are elementwise."""
    closed = step.params["jaxpr"]
    body = closed.jaxpr if hasattr(closed, "jaxpr") else closed
    for inner in body.eqns:
        if inner.primitive.name in SINGLE or inner.primitive.name in _LOOPS:
            raise Unsupported(f"reduce by {inner.primitive.name}")
    function, _ = _function(w, (body, closed.consts), arrays=True)
    half = len(xs) // 2
    given, starts = [w.full(x) for x in xs[:half]], xs[half:]
    axes = tuple(sorted(int(d) for d in step.params["dimensions"]))
    whole = w.names.fresh("c")
    w.line(f"{whole} = reduce_by({function}, {_tuple(given)}, {_tuple(starts)}, {axes})")
    return _results(w, whole, step.outvars, True)


# loops and branches: their bodies are functions of their own


def _function(
    w: Writer, call: tuple[Any, Sequence[Any]], arrays: bool = False
) -> tuple[str, list[bool]]:
    """Write a traced function as a nested one that returns a tuple; its name, and what is shared.

    ``arrays``: it is a function of scalars, and called with arrays in their places.
    """
    jaxpr, consts = call
    name = w.names.fresh("f")
    inner = Writer(w.names, w.indent + "    ")
    operands = [Expr(w.names.fresh("b"), tuple(v.aval.shape),
                      (2,) if arrays else tuple(v.aval.shape), _dtype(v.aval), True)
                for v in jaxpr.invars]
    results = _body(inner, jaxpr, consts, operands)
    if not arrays:
        results = [inner.full(r) for r in results]
    w.line(f"def {name}({', '.join(x.text for x in operands)}):")
    w.lines += inner.lines if arrays else blocked(
        inner.lines, w.names.made, {r.text for r in results}, inner.indent, w.names.fresh)
    w.line(f"    return ({''.join(r.text + ', ' for r in results)})")
    return name, list(_shared(results))


def _named(w: Writer, closed: Any) -> str:
    return _function(w, (closed.jaxpr, closed.consts))[0]


def _results(w: Writer, whole: str, outs: Sequence[Any], shared: bool) -> list[Expr]:
    return [w.let(f"{whole}[{k}]", tuple(v.aval.shape), _dtype(v.aval), None, shared)
            for k, v in enumerate(outs)]


def _tuple(values: Sequence[Expr]) -> str:
    return f"({''.join(v.text + ', ' for v in values)})"


def _while(w: Writer, step: Any, xs: list[Expr]) -> list[Expr]:
    p = step.params
    xs = [w.full(x) for x in xs]
    a, b = int(p["cond_nconsts"]), int(p["body_nconsts"])
    condition, body = (_named(w, p[which]) for which in ("cond_jaxpr", "body_jaxpr"))
    of_condition, of_body = _tuple(xs[:a]), _tuple(xs[a : a + b])
    carry = w.names.fresh("c")
    w.line(f"{carry} = {_tuple(xs[a + b :])}")
    shape = tuple(p["cond_jaxpr"].out_avals[0].shape)
    if not shape:
        w.line(f"while {condition}(*{of_condition}, *{carry})[0].all():")
        w.line(f"    {carry} = {body}(*{of_body}, *{carry})")
        return _results(w, carry, step.outvars, True)
    # mapped: it goes on while any element does, and those that are through stay as they are
    going, made = w.names.fresh("p"), w.names.fresh("r")
    w.line(f"while ({going} := {condition}(*{of_condition}, *{carry})[0]).any():")
    w.line(f"    {made} = {body}(*{of_body}, *{carry})")
    chosen = [
        f"choose({going}.reshape({(*shape, *[1] * (len(v.aval.shape) - len(shape)))}), "
        f"{made}[{k}], {carry}[{k}])" for k, v in enumerate(step.outvars)]
    w.line(f"    {carry} = ({''.join(c + ', ' for c in chosen)})")
    return _results(w, carry, step.outvars, True)


def _scan(w: Writer, step: Any, xs: list[Expr]) -> list[Expr]:
    p = step.params
    length, (constants, carried) = extent(p["length"]), scan_counts(p)
    closed = p["jaxpr"]
    if not w.names.at_most(length * max(1, len(closed.jaxpr.eqns)), LONGEST):
        raise Unsupported(f"a scan of {length} steps")
    xs = [w.full(x) for x in xs]
    body = _named(w, closed)
    given, carry = _tuple(xs[:constants]), w.names.fresh("c")
    rows = xs[constants + carried :]
    w.line(f"{carry} = {_tuple(xs[constants : constants + carried])}")
    outs = step.outvars[carried:]
    made = [w.let(f"empty({tuple(v.aval.shape)}, d_{_dtype(v.aval).name})", v.aval.shape,
                  _dtype(v.aval), written=True) for v in outs]
    at, found = w.names.fresh("i"), w.names.fresh("r")
    order = f"range({length - 1}, -1, -1)" if p["reverse"] else f"range({length})"
    w.line(f"for {at} in {order}:")
    row = "".join(f", {x.text}[{at}]" for x in rows)
    w.line(f"    {found} = {body}(*{given}, *{carry}{row})")
    w.line(f"    {carry} = {found}[:{carried}]")
    for k, v in enumerate(made):
        w.line(f"    {v.text}[{at}] = {found}[{carried + k}]")
    return [*_results(w, carry, step.outvars[:carried], True), *made]


def _cond(w: Writer, step: Any, xs: list[Expr]) -> list[Expr]:
    known = w.names.numbers.get(xs[0].text)
    if known is not None:
        closed = step.params["branches"][known]
        return list(_body(w, closed.jaxpr, closed.consts, xs[1:]))
    branches = [_named(w, closed) for closed in step.params["branches"]]
    xs = [w.full(x) for x in xs]
    found = w.names.fresh("c")
    chosen = f"min(max(int({xs[0].text}), 0), {len(branches) - 1})"
    w.line(f"{found} = ({', '.join(branches)},)[{chosen}](*{_tuple(xs[1:])})")
    return _results(w, found, step.outvars, True)


_LOOPS: Final[dict[str, Callable[[Writer, Any, list[Expr]], list[Expr]]]] = {
    "while": _while, "scan": _scan, "cond": _cond,
}
