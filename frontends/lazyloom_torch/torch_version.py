"""``torch.torch_version``: a version that compares as one."""

from __future__ import annotations

import re
from typing import Any

from . import version


def _parts(given: Any) -> tuple[int, ...]:
    numbers = re.findall(r"\d+", given.partition("+")[0]) if isinstance(given, str) else given
    return tuple(int(n) for n in numbers)


class TorchVersion(str):
    """A version string that compares, with strings and tuples of numbers, as versions do."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return _parts(str(self)) < _parts(other)

    def __le__(self, other: Any) -> bool:
        return _parts(str(self)) <= _parts(other)

    def __gt__(self, other: Any) -> bool:
        return _parts(str(self)) > _parts(other)

    def __ge__(self, other: Any) -> bool:
        return _parts(str(self)) >= _parts(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (str, tuple, list)) and _parts(str(self)) == _parts(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(version.__version__)
