"""``shard_map``: a function that each device of a mesh runs on its own part of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import ArgumentError, PlacementError, type_name
from ..placements import Mesh, Placement, check_divides, on_mesh
from ..tensor.moving import moved
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.mapping import BodyCall
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..tree import TreeDef, flatten
from ..types import TensorType, tensor_type
from .arguments import Leaves, as_result, described, first_tensor
from .mesh_axes import mapped_over
from .recorder import Outside, Recorded, checked, results_of

NAME = "lazyloom.shard_map"


def shard_map(
    f: Callable[..., Any], *, mesh: Mesh, in_specs: Any, out_specs: Any
) -> Callable[..., Any]:
    """A function that runs ``f`` on each device of a mesh, on that device's parts of its arguments.

    ``f`` is recorded once for each call, for the shape of the parts, as a part of the program.
    Collectives of :mod:`lazyloom.distributed` in it combine what devices have along axes of the
    mesh: ``dist.all_reduce(x, "sum", group="data")``; :func:`lazyloom.axis_index` says where a
    device is.

    Args:
        f: takes and returns tensors and numbers, alone or in lists, tuples and dicts. It may use
            tensors from outside, which each device has whole.
        mesh: a :class:`~lazyloom.placements.Mesh`.
        in_specs: a list of partition specs, one for each argument, or one spec for all. A spec is
            a tuple: for each dimension None, the name of the mesh axis that divides it, or a tuple
            of several names; ``()`` for whole. For an argument that is a list or dict it is a spec
            for all of its leaves, or a list or dict of specs.
        out_specs: likewise for the result or results, whose parts are put side by side. Along an
            axis that a spec does not name, all devices are expected to give the same.

    Returns:
        a function whose results are on the mesh, divided by ``out_specs``. Differentiable in both
        modes.

    Raises, when that function is called:
        ArgumentError: no tensor is among the arguments; specs do not fit them.
        PlacementError: the mesh lacks an axis, or a dimension cannot be divided.
        ReadForbiddenError: ``f`` needs data, for a branch, a print or a shape.
        AliasError: ``f`` writes to a tensor that it did not make.

    The definition is that of ``jax.shard_map``.

    Example:

        >>> import lazyloom.distributed as dist
        >>> def share(part):
        ...     return part / dist.all_reduce(part.sum(), "sum", group="data")
        >>> mesh = lazyloom.make_mesh({"data": 1})
        >>> f = lazyloom.shard_map(share, mesh=mesh, in_specs=("data",), out_specs=("data",))
        >>> f(np.array([1.0, 3.0]))
        array([0.25, 0.75])
    """
    of = described(f, f"{NAME}: f")
    if not isinstance(mesh, Mesh):
        raise ArgumentError(f"{NAME}: the mesh is a {type_name(mesh)}, expected a lazyloom.Mesh")

    @functools.wraps(f)
    def mapped(*arguments: Any) -> Any:
        return _call(f, of, mesh, in_specs, out_specs, arguments)

    return mapped


def _call(
    f: Callable[..., Any], of: str, mesh: Mesh, in_specs: Any, out_specs: Any,
    arguments: tuple[Any, ...],
) -> Any:  # fmt: skip
    given, nesting = flatten(list(arguments), Tensor)
    like = first_tensor(NAME, given)
    leaves = Leaves(NAME, "the arguments", given, like)
    placements = list(_spread(in_specs, list(arguments), mesh, "in_specs"))
    own: list[TensorType] = []
    for number, (t, p) in enumerate(zip(leaves.types, placements, strict=True)):
        check_divides(p, t.shape, f"{NAME}: argument leaf {number}")
        own.append(tensor_type(
            tuple([n // p.parts(d) for d, n in enumerate(t.shape)]), t.dtype))
    body = _Body(f, of, leaves, nesting, like)
    outside = Outside()
    with mapped_over(mesh.shape, like):
        recorded = Recorded(BodyCall(NAME, user_site(), of, False), body.run, own, outside)
    out = list(_spread(out_specs, body.result, mesh, "out_specs"))
    if not recorded.results:
        return body.nesting.build([])
    flags = [_anywhere(recorded, flag.use, mesh) for flag in recorded.flags]
    whole = on_mesh(mesh, ())
    for number, (t, p) in enumerate(zip(recorded.result_types, out, strict=True)):
        if len(p.spec or ()) > len(t.shape):
            raise PlacementError(
                f"{NAME}: leaf {number} of what the {of} gives is a {t.text}, and its partition "
                f"spec is for {len(p.spec or ())} dimensions")
    operands = [moved(v, p) for v, p in zip(leaves.values(), placements, strict=True)]
    further = outside.operands()
    texts = [p.sharding for p in placements] + ["()"] * len(further)
    outputs = results_of(
        "shard_map", [*operands, *[moved(x, whole) if isinstance(x, Value) else x
                                   for x in further]],
        {"body": recorded.text([*recorded.results, *flags]),
         "mesh": ",".join([f"{name}={n}" for name, n in mesh.axes]),
         "in_specs": " ".join(texts),
         "out_specs": " ".join([p.sharding for p in out] + ["()"] * len(flags))}, [recorded])
    count = len(recorded.results)
    results = checked(
        outputs[:count], list(zip(outputs[count:], recorded.flags, strict=True)))
    return body.nesting.build([
        wrap_as(t if isinstance(t, Tensor) else like, moved(v, p))
        for t, v, p in zip(body.given, results, out, strict=True)])


def _anywhere(recorded: Recorded, flag: Any, mesh: Mesh) -> Any:
    """A flag of the body, true if it is on any device."""
    return recorded.add("all_reduce", [flag], {
        "reduction": "or", "group": tuple(range(mesh.size)), "world": mesh.size,
        "axes": ",".join(mesh.shape)})


def _spread(specs: Any, values: Any, mesh: Mesh, what: str) -> Iterator[Placement]:
    """The placement of each leaf of nested values, by specs for them or for what contains them."""
    if isinstance(specs, (str, tuple)):
        for item in specs if isinstance(specs, tuple) else ():
            if isinstance(item, (tuple, list)) and len(item) < 2:
                raise ArgumentError(
                    f"{NAME}: {what} has the partition spec {specs!r}, expected None, the name of "
                    "an axis or a tuple of several names for each dimension; give the specs of "
                    "several values as a list")
        placement = on_mesh(mesh, specs)
        for _ in flatten(values, Tensor)[0]:
            yield placement
        return
    if isinstance(specs, list) and isinstance(values, (list, tuple)) and len(specs) == len(values):
        for each, value in zip(specs, values, strict=True):
            yield from _spread(each, value, mesh, what)
        return
    if isinstance(specs, dict) and isinstance(values, dict) and specs.keys() == values.keys():
        for key in values:
            yield from _spread(specs[key], values[key], mesh, what)
        return
    count = f"{len(values)} values" if isinstance(values, (list, tuple, dict)) else "one value"
    raise ArgumentError(
        f"{NAME}: {what} is {specs!r}, expected for {count} a partition spec, a tuple such as "
        "('data', None), or a list or dict of as many")


class _Body:
    """One run of the function."""

    def __init__(
        self, f: Callable[..., Any], of: str, leaves: Leaves, nesting: TreeDef, like: Any
    ) -> None:
        self.f, self.of, self.leaves, self.arguments, self.like = f, of, leaves, nesting, like
        self.result: Any = None
        self.given: list[Any] = []
        self.nesting: TreeDef = TreeDef("none")

    def run(self, values: list[Value]) -> list[Value | Scalar]:
        self.result = self.f(*self.arguments.build(
            [self.leaves.tensor(i, v) for i, v in enumerate(values)]))
        self.given, self.nesting = flatten(self.result, Tensor)
        return [as_result(x, f"{NAME}: leaf {i} of what the {self.of} gives", None, self.like)
                for i, x in enumerate(self.given)]
