"""What the array API standard asks a namespace about itself: devices, dtypes, capabilities."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import numpy as onp

import lazyloom

A = TypeVar("A")

API_VERSION: Final = "2024.12"

#: the versions that ``__array_namespace__`` accepts: each is a superset of the one before
API_VERSIONS: Final = ("2021.12", "2022.12", "2023.12", API_VERSION)

#: NumPy's limit, which printing and reading share
MAX_DIMENSIONS: Final = 64

_DEFAULT: Final = {
    "real floating": "float64", "complex floating": "complex128", "integral": "int64",
    "indexing": "int64",
}  # fmt: skip

_SIGNED: Final = ("int8", "int16", "int32", "int64")
_UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
_REAL: Final = ("float32", "float64")
_COMPLEX: Final = ("complex64", "complex128")

#: the standard's dtypes by kind; bfloat16 and float16 are there, but not in the standard
_KINDS: Final = {
    "bool": ("bool",), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED, "real floating": _REAL, "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}  # fmt: skip
_ALL: Final = _KINDS["bool"] + _KINDS["numeric"]


def device_name() -> str:
    """The device of new arrays: "cpu", or what else the runtime runs on."""
    return lazyloom.platform()


def device_of(a: lazyloom.Tensor) -> str:
    """The device that an array is on, or the text of the mesh that it is divided over."""
    placement = a.tensor_type.placement
    if placement.mesh is not None:
        return placement.mesh.shown
    return device_name() if placement.is_default else placement.device


def all_devices() -> list[str]:
    """The devices of this process, that of new arrays first."""
    return [device_name(), *[d for d in lazyloom.devices() if d != lazyloom.default_device()]]


def elsewhere(device: Any, function: str) -> bool:
    """Whether a device is another one than that of new arrays. ValueError if it is not known."""
    if device is None or device == device_name():
        return False
    if isinstance(device, str) and device in lazyloom.devices():
        return device != lazyloom.default_device()
    raise ValueError(
        f"{function}: device {device!r} is not known; expected None or one of "
        f"{', '.join(map(repr, all_devices()))}")


def onto(device: str, a: A) -> A:
    """The array on a device that is not that of new arrays."""
    moved: A = lazyloom.to_device(a, device)
    return moved


def check_api_version(version: str | None) -> None:
    """ValueError for a version of the standard that this namespace does not follow."""
    if version is not None and version not in API_VERSIONS:
        raise ValueError(
            f"Version {version!r} of the array API standard is not supported; expected None or "
            f"one of {', '.join(API_VERSIONS)}")


class __array_namespace_info__:  # noqa: N801
    """What this namespace can do, as the array API standard (2024.12) asks it.

    ``np.__array_namespace_info__()`` has the methods ``capabilities``, ``default_device``,
    ``default_dtypes``, ``devices`` and ``dtypes``. See ``numpy.__array_namespace_info__``.
    """

    __module__ = "lazyloom_numpy"

    def capabilities(self) -> dict[str, Any]:
        """Which optional parts of the standard there are: all, and 64 dimensions at most.

        Boolean indexing and results whose shape depends on data read their argument.
        """
        return {"boolean indexing": True, "data-dependent shapes": True,
                "max dimensions": MAX_DIMENSIONS}  # fmt: skip

    def default_device(self) -> str:
        """The device of new arrays."""
        return device_name()

    def devices(self) -> list[str]:
        """The devices of this process, that of new arrays first."""
        return all_devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of new arrays by kind. ValueError for an unknown device."""
        elsewhere(device, "default_dtypes")
        return {kind: onp.dtype(name) for kind, name in _DEFAULT.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's dtypes by name.

        Args:
            kind: one of "bool", "signed integer", "unsigned integer", "integral",
                "real floating", "complex floating", "numeric", a tuple of them, or None
                for all.

        Raises:
            ValueError: the device or the kind is not known.
        """
        elsewhere(device, "dtypes")
        return {name: onp.dtype(name) for name in _ALL if name in _names(kind)}


def _names(kind: Any) -> tuple[str, ...]:
    if kind is None:
        return _ALL
    if isinstance(kind, tuple):
        return tuple(name for k in kind for name in _names(k))
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise ValueError(f"dtypes: kind {kind!r} is not known; expected None, one of "
                         f"{', '.join(_KINDS)}, or a tuple of them")  # fmt: skip
    return found
