"""Checks: conditions that a program evaluates beside its results.

Whether an index that is data is out of range is known only when the program has run, and no
program can raise an error. So the op ``checked`` (:mod:`lazyloom.ops.structural`) passes a value
through together with a flag; a run keeps the flags, and each of its results the checks that it
depends on. Whoever reads the data examines them first. Nothing waits for a flag before that: a
flag costs the program one small output, and the read one more copy of a number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from ..backends.data import host_array
from ..backends.returned import WrongResult
from ..backends.selection import backend
from ..errors import ArgumentError, IndexRangeError, LoomError
from ..interrupts import reraise_from_handler
from ..trace.graph import Buffer, Node
from ..trace.source import Site
from ..types import TensorType

#: says what a flag that is not zero means: an error, or None if the judge has dealt with it
Judge = Callable[[Any, "Check"], LoomError | None]

_judges: Final[dict[str, Judge]] = {}
#: held while a flag is examined, so that its judge is called once; a judge may read values itself
_looking: Final = threading.RLock()


class Check:
    """One condition of a run: the flag of one node ``checked``.

    Attributes:
        flag, type: the buffer of the flag, and its type.
        kind, of, info: the node's attributes.
        site: the place in the user's program where it was recorded.
        passed: it was examined, and nothing is wrong.
        error: what is wrong.

    Example:

        >>> def odd(flag, check):
        ...     return lazyloom.errors.ArgumentError(f"{check.of}, {check.info[0]} of them: odd")
        >>> lazyloom.register_check("odd", odd)
        >>> x, flag = lazyloom.from_host([1, 2]), lazyloom.from_host([True])
        >>> attributes = {"kind": "odd", "of": "numbers", "info": (2,)}
        >>> checked, _ = lazyloom.record("checked", [x, flag], attributes)
        >>> try:
        ...     checked.read()
        ... except lazyloom.errors.ArgumentError as error:
        ...     print(error)
        numbers, 2 of them: odd
    """

    __slots__ = ("flag", "type", "kind", "of", "info", "site", "passed", "error")

    def __init__(self, flag: Buffer, type: TensorType, attrs: dict[str, Any], site: Site) -> None:
        self.flag: Final = flag
        self.type: Final = type
        self.kind: Final[str] = attrs["kind"]
        self.of: Final[str] = attrs["of"]
        self.info: Final[tuple[int, ...]] = attrs["info"]
        self.site: Final = site
        self.passed = False
        self.error: LoomError | None = None

    def known_to_pass(self) -> bool:
        """Return True if nothing is wrong, as far as is known without waiting."""
        if not self.passed and self.error is None:
            array = self.flag.array
            host = self.flag.host
            if host is not None:
                self.passed = not _is_set(host)
                return self.passed
            try:
                if array is not None and backend().is_ready(array):
                    self.passed = not _is_set(host_array(array, self.type))
            except Exception as error:
                reraise_from_handler(error)
                return False  # a run that failed has an error of its own
        return self.passed

    def wait_for_error(self) -> LoomError | None:
        """The error, if there is one; waits for the flag."""
        if self.passed or self.error is not None:
            return self.error
        array = self.flag.array
        data = self.flag.host
        if array is None and data is None:
            return None  # as above
        with _looking:
            if self.passed or self.error is not None:
                return self.error
            try:
                if data is None:
                    data = host_array(array, self.type)
            except WrongResult as error:
                self.error = error
                return error
            except Exception as error:
                reraise_from_handler(error)
                return None  # as above
            self.error = _judge(self.kind)(data, self) if _is_set(data) else None
            self.passed = self.error is None
        return self.error


def _is_set(flag: Any) -> bool:
    """Return True if any element is not zero."""
    # NumPy takes ten times as long for any()
    return bool(flag.item() if flag.size == 1 else flag.any())


def register(kind: str, judge: Judge) -> None:
    """Register the meaning of a flag of this kind that is not zero.

    ``judge(data, check)`` gets the flag as a NumPy array and returns the error that readers
    get, or None if it has dealt with it (by a warning, say). It is called at most once for
    each check, when something that depends on the check is read.

    Example:

        >>> def negative(flag, check):
        ...     return lazyloom.errors.ArgumentError(f"{check.of}: a number is negative")
        >>> lazyloom.register_check("negative", negative)
        >>> x = lazyloom.from_host([1.0, -1.0])
        >>> below = lazyloom.record("less", [x, lazyloom.Scalar(0, x.dtype)])
        >>> flag = lazyloom.record("any", [below])
        >>> checked, _ = lazyloom.record("checked", [x, flag], {"kind": "negative", "of": "root"})
        >>> try:
        ...     lazyloom.record("sqrt", [checked]).read()
        ... except lazyloom.errors.ArgumentError as error:
        ...     print(error)
        root: a number is negative
    """
    _judges[kind] = judge


def _judge(kind: str) -> Judge:
    judge = _judges.get(kind)
    return _unknown if judge is None else judge


def _unknown(data: Any, check: Check) -> LoomError:
    return ArgumentError(
        f"checked: attribute 'kind' is {check.kind!r}, expected one that is registered: "
        f"{', '.join(sorted(_judges))}", op="checked",
        site=str(check.site))


def failed(buffer: Buffer) -> LoomError | None:
    """The error that a reader of the buffer gets from its checks; waits for their flags."""
    checks = buffer.checks
    if checks is not None:
        for check in checks:
            error: LoomError | None = check.wait_for_error()
            if error is not None:
                return error
        buffer.checks = None
    return None


def _open(buffer: Buffer) -> tuple[Check, ...]:
    """A leaf's checks except those that are known to have passed."""
    checks = buffer.checks
    if checks is None:
        return ()
    for check in checks:
        if not check.passed and not check.known_to_pass():
            break
    else:
        buffer.checks = None
        return ()
    remaining = tuple([c for c in checks if not c.known_to_pass()])
    buffer.checks = remaining or None
    return remaining


