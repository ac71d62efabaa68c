"""Steps that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .values import CValue, InnerLoop, Lazy, NoCode, constant, number_text, same

#: what an element costs of functions that are no single instruction
_DEAR: Final = 10

#: an operator of two operands, for every dtype that the step takes
_SIGNS: Final = {
    "add": "+", "add_any": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
#: functions of real numbers of :mod:`.prelude` or C's library, with the type as their ending
_FUNCTIONS: Final = frozenset(
    "exp exp2 log log1p expm1 tanh logistic sin cos tan asin acos atan sinh cosh asinh acosh atanh "
    "atan2 cbrt pow erf erfc".split())
#: such that take an instruction or two
_CHEAP: Final = {"sqrt": "l_sqrt", "rsqrt": "l_rsqrt", "floor": "l_floor", "ceil": "l_ceil"}

#: those of float32 that compilers make vectors of
_OWN: Final = frozenset("exp log log1p tanh logistic".split())
#: what an element of the others costs, in multiplications of products: NumPy makes vectors of them
LIBRARY: Final = 50

Rule = Callable[[Any, Sequence[CValue], Any], "tuple[Callable[..., str], int]"]


def elementwise(name: str, p: Any, xs: Sequence[CValue], shape: Any, dtype: Any) -> CValue | None:
    """The step's result; None if it is no elementwise step. Raises NoCode."""
    rule = _RULES.get(name)
    found: tuple[Callable[..., str], int]
    real = all(x.dtype.kind == "f" for x in xs)
    if rule is not None:
        found = rule(p, xs, dtype)
    elif name in _SIGNS:
        sign = _SIGNS[name]
        found = (lambda a, b: f"({a} {sign} {b})"), 1
    elif (name in _FUNCTIONS or name in _CHEAP) and real:
        function = f"{_CHEAP.get(name, 'l_' + name)}_{xs[0].kind}"
        found = (lambda *given: f"{function}({', '.join(given)})"), (
            1 if name in _CHEAP else _DEAR)
    else:
        return None
    write, cost = found
    return _Elementwise(shape, dtype, write, xs, cost)


def is_of_library(name: str, dtype: Any) -> bool:
    """Whether the step calls C's library for each element."""
    if dtype.kind != "f":
        return False
    return name == "rem" or name in _FUNCTIONS and (dtype.itemsize == 8 or name not in _OWN)


class _Elementwise(Lazy):
    def __init__(
        self, shape: Any, dtype: Any, write: Callable[..., str], xs: Sequence[CValue], cost: int
    ) -> None:
        def element(body: InnerLoop, index: Sequence[str]) -> str:
            key = (id(self), tuple(index))
            if key in body.elements:
                return body.elements[key]
            # operands of no axes, or of axes with one element, are the same all along these
            given = [x.at(body, ["0" if same(n, 1) else i for n, i in zip(
                x.shape, index, strict=False)]) for x in xs]
            found = body.elements[key] = body.let(self.kind, write(*given))
            return found

        super().__init__(shape, dtype, element, cost + sum(x.cost for x in xs))


