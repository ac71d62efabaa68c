"""Functions and their linear maps: ``vjp``, ``jvp`` and ``linearize``.

The function runs once, on leaves of a tape of its own. Cotangents of its results can then be
propagated down that tape and tangents of its arguments up it, any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..errors import ArgumentError, GradientError, ShapeError
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace import graph, switches
from ..trace.constraints import fitted
from ..trace.graph import Node, Value
from ..trace.recording import record
from ..trace.scalars import Scalar
from ..trace.tape import free
from ..tree import flatten, tree_leaves
from .backward import cotangents_of, nesting, new_leaf, reaches_outside, zeros_like
from .forward import tangents_of
from .reverse import visit_below


class DifferentiatedRun:
    """A function that was run to be differentiated.

    Attributes:
        name: the public function that differentiates, for messages.
        given: the leaves of the arguments to differentiate by, as they were given.
        structure: their nesting, a sequence with one entry per argument.
        leaves: the value that stands for each of ``given``; None for one without derivative.
        out: the leaves of the results; ``out_structure`` is their nesting.
        aux: what the function returned beside the results.
        outer: another gradient may go through this one, so results keep their tape.
    """

    __slots__ = ("name", "given", "structure", "leaves", "out", "out_structure", "aux", "outer",
                 "start")

    def __init__(
        self, name: str, f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
        positions: Sequence[int], has_aux: bool, closures: bool = False,
    ) -> None:  # fmt: skip
        self.name: Final = name
        self.given, self.structure = flatten([args[p] for p in positions], Tensor)
        depth = getattr(nesting, "depth", 0)
        self.start: Final = graph.last_sequence()
        self.leaves: Final[list[Value | None]] = []
        self.outer = depth > 0
        for t in self.given:
            leaf = None
            if isinstance(t, Tensor) and t.value.dtype.is_inexact:
                self.outer = self.outer or t.value.requires_grad
                leaf = new_leaf(t.value, object())
            self.leaves.append(leaf)
        full = list(args)
        marked = self.structure.build(
            t if v is None else type(t).from_value(v)
            for t, v in zip(self.given, self.leaves, strict=True))
        for p, tree in zip(positions, marked, strict=True):
            full[p] = tree
        recording = switches.grad_enabled()
        nesting.depth = depth + 1
        try:
            with switches.grad_mode(True):
                result = f(*full, **kwargs)
        finally:
            nesting.depth = depth
            with graph.trace.lock:
                for v in self.leaves:
                    if v is not None:
                        graph.set_token(v.node, v.index, None)
        self.aux: Any = None
        if closures and recording and not self.outer:
            values = [t.value for t in tree_leaves(result, Tensor)]
            self.outer = reaches_outside(
                values, {v.node for v in self.leaves if v is not None}, self.start)
        if has_aux:
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise GradientError(
                    f"{name}: the function returned a {type(result).__name__}, expected a pair of "
                    "its result and the aux value, since has_aux is set")
            result, self.aux = result
        self.out, self.out_structure = flatten(result, Tensor)
        for number, t in enumerate(self.out):
            if not isinstance(t, Tensor):
                raise GradientError(
                    f"{name}: result {number} of the function is a {type(t).__name__}, expected a "
                    "tensor; with has_aux it may return anything else beside its results")

    @property
    def moving(self) -> list[Value]:
        """The leaves that have a derivative."""
        return [v for v in self.leaves if v is not None]

    def results(self, end: bool) -> Any:
        """What the function returned, carrying no gradient of this run.

        Args:
            end: the tape is no longer needed; free it unless another gradient may go through it.
        """
        if end and not self.outer:
            visited: dict[Node, bool] = {}
            visit_below([t.value for t in self.out], None, visited, [])
            free({n: True for n in visited if n.seq > self.start}, True)
        if not self.outer and self.aux is not None:
            for t in tree_leaves(self.aux, Tensor):
                t._forget_gradient()
        return self.out_structure.build(
            wrap_as(t, self._settled(t.value, end)) for t in self.out)

    def _settled(self, value: Value, end: bool) -> Value:
        if self.outer or end or not value.requires_grad:
            return value if self.outer else value.detach()
        # a handle of the value itself would keep the whole tape alive
        with switches.grad_mode(False):
            fresh: Value = record("identity", [value])
        return fresh

    def vjp(self, cotangents: Sequence[Any]) -> list[Value]:
        """Cotangents of the leaves that have a derivative, given those of the results."""
        leaves = self.moving
        keep = self.outer or any(isinstance(c, Value) and c.requires_grad for c in cotangents)
        pairs = [(t.value, c) for t, c in zip(self.out, cotangents, strict=True)
                 if c is not None and t.value.requires_grad]
        gradients: list[Value | None] = [None] * len(leaves)
        if pairs:
            gradients, _ = cotangents_of(
                [v for v, _ in pairs], leaves, [c for _, c in pairs], keep, True)
        return [self._kept(g if g is not None else zeros_like(v), keep)
                for g, v in zip(gradients, leaves, strict=True)]

    def jvp(self, tangents: Sequence[Any]) -> list[Value]:
        """Tangents of the results, given those of the leaves that have a derivative."""
        keep = self.outer or any(isinstance(t, Value) and t.requires_grad for t in tangents)
        values = [t.value for t in self.out]
        derivatives, _ = tangents_of(values, self.moving, tangents, keep)
        return [self._kept(d if d is not None else zeros_like(v), keep)
                for d, v in zip(derivatives, values, strict=True)]

    def _kept(self, value: Value, keep: bool) -> Value:
        return value if keep else value.detach()

    def check_results(self) -> None:
        """Raise GradientError for a result that has no derivative."""
        for number, t in enumerate(self.out):
            if not t.value.dtype.is_inexact:
                raise GradientError(
                    f"{self.name}: result {number} of the function is a {t.value.type.text}, which "
                    "has no derivative; expected floating-point or complex results, with has_aux "
                    "return it beside them")


def direction(x: Any, like: Value, name: str) -> Any:
    """A tangent or cotangent for a value, as a Value or Scalar to record with.

    Raises ShapeError, GradientError or ArgumentError if it does not fit.
    """
    if isinstance(x, (bool, int, float, complex)) and like.shape == ():
        return Scalar(x, like.dtype)
    if not isinstance(x, Tensor):
        raise ArgumentError(
            f"{name} is a {type(x).__name__}, expected a tensor of type {like.type.text}")
    value = fitted(x.value, like.type)
    if value.type is not like.type:
        error = ShapeError if value.shape != like.shape else GradientError
        raise error(f"{name} is a {value.type.text}, expected {like.type.text}")
    return value


def vjp(
    f: Callable[..., Any], *primals: Any, has_aux: bool = False, closures: bool = False
) -> Any:
    """``f(*primals)`` and the function that pulls cotangents back through it.

    Args:
        f: takes tensors of any frontend, alone or in lists, tuples and dicts, and returns such.
        primals: its arguments.
        has_aux: ``f`` returns a pair of its results and anything else.
        closures: the results, and those of ``vjp_fun``, can be differentiated by values outside
            ``f`` that it uses and that require a gradient.

    Returns:
        ``(results, vjp_fun)``, with ``has_aux`` ``(results, vjp_fun, aux)``.
        ``vjp_fun(cotangents)`` takes cotangents nested like the results (a Python number will do
        for a 0-d one) and returns a tuple with those of each argument, None for a leaf without
        derivative. It can be called any number of times and keeps the parts of the computation
        that it needs alive. Complex cotangents follow JAX (see :func:`lazyloom.gradients`).

    Raises:
        GradientError: a result is not a tensor, or has a dtype without derivative.
        ArgumentError, ShapeError: cotangents do not fit the results (when ``vjp_fun`` is called).

    Example:

        >>> y, pull = lazyloom.vjp(lambda x: x * x, np.arange(3.0))
        >>> pull(np.ones(3))
        (array([0., 2., 4.]),)
    """
    _check_function(f, "vjp")
    run = DifferentiatedRun("vjp", f, primals, {}, range(len(primals)), has_aux, closures)
    run.check_results()

    def vjp_fun(cotangents: Any) -> Any:
        given_cotangents = run.out_structure.leaves_of(cotangents, "vjp: the cotangents", True)
        chosen = [
            None if c is None else direction(c, t.value, f"vjp: cotangent {number}")
            for number, (c, t) in enumerate(zip(given_cotangents, run.out, strict=True))]
        arg_cotangents = iter(run.vjp(chosen))
        return tuple(run.structure.build(
            None if v is None else type(t).from_value(next(arg_cotangents))
            for t, v in zip(run.given, run.leaves, strict=True)))

    results = run.results(end=False)
    return (results, vjp_fun, run.aux) if has_aux else (results, vjp_fun)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False,
    *, closures: bool = False,
) -> Any:  # fmt: skip
    """``f(*primals)`` and the derivative of the results along ``tangents``.

    Args:
        f: takes tensors of any frontend, alone or in lists, tuples and dicts, and returns such.
        primals: a tuple or list of its arguments.
        tangents: nested like ``primals``, each a tensor of that type, a Python number for a 0-d
            one, or None for a leaf that does not move (always for integers and the like).
        has_aux: ``f`` returns a pair of its results and anything else.
        closures: as for :func:`vjp`.

    Returns:
        ``(results, tangents of the results)``, with ``has_aux`` ``(results, tangents, aux)``.

    Raises:
        GradientError: a result is not a tensor, or has a dtype without derivative.
        ArgumentError, ShapeError: tangents do not fit the primals.

    Example:

        >>> lazyloom.jvp(lambda x: x * x, (np.arange(3.0),), (np.ones(3),))
        (array([0., 1., 4.]), array([0., 2., 4.]))
    """
    _check_function(f, "jvp")
    for name, x in (("primals", primals), ("tangents", tangents)):
        if not isinstance(x, (tuple, list)):
            raise ArgumentError(
                f"jvp: the {name} are a {type(x).__name__}, expected a tuple or list of them")
    originals, structure = flatten(list(primals), Tensor)
    chosen: list[Any] = []
    for number, (d, t) in enumerate(zip(
        structure.leaves_of(tangents, "jvp: the tangents", True), originals, strict=True
    )):  # fmt: skip
        has_derivative = isinstance(t, Tensor) and t.value.dtype.is_inexact
        if has_derivative:
            chosen.append(
                None if d is None else direction(d, t.value, f"jvp: tangent {number}"))
        elif d is not None:
            shown = t.value.type.text if isinstance(t, Tensor) else type(t).__name__
            raise GradientError(
                f"jvp: tangent {number} was given for a {shown}, which has no derivative; expected "
                "None")
    run = DifferentiatedRun("jvp", f, primals, {}, range(len(primals)), has_aux, closures)
    run.check_results()
    if any(isinstance(d, Value) and d.requires_grad for d in chosen):
        run.outer = True
    moved = run.jvp(chosen)
    results = run.results(end=True)
    along = run.out_structure.build(wrap_as(t, d) for t, d in zip(run.out, moved, strict=True))
    return (results, along, run.aux) if has_aux else (results, along)


def tangents(
    outputs: Sequence[Value], inputs: Sequence[Value], given: Sequence[Value | None], *,
    create_graph: bool = False,
) -> list[Value | None]:  # fmt: skip
    """Tangents of ``outputs`` given those of ``inputs``, leaves or intermediate values.

    The forward counterpart of :func:`lazyloom.gradients`: None stands for an input that does not
    move, and for an output that depends on no input that does. With ``create_graph`` the pass is
    recorded so that it can be differentiated.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> y = lazyloom.record("multiply", [x, x])
        >>> (tangent,) = lazyloom.tangents([y], [x], [lazyloom.from_host([1.0, 0.0])])
        >>> tangent.read()
        array([2., 0.])
    """
    results, _ = tangents_of(outputs, inputs, given, create_graph)
    return results


def linearize(
    f: Callable[..., Any], *primals: Any, has_aux: bool = False, closures: bool = False
) -> Any:
    """``f(*primals)`` and the function that pushes tangents forward through it.

    Args and errors as for :func:`vjp`.

    Returns:
        ``(results, f_jvp)``, with ``has_aux`` ``(results, f_jvp, aux)``. ``f_jvp(*tangents)`` takes
        a tangent for each argument, nested like it (None for a leaf that does not move), and
        returns those of the results. It can be called any number of times without running ``f``
        again; it keeps the parts of the computation that it needs alive.

    Example:

        >>> y, push = lazyloom.linearize(np.sin, np.array(0.0))
        >>> float(y), float(push(np.array(2.0)))
        (0.0, 2.0)
    """
    _check_function(f, "linearize")
    run = DifferentiatedRun("linearize", f, primals, {}, range(len(primals)), has_aux, closures)
    run.check_results()

    def f_jvp(*tangents: Any) -> Any:
        given_tangents = run.structure.leaves_of(list(tangents), "linearize: the tangents", True)
        chosen = []
        for number, (d, v) in enumerate(zip(given_tangents, run.leaves, strict=True)):
            if v is not None:
                chosen.append(
                    None if d is None else direction(d, v, f"linearize: tangent {number}"))
            elif d is not None:
                raise GradientError(
                    f"linearize: tangent {number} was given for what has no derivative; expected "
                    "None")
        moved = run.jvp(chosen)
        return run.out_structure.build(wrap_as(t, d) for t, d in zip(run.out, moved, strict=True))

    results = run.results(end=False)
    return (results, f_jvp, run.aux) if has_aux else (results, f_jvp)


def _check_function(f: Any, name: str) -> None:
    if not callable(f):
        raise ArgumentError(f"{name}: a {type(f).__name__} was given, expected a function")
