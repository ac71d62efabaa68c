"""The derivatives of exported programs: a module that pulls cotangents back through another.

Module 0 is the program. Module ``k + 1`` takes the operands of module ``k``, then cotangents of its
floating-point and complex results, and gives cotangents of what module ``k`` is differentiated by:
the arguments and parameters that the manifest names, and the cotangents among its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from ..autodiff.backward import gradients, zeros_like
from ..errors import ArgumentError, GradientError
from ..trace.custom_derivatives import custom
from ..trace.graph import MAPPED, PENDING, Node, Value
from ..trace.mapping import ExportCall, placeholder
from ..trace.recording import record
from ..trace.scalars import Scalar
from ..trace.switches import grad_enabled
from ..types import TensorType
from .manifest import Differentiable

#: the most modules of a program: their work grows about threefold with each
MOST: Final = 4
#: records module ``order`` for the operands before the cotangents, the cotangents, and parameters
Recorder: TypeAlias = (
    "Callable[[int, Sequence[Value], Sequence[Value], Sequence[Value]], list[Value]]")


def checked_order(order: Any, where: str) -> int:
    """Return ``vjp_order`` of an export. Raises ArgumentError."""
    if type(order) is not int or not 0 <= order <= MOST:
        raise ArgumentError(
            f"{where}: vjp_order is {order!r:.60}, expected an integer from 0 to {MOST}: how often "
            "the program can be differentiated")
    return order


def leaves_of(
    results: Sequence[Value], start: int, arguments: Sequence[Value]
) -> list[tuple[Node, int]]:
    """Return what gradients of recorded results flow to beside the arguments.

    Args:
        start: what was recorded up to this number is a leaf.

    They come in the order of recording.
    """
    seen = {v.node for v in arguments}
    stack = [v.node for v in results if v.requires_grad]
    found: dict[tuple[Node, int], None] = {
        (v.node, v.index): None for v in results if v.requires_grad and v.node not in seen
        and not _inside(v.node, start)}
    while stack:
        n = stack.pop()
        if n in seen or not _inside(n, start):
            continue
        seen.add(n)
        for position, m in enumerate(n.inputs):
            if not n.grad_mask >> position & 1 or not isinstance(m, Node) or m in seen:
                continue
            if _inside(m, start):
                stack.append(m)
            else:
                found[m, 0 if n.indices is None else n.indices[position]] = None
    return sorted(found, key=lambda key: (key[0].seq, key[1]))


def _inside(n: Node, start: int) -> bool:
    return n.spec is not None and n.seq > start and n.state in (PENDING, MAPPED)


def pulled_back(
    results: Sequence[Value], inputs: Sequence[Value], order: int, call: ExportCall, where: str
) -> tuple[list[Value], list[Value]]:
    """Record the VJP of recorded results, ``order`` times.

    Args:
        results: of the program; one at least is floating-point or complex.
        inputs: what the program is differentiated by, values that require a gradient.
        call: what placeholders of cotangents belong to.
        where: the function that messages begin with.

    Returns:
        the results of module ``order``, and the placeholders of all its cotangents.

    Raises ArgumentError if there is nothing to differentiate.
    """
    if not any(v.dtype.is_inexact for v in results):
        raise ArgumentError(
            f"{where}: vjp_order is {order}, and no result is floating-point or complex, expected "
            "one; leave vjp_order out")
    if not inputs:
        raise ArgumentError(
            f"{where}: vjp_order is {order}, and nothing is there to differentiate by, expected a "
            "floating-point or complex argument (of pending values: an input that requires a "
            "gradient), or a parameter that requires a gradient")
    outputs, given = list(results), []
    by = list(inputs)
    for k in range(order):
        more = k + 1 < order
        outputs = [v for v in outputs if v.dtype.is_inexact]
        cotangents = [placeholder(v.type, call, more) for v in outputs]
        flowing = [(v, c) for v, c in zip(outputs, cotangents, strict=True) if v.requires_grad]
        found: list[Value | None] = [None] * len(by)
        if flowing:
            found = gradients([v for v, _ in flowing], by, [c for _, c in flowing],
                              create_graph=more, allow_unused=True, stop=True)
        outputs = [zeros_like(v) if g is None else g for v, g in zip(by, found, strict=True)]
        by += cotangents
        given += cotangents
    return outputs, given


def types_of(
    order: int, leading: Sequence[TensorType], parameters: Sequence[TensorType],
    results: Sequence[TensorType], by: Differentiable,
) -> tuple[list[TensorType], list[TensorType]]:  # fmt: skip
    """Return the types of the cotangents among the operands of module ``order``, and those of its
    results.

    Args:
        leading, parameters: the operands of module 0.
        results: those of module 0.
        by: what it is differentiated by.
    """
    inputs = [*[leading[n] for n in by.arguments], *[parameters[n] for n in by.parameters]]
    given: list[TensorType] = []
    outputs = list(results)
    for _ in range(order):
        cotangents = [t for t in outputs if t.dtype.is_inexact]
        outputs = [*inputs, *given]
        given += cotangents
    return given, outputs


def differentiated(
    name: str, names: Sequence[str], results: list[Value], recorder: Recorder, order: int,
    most: int, by: Differentiable | None, leading: Sequence[Value], cotangents: Sequence[Value],
    parameters: Sequence[Value],
) -> list[Value]:  # fmt: skip
    """Return results of module ``order`` with their derivative, if one may be asked for.

    Args:
        name: of the program, for messages.
        names: those of the operands before the cotangents that are tensors among the arguments,
            and of the parameters.
        results: what was recorded, without a derivative.
        recorder: records the next module.
        most: how many VJPs there are.
        by: what these are by; None without any.
        leading, cotangents, parameters: the operands.

    Raises GradientError if the program has no VJP, or none by an operand that requires a gradient.
    """
    if not grad_enabled():
        return results
    arguments = set(() if by is None else by.arguments)
    trained = set(() if by is None else by.parameters)
    for k, v in enumerate([*leading[:len(names) - len(parameters)], *parameters]):
        count = len(names) - len(parameters)
        if v.requires_grad and (k not in arguments if k < count else k - count not in trained):
            _refuse(name, names[k], k < count, by)
    if by is None:
        return results
    inputs = [*[leading[n] for n in by.arguments], *[parameters[n] for n in by.parameters],
              *cotangents]
    if not any(v.requires_grad for v in inputs):
        return results

    def forward_only(result_of: Any, tangents: Any) -> NoReturn:
        raise GradientError(
            f"{name}: an exported program is differentiated in reverse mode only, and a tangent "
            "is to be pushed through it; use lazyloom.grad or lazyloom.vjp", op="call_module")

    kept = [*leading, *cotangents, *parameters]
    first, second = len(leading), len(leading) + len(cotangents)

    def holding(values: Sequence[Value]) -> Any:
        def vjp(result_of: Any, arrived: list[Value | None]) -> list[Value]:
            if order >= most:
                raise GradientError(
                    f"{name}: derivative {order + 1} of an exported program is asked for, and it "
                    f"was exported with vjp_order={most}; export it with vjp_order={order + 1}",
                    op="call_module")
            given = [_zeros(v.type) if c is None else c
                     for v, c in zip(results, arrived, strict=True) if v.dtype.is_inexact]
            return recorder(
                order + 1, values[:first], [*values[first:second], *given], values[second:])
        return vjp

    return list(custom(results, inputs, holding(kept), forward_only,
                       name=f"the exported program {name}", kept=lambda: list(kept),
                       holding=holding))


def _zeros(t: TensorType) -> Value:
    zeros: Value = record("full", [Scalar(0, t.dtype)], {"shape": t.shape})
    return zeros


def _refuse(name: str, operand: str, argument: bool, by: Differentiable | None) -> NoReturn:
    without = ("detach it or call the program with gradients off (lazyloom.grad_mode(False), "
               "torch.no_grad())")
    if by is None:
        raise GradientError(
            f"{name}: {operand} requires a gradient, and the program was exported without its "
            f"derivative; export it with lazyloom.export(..., vjp_order=1), or {without}",
            op="call_module")
    what = ("the input did not require a gradient when the values were exported" if argument else
            "the parameter did not require one when the program was exported")
    raise GradientError(
        f"{name}: {operand} requires a gradient, and {what}; export it so that it does, or "
        f"{without}", op="call_module")