def _div(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    if dtype.kind != "f":
        return (lambda a, b: f"l_div_{xs[0].kind}({a}, {b})"), 3
    return (lambda a, b: f"({a} / {b})"), 3


def _rem(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    name = "l_fmod" if dtype.kind == "f" else "l_rem"
    return (lambda a, b: f"{name}_{xs[0].kind}({a}, {b})"), _DEAR


def _extremum(which: str) -> Rule:
    def rule(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
        return (lambda a, b: f"l_{which}_{xs[0].kind}({a}, {b})"), 1

    return rule


def _neg(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    return (lambda a: f"(-{a})"), 1


def _not(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    sign = "!" if dtype.kind == "b" else "~"
    return (lambda a: f"({sign}{a})"), 1


def _sign(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    if dtype.kind == "u":
        return (lambda a: f"({a} != 0)"), 1
    return (lambda a: f"l_sign_{xs[0].kind}({a})"), 2


def _abs(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    if dtype.kind == "u":
        return (lambda a: a), 0
    return (lambda a: f"l_abs_{xs[0].kind}({a})"), 1


def _round(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    if p["rounding_method"].name != "TO_NEAREST_EVEN":
        raise NoCode("round away from zero")
    return (lambda a: f"l_rint_{xs[0].kind}({a})"), 1


def _square(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    return (lambda a: f"({a} * {a})"), 1


def _is_finite(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    most = number_text(np.finfo(xs[0].dtype).max, xs[0].dtype)
    return (lambda a: f"(l_abs_{xs[0].kind}({a}) <= {most})"), 1


def _integer_pow(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    y = p["y"]
    if not isinstance(y, int) or abs(y) > 16 or (y < 0 and dtype.kind != "f"):
        raise NoCode(f"integer_pow {y} of {dtype}")
    if y == 0:
        return (lambda a: number_text(1, dtype)), 0

    def write(a: str) -> str:
        powers, n, square = [], abs(y), a
        while n:
            if n & 1:
                powers.append(square)
            n >>= 1
            square = f"({square}*{square})"
        whole = "(" + "*".join(powers) + ")"
        return whole if y > 0 else f"(1 / {whole})"

    return write, 2


def _clamp(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    kind = xs[1].kind
    return (lambda low, a, high: f"l_min_{kind}(l_max_{kind}({a}, {low}), {high})"), 2


def _select(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    if len(xs) == 2:
        return (lambda which, a: a), 0
    if len(xs) != 3:
        raise NoCode(f"select_n of {len(xs) - 1} cases")
    sign = "" if xs[0].dtype.kind == "b" else " > 0"
    return (lambda which, a, b: f"({which}{sign} ? {b} : {a})"), 1


def _convert(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    x = xs[0]
    if x.dtype == dtype:
        return (lambda a: a), 0
    if dtype.kind == "b":
        return (lambda a: f"({a} != 0)"), 1
    kind = constant(0, dtype).kind
    if x.dtype.kind == "f" and dtype.kind in "iu":
        return (lambda a: f"l_{kind}_of_{x.kind}({a})"), 3
    return (lambda a: f"(({kind}){a})"), 1


def _same(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    return (lambda a: a), 0


def _bits(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    """The same bits as another type."""
    x = xs[0]
    if x.dtype.itemsize != dtype.itemsize or "b" in (x.dtype.kind, dtype.kind):
        raise NoCode(f"bits of {x.dtype} as {dtype}")
    kind, bits = constant(0, dtype).kind, f"u{8 * dtype.itemsize}"
    if x.dtype.kind == "f":
        return (lambda a: f"(({kind}){bits}_of({a}))" if dtype.kind != "f" else a), 0
    if dtype.kind == "f":
        return (lambda a: f"{kind}_of(({bits}){a})"), 0
    return (lambda a: f"(({kind}){a})"), 0


def _erf_inv(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
    if dtype != np.float32:
        raise NoCode(f"erf_inv of {dtype}")
    return (lambda a: f"l_erf_inv_f32({a})"), _DEAR


def _shift(sign: str) -> Rule:
    def rule(p: Any, xs: Sequence[CValue], dtype: Any) -> tuple[Callable[..., str], int]:
        if dtype.kind != "u" and sign == ">>":
            raise NoCode(f"shifts of {dtype}")
        bits = 8 * dtype.itemsize
        return (lambda a, b: f"((uint64_t){b} < {bits} ? {a} {sign} {b} : 0)"), 1

    return rule


_RULES: Final[dict[str, Rule]] = {
    "div": _div, "rem": _rem, "max": _extremum("max"), "min": _extremum("min"), "neg": _neg,
    "not": _not, "sign": _sign, "abs": _abs, "round": _round, "square": _square,
    "is_finite": _is_finite, "integer_pow": _integer_pow, "clamp": _clamp, "select_n": _select,
    "convert_element_type": _convert, "bitcast_convert_type": _bits, "erf_inv": _erf_inv,
    "stop_gradient": _same, "copy": _same, "shift_left": _shift("<<"),
    "shift_right_logical": _shift(">>"),
}  # fmt: skip

#: the names of all these steps
ELEMENTWISE: Final = frozenset(_RULES) | frozenset(_SIGNS) | _FUNCTIONS | frozenset(_CHEAP)