def attach(
    nodes: list[Node], leaves: list[Buffer], wanted: list[tuple[int, int]], results: list[Buffer],
) -> None:  # fmt: skip
    """Give each result of a plan the checks that it depends on, including those of its leaves.

    Called while the nodes still have their operands; the caller holds the lock.
    """
    flags: dict[int, Buffer] = {}
    for (slot, index), buffer in zip(wanted, results, strict=True):
        spec = nodes[slot].spec
        if index == 1 and spec is not None and spec.checked:
            flags[slot] = buffer
    all_checks: list[Check] = []
    bit_of: dict[Check, int] = {}
    of_leaf: dict[Buffer, int] = {}
    for leaf in leaves:
        if leaf.checks is not None:
            mask = 0
            for check in _open(leaf):
                mask |= _bit(check, all_checks, bit_of)
            if mask:
                of_leaf[leaf] = mask
    if not flags and not of_leaf:
        return
    masks: list[int] = []
    for slot, n in enumerate(nodes):
        mask = 0
        for position, m in enumerate(n.inputs):
            if isinstance(m, Node):
                if m.epoch == n.epoch:
                    mask |= masks[m.slot]
                elif of_leaf:
                    assert m.buffers is not None
                    leaf_buffer = m.buffers[0 if n.indices is None else n.indices[position]]
                    if leaf_buffer is not None:
                        mask |= of_leaf.get(leaf_buffer, 0)
        flag = flags.get(slot)
        if flag is not None:
            assert n.spec is not None
            flag.owners += 1  # the check owns it too: it is never donated
            mask |= _bit(Check(flag, n.types[1], n.spec.attrs, n.site), all_checks, bit_of)
        masks.append(mask)
    checks_by_mask: dict[int, tuple[Check, ...]] = {}
    for (slot, _), buffer in zip(wanted, results, strict=True):
        mask = masks[slot]
        if mask and buffer is not flags.get(slot):
            if mask not in checks_by_mask:
                checks_by_mask[mask] = tuple([c for i, c in enumerate(all_checks) if mask >> i & 1])
            buffer.checks = checks_by_mask[mask]


def attach_known(
    flags: dict[int, int], owns: list[list[int]], leaves_of: list[list[int]],
    leaves: list[Buffer], results: list[Buffer], nodes: list[Node],
) -> None:  # fmt: skip
    """:func:`attach` if the dependences are already known.

    Args:
        flags: the number of the result that is a checked op's flag, by the op's number.
        owns: for each result, the checked ops that it depends on.
        leaves_of: for each result, the leaves that it depends on.
    """
    new_checks: dict[int, Check] = {}
    for slot, number in flags.items():
        n = nodes[slot]
        assert n.spec is not None
        new_checks[slot] = Check(results[number], n.types[1], n.spec.attrs, n.site)
    open_checks: dict[int, tuple[Check, ...]] = {}
    for k, leaf in enumerate(leaves):
        if leaf.checks is not None:
            of_leaf = _open(leaf)
            if of_leaf:
                open_checks[k] = of_leaf
    if not new_checks and not open_checks:
        return
    for number, buffer in enumerate(results):
        result_checks: dict[Check, None] = {}
        if open_checks:
            for k in leaves_of[number]:
                for check in open_checks.get(k, ()):
                    result_checks[check] = None
        for slot in owns[number]:
            result_checks[new_checks[slot]] = None
        if result_checks:
            buffer.checks = tuple(result_checks)


def _bit(check: Check, all_checks: list[Check], bit_of: dict[Check, int]) -> int:
    bit = bit_of.get(check)
    if bit is None:
        bit = bit_of[check] = 1 << len(all_checks)
        all_checks.append(check)
    return bit


def _index(data: Any, check: Check) -> LoomError:
    if len(check.info) != 2:
        return ArgumentError(
            f"checked: attribute 'info' is {check.info!r}, expected an axis and a size",
            op="checked", site=str(check.site))
    axis, size = check.info
    bad = int(data[data != 0].flat[0])
    along = "" if axis < 0 else f"axis {axis} with "
    return IndexRangeError(
        f"index {bad} is out of bounds for {along}size {size} (op {check.of}, recorded at "
        f"{check.site})", op=check.of, site=str(check.site))


def _none(data: Any, check: Check) -> None:
    return None


register("index", _index)
register("none", _none)

__all__ = ["Check", "attach", "attach_known", "failed", "register"]
