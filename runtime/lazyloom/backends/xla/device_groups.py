"""Which devices take part in a collective, as the text of HLO says: groups, and axes of a mesh."""

from __future__ import annotations

import itertools
import re
from typing import Final

from ...placements import Mesh

#: ``{{0,1},{2,3}}``, of groups of devices or of pairs of sender and receiver
_LISTED: Final = re.compile(r"(replica_groups|source_target_pairs)=\{(\{[\d,{}]*\})?\}")
#: ``[4,2]<=[8]`` or ``[2,4]<=[4,2]T(1,0)``: numbers in a grid, whose rows are the groups
_GRID: Final = re.compile(r"replica_groups=(\[[\d,]+\]<=\[[\d,]+\](?:T\([\d,]+\))?)")
#: ``mesh['axis_0'=4,'axis_1'=2], device_ids=([2,4]T(1,0)) {'axis_0'}``: axes of a mesh of its own
_MESH: Final = re.compile(
    r"replica_groups=mesh\[([^]]*)\](?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))? "
    r"\{([^}]*)\}")


def axes_of(attributes: str, mesh: Mesh) -> tuple[str, ...]:
    """Return the mesh axes along which the devices of a collective differ; () if it does not say.

    Args:
        attributes: the text of the instruction.
        mesh: whose devices are numbered in row-major order.
    """
    groups = _groups(attributes, mesh.size)
    varying: set[str] = set()
    sizes = [n for _, n in mesh.axes]
    for group in groups:
        places = [_place(n, sizes) for n in group if n < mesh.size]
        for k, (name, _) in enumerate(mesh.axes):
            if len({place[k] for place in places}) > 1:
                varying.add(name)
    return tuple([name for name, _ in mesh.axes if name in varying])


def _groups(attributes: str, size: int) -> list[list[int]]:
    """Return the groups of devices, or pairs of them; none if the form is not known."""
    listed = _LISTED.search(attributes)
    if listed is not None:
        if listed[2] is None:
            return [list(range(size))]
        return [_numbers(g) for g in re.findall(r"\{([\d,]*)\}", listed[2])]
    grid = _GRID.search(attributes)
    if grid is not None:
        shape, _, source = grid[1].partition("<=")
        extents = _numbers(shape.strip("[]"))
        dimensions, _, order = source.partition("T")
        numbers = _transposed(
            _numbers(dimensions.strip("[]")), _numbers(order.strip("()")) if order else None)
        return [numbers[k:k + extents[-1]] for k in range(0, len(numbers), extents[-1])]
    of_mesh = _MESH.search(attributes)
    if of_mesh is not None:
        return _mesh_groups(of_mesh, size)
    return []


def _mesh_groups(found: re.Match[str], size: int) -> list[list[int]]:
    """Return the groups of devices that differ along the named axes of a mesh."""
    names = re.findall(r"'([^']*)'=(\d+)", found[1])
    extents = [int(n) for _, n in names]
    chosen = re.findall(r"'([^']*)'(?!:)", found[4])
    if len(chosen) != len([part for part in found[4].split(",") if part]):
        return []  # a part of an axis
    numbers = list(range(size)) if found[2] is None else _transposed(
        _numbers(found[2]), _numbers(found[3]) if found[3] else None)
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, place in zip(
        numbers, itertools.product(*[range(n) for n in extents]), strict=False
    ):
        key = tuple([p for p, (name, _) in zip(place, names, strict=True) if name not in chosen])
        groups.setdefault(key, []).append(number)
    return list(groups.values())


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",") if n]


def _place(number: int, sizes: list[int]) -> tuple[int, ...]:
    """Return the place along each axis of a device in row-major order."""
    place: list[int] = []
    for size in reversed(sizes):
        number, at = divmod(number, size)
        place.append(at)
    return tuple(reversed(place))


def _transposed(sizes: list[int], order: list[int] | None) -> list[int]:
    """Return the numbers of a grid in row-major order, once its axes are in another order."""
    if order is None:
        order = list(range(len(sizes)))
    steps = [1] * len(sizes)
    for k in range(len(sizes) - 2, -1, -1):
        steps[k] = steps[k + 1] * sizes[k + 1]
    return [sum(at * steps[axis] for at, axis in zip(place, order, strict=True))
            for place in itertools.product(*[range(sizes[axis]) for axis in order])]
