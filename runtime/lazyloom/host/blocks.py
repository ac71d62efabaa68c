"""Steps on large arrays in blocks that stay in the processor's cache.

A chain of steps each of which makes an array, one after the other, spends its time on memory: on
pages that the system has to hand out, most of all. Lines that compute each part along one axis from
the same part of their operands become a function of such a part, which is called block by block;
of what it makes only what is needed afterwards is there as a whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from .reuse import taken
from .writer import NAME, PartwiseValue, dtype_text

#: elements of a value from which its lines are grouped, and of the largest value in a block
BLOCKS_FROM_ELEMENTS: Final = 1 << 16
BLOCK: Final = 1 << 14

_MADE: Final = re.compile(r" *(v\d+) = ")


class _Group(NamedTuple):
    """Lines that go together.

    Attributes:
        lines: their texts.
        before: the other lines among them, which do not depend on them.
        end: the number of the first line after all those.
        operands: of each value that is given in parts, the axis of the parts.
        axes: of each value that the group makes, the same.
        extent: the length of that axis.
        work: elements of all that it makes.
    """

    lines: list[str]
    before: list[str]
    end: int
    operands: dict[str, int]
    axes: dict[str, int]
    extent: int
    work: int


def blocked(
    lines: list[str], made: Mapping[str, PartwiseValue], kept: set[str], indent: str, fresh: Any
) -> list[str]:
    """The lines of a function's body, those that go together as functions of their own.

    ``made`` says how values are made, by name, ``kept`` which are returned, ``fresh`` gives names.
    """
    if not any(f.size >= BLOCKS_FROM_ELEMENTS for f in made.values()):
        return lines
    found: list[str] = []
    at = 0
    while at < len(lines):
        group = _best(lines, at, made, indent)
        if group is None:
            found.append(lines[at])
            at += 1
            continue
        rest = kept.union(*map(NAME.findall, lines[group.end :]))
        wanted = [n for n in group.axes if n in rest]
        text = _text(group, made, wanted, rest, indent, fresh) if wanted else []
        found += blocked(
            group.before, made, rest.union(*map(NAME.findall, text)), indent, fresh)
        found += text
        at = group.end
    return found


def _best(
    lines: list[str], at: int, made: Mapping[str, PartwiseValue], indent: str
) -> _Group | None:
    """The group that begins with a line, along the axis that takes most in; None if none pays."""
    how = _how(lines[at], made, indent)
    if how is None or how.size < BLOCKS_FROM_ELEMENTS:
        return None
    shape = max((how.actual, *(x.actual for x in how.operands)), key=math.prod)
    best: tuple[tuple[bool, int], _Group] | None = None
    for axis, extent in enumerate(shape):
        if extent > 1:
            group = _grown(lines, at, made, indent, shape, axis)
            if len(group.lines) < 2 or _rows(group, made) * 2 > extent:
                continue
            size = _largest(group, made) // extent * _rows(group, made)
            rank = (size <= 4 * BLOCK, group.work)
            if best is None or rank > best[0]:
                best = rank, group
    return None if best is None else best[1]


def _how(line: str, made: Mapping[str, PartwiseValue], indent: str) -> PartwiseValue | None:
    match = _MADE.match(line)
    if match is None or not line.startswith(indent) or line[len(indent)] == " ":
        return None
    return made.get(match[1])


def _grown(
    lines: list[str], at: int, made: Mapping[str, PartwiseValue], indent: str, shape: tuple[int,
        ...],
    axis: int,
) -> _Group:
    extent = shape[axis]
    group = _Group([], [], at, {}, {}, extent, 0)
    whole: set[str] = set()
    work = 0
    number = at
    while number < len(lines):
        line = lines[number]
        if not _MADE.match(line) or line[len(indent)] == " ":
            break
        how = _how(line, made, indent)
        text = None if how is None else _placed(how, group, whole, shape, axis)
        if text is not None and how is not None:
            group.lines.append(line[: line.index("= ") + 2] + text if text else line)
            work += how.size
        elif any(name in group.axes for name in NAME.findall(line)):
            break
        else:
            group.before.append(line)
        number += 1
    # what comes after the last line of the group need not come before it
    return group._replace(end=number, work=work)


def _placed(
    how: PartwiseValue, group: _Group, whole: set[str], shape: tuple[int, ...], axis: int
) -> str | None:
    """Add a line to a group if it can be: its expression if another than it was, "" if not."""
    known: dict[str, int] = {}
    for x in how.operands:
        place = group.axes.get(x.text, group.operands.get(x.text))
        if place is not None:
            known[x.text] = place
    first = next((x for x in how.operands if x.text in known), None)
    spread = how.kind in ("elementwise", "broadcast")
    if first is not None:
        behind = len(first.actual) - known[first.text]
    else:
        given = next((x for x in how.operands if x.actual == shape), None)
        if given is None and not (spread and how.actual == shape):
            return None
        behind = len(shape) - axis
    slices: dict[str, int] = {}
    for x in how.operands:
        place = len(x.actual) - behind
        varies = place >= 0 and x.actual[place] != 1
        if varies and x.actual[place] != group.extent:
            return None
        if x.text in known:
            if not varies or known[x.text] != place:
                return None
        elif varies:
            if x.text in whole:
                return None
            slices[x.text] = place
    place = len((how.operands[0] if how.operands else how).actual) - behind
    text = ""
    if how.kind == "reduce":
        if place in how.axes:
            return None
        at = place - sum(a < place for a in how.axes)
    elif how.kind == "reshape":
        old, new = how.operands[0].actual, how.actual
        before = math.prod(old[:place])
        at = next((k for k, n in enumerate(new) if n == group.extent
                   and math.prod(new[:k]) == before), -1)
        if at < 0 or 0 in new:
            return None
        sizes = tuple(-1 if k == at else n for k, n in enumerate(new))
        text = f"{how.operands[0].text}.reshape({sizes})"
    else:
        at = len(how.actual) - behind
        if at < 0 or how.actual[at] != group.extent:
            return None
        if how.kind == "broadcast":
            sizes_text = "".join(f"{'n' if k == at else n}, " for k, n in enumerate(how.actual))
            text = f"broadcast({how.operands[0].text}, ({sizes_text}))"
    group.operands.update(slices)
    whole.update(x.text for x in how.operands if x.text not in slices and x.text not in known)
    group.axes[how.name] = at
    return text


def _largest(group: _Group, made: Mapping[str, PartwiseValue]) -> int:
    return max(made[name].size for name in group.axes)


def _rows(group: _Group, made: Mapping[str, PartwiseValue]) -> int:
    """How many positions of the axis go into a block."""
    return max(1, BLOCK * group.extent // _largest(group, made))


def _text(
    group: _Group, made: Mapping[str, PartwiseValue], wanted: Sequence[str], rest: set[str],
    indent: str,
    fresh: Any,
) -> list[str]:
    name = fresh("f")
    operands = list(group.operands)
    results = "".join(
        f"({made[n].actual}, {dtype_text(made[n].dtype)}, {group.axes[n]}), " for n in wanted)
    given = "".join(f"{x}, " for x in operands)
    axes = "".join(f"{group.operands[x]}, " for x in operands)
    ended = "".join(f"{x not in rest and x[0] in 'ab'}, " for x in operands)
    return [
        f"{indent}def {name}(n, {given}):",
        *(f"    {line}" for line in group.lines),
        f"{indent}    return ({''.join(n + ', ' for n in wanted)})",
        f"{indent}{', '.join(wanted)}{',' if len(wanted) == 1 else ''} = in_blocks("
        f"{name}, ({given}), ({axes}), ({results}), {group.extent}, {_rows(group, made)}, "
        f"({ended}))",
    ]


def _over(
    operands: tuple[Any, ...], axes: tuple[int, ...], ended: tuple[bool, ...],
    shape: tuple[int, ...], dtype: Any, axis: int,
) -> Any:
    """Memory for a result: that of an operand that nobody needs any more, or new."""
    for x, a, over in zip(operands, axes, ended, strict=True):
        if over and a == axis and x.shape == shape and x.dtype == dtype and taken(x):
            return x
    return np.empty(shape, dtype)


def used_once(lines: Sequence[str], operands: Sequence[str]) -> list[int]:
    """Which operands of a kernel stand in one place of its lines, functions apart that get them."""
    counts = dict.fromkeys(operands, 0)
    inside: list[tuple[int, set[str]]] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        while inside and indent <= inside[-1][0]:
            inside.pop()
        names = NAME.findall(line)
        if line.lstrip().startswith("def "):
            inside.append((indent, set(names)))
            continue
        hidden = set().union(*(given for _, given in inside))
        for name in names:
            if name in counts and name not in hidden:
                counts[name] += 1
    return [k for k, name in enumerate(operands) if counts[name] == 1]


def in_blocks(
    function: Any, operands: tuple[Any, ...], axes: tuple[int, ...],
    results: tuple[tuple[tuple[int, ...], Any, int], ...], extent: int, rows: int,
    ended: tuple[bool, ...],
) -> list[Any]:
    """Arrays whose parts a function makes of the same parts of operands.

    ``ended`` says which operands are not used afterwards: results may be written over them.
    """
    made = [_over(operands, axes, ended, *r) for r in results]
    # every array with the axis first
    into = [x.swapaxes(0, r[2]) if r[2] else x for x, r in zip(made, results, strict=True)]
    pairs = list(zip(operands, [(slice(None),) * a for a in axes], strict=True))
    back = [r[2] for r in results]
    for start in range(0, extent, rows):
        end = min(start + rows, extent)
        part = slice(start, end)
        parts = function(end - start, *[x[(*lead, part)] for x, lead in pairs])
        for x, new, axis in zip(into, parts, back, strict=True):
            x[part] = new.swapaxes(0, axis) if axis else new
    return made
