"""``cond``: one of two functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import bool_, int64
from ..errors import ArgumentError, type_name
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.mapping import BodyCall
from ..trace.recording import record
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..tree import TreeDef, flatten
from .arguments import Leaves, as_result, described, first_tensor
from .recorder import Outside, Recorded, checked, constant, results_of

NAME = "lazyloom.cond"


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """``true_fun(*operands)`` where ``pred``, else ``false_fun(*operands)``.

    Both functions are called once, on tensors without data, and recorded as branches that are part
    of the program; only the chosen one runs. They may use tensors from outside, but not write to
    them.

    Args:
        pred: a bool or number without dimensions, usually a tensor: false if it is 0.
        true_fun, false_fun: take the operands; their results have equal nesting and types.
        operands: tensors and numbers, alone or in lists, tuples and dicts.

    Returns:
        the result of the chosen function. Differentiable in both modes. If :func:`lazyloom.vmap`
        maps it over elements of ``pred``, both functions run, and each element takes its own.

    Raises:
        ArgumentError: arguments are not of these kinds, or the results of the functions differ in
            nesting or type.
        ReadForbiddenError: a function needs data, for a branch, a print or a shape.
        AliasError: a function writes to a tensor that it did not make.

    The definition is that of ``jax.lax.cond``.

    Example:

        >>> x = np.arange(3.0)
        >>> lazyloom.cond(x.sum() > 2, lambda x: x + 1, lambda x: x - 1, x)
        array([1., 2., 3.])
    """
    of_true = described(true_fun, f"{NAME}: true_fun")
    of_false = described(false_fun, f"{NAME}: false_fun")
    leaves, nesting = flatten(list(operands), Tensor)
    like: Any = None
    if leaves or isinstance(pred, Tensor):
        like = first_tensor(NAME, [*leaves, pred])
    arguments = Leaves(NAME, "operands", leaves, like)
    which = _which(pred)
    outside = Outside()
    branches: list[_Branch] = []
    for f, of in ((true_fun, of_true), (false_fun, of_false)):
        call = BodyCall(NAME, user_site(), of, False)
        branches.append(_Branch(f, arguments, nesting, call, like, outside))
    yes, no = branches
    no_leaves = yes.nesting.leaves_of(
        no.result, f"{NAME}: what the {of_false} gives, unlike the {of_true},")
    assert len(no_leaves) == len(yes.given)
    for number, (a, b) in enumerate(
        zip(yes.recorded.result_types, no.recorded.result_types, strict=True)
    ):
        if a is not b:
            raise ArgumentError(
                f"{NAME}: leaf {number} of what the {of_false} gives is a {b.text}, expected "
                f"{a.text} as the {of_true} gives; cast or reshape one of them")
    flags = yes.recorded.flags + no.recorded.flags
    texts = []
    for branch, other in ((yes.recorded, no.recorded), (no.recorded, yes.recorded)):
        nothing = [branch.add("full", [constant(0, f.type)], {"shape": f.type.shape})
                   for f in other.flags]
        own_flags = [f.use for f in branch.flags]
        texts.append((branch, branch.results + (own_flags + nothing if branch is yes.recorded
                                                else nothing + own_flags)))
    if not texts[0][1]:
        return yes.nesting.build([])
    outputs = results_of(
        "cond", [which, *arguments.values(), *outside.operands()],
        {"if_true": texts[0][0].text(texts[0][1]), "if_false": texts[1][0].text(texts[1][1])},
        [yes.recorded, no.recorded])
    count = len(yes.given)
    results = checked(outputs[:count], list(zip(outputs[count:], flags, strict=True)))
    return yes.nesting.build([
        wrap_as(t if isinstance(t, Tensor) else like, v)
        for t, v in zip(yes.given, results, strict=True)])


def _which(pred: Any) -> Any:
    """The predicate as a bool value that is not part of the program's structure."""
    if isinstance(pred, (bool, int, float)):
        predicate: Value = record(
            "not_equal", [Scalar(int(bool(pred)), int64, bake=False), Scalar(0, int64)])
        return predicate
    if not isinstance(pred, Tensor):
        raise ArgumentError(
            f"{NAME}: pred is a {type_name(pred)}, expected a tensor without dimensions or a bool")
    value = pred.value
    if value.shape != ():
        raise ArgumentError(
            f"{NAME}: pred is a {value.type.text}, expected one element without dimensions; "
            "choose element by element with where")
    if value.dtype is not bool_:
        nonzero: Value = record("not_equal", [value, Scalar(0, value.dtype)])
        return nonzero
    return value


class _Branch:
    """One of the functions, recorded."""

    def __init__(
        self, f: Callable[..., Any], operands: Leaves, nesting: TreeDef, call: BodyCall, like: Any,
        outside: Outside,
    ) -> None:  # fmt: skip
        self.given: list[Any] = []
        self.result: Any = None
        self.nesting: TreeDef = TreeDef("none")

        def run(values: list[Value]) -> list[Value | Scalar]:
            self.result = f(*nesting.build([operands.tensor(i, v) for i, v in enumerate(values)]))
            self.given, self.nesting = flatten(self.result, Tensor)
            return [as_result(x, f"{NAME}: leaf {i} of what the {call.of} gives", None, like)
                    for i, x in enumerate(self.given)]

        self.recorded = Recorded(call, run, operands.types, outside)
