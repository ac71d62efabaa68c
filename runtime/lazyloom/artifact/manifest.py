"""What an exported program's file says of itself: JSON, every field of which is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..dtypes import DType, dtype_named
from ..errors import ArgumentError, LoomError
from . import nesting

FORMAT: Final = "lazyloom exported program"
#: the version of the format that this module writes; it reads all from 1 on
VERSION: Final = 3
#: the version of files without derivatives, which earlier ones read
_WITHOUT_DERIVATIVES: Final = 2
#: the version of files without ops and engines, too
_WITHOUT_ENGINES: Final = 1

#: how the names of members end that came with version 2
_SINCE_2: Final = (".ops.json", "engines.bin")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class LeafSpec(NamedTuple):
    """A tensor among the arguments: its name, dtype and shape, with symbols for what varies."""

    name: str
    dtype: DType
    shape: tuple[int | str, ...]

    @property
    def text(self) -> str:
        """Such as ``float32[batch,3]``."""
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


class ParameterSpec(NamedTuple):
    """A parameter: its name, dtype and shape."""

    name: str
    dtype: DType
    shape: tuple[int, ...]


class GeneratorSpec(NamedTuple):
    """A generator of random numbers: what a call draws, and the state to start from.

    Attributes:
        draws: how many draws a call makes.
        key: two words of 32 bits.
        number: the number of the next draw.
    """

    draws: int
    key: tuple[int, int]
    number: int


class ResultSpec(NamedTuple):
    """A result: its dtype and shape."""

    dtype: DType
    shape: tuple[int, ...]


class CheckSpec(NamedTuple):
    """A condition of the results; see the op ``checked``."""

    kind: str
    of: str
    info: tuple[int, ...]


class Differentiable(NamedTuple):
    """What derivatives are by: the numbers of arguments and of parameters, each in order."""

    arguments: tuple[int, ...]
    parameters: tuple[int, ...]


class Vjp(NamedTuple):
    """The module that pulls cotangents back through the one before it.

    Attributes:
        module: the name of its file.
        checks: each condition, whose flags are the module's last results.
    """

    module: str
    checks: tuple[CheckSpec, ...]


class Specialization(NamedTuple):
    """The program for one choice of the extents that vary.

    Attributes:
        module: the name of its file.
        extents: the extent of each symbol.
        results: each result.
        checks: each condition, whose flags are the module's last results.
        vjps: the VJP of the module, then the VJP of that one, and so on.
    """

    module: str
    extents: Mapping[str, int]
    results: tuple[ResultSpec, ...]
    checks: tuple[CheckSpec, ...]
    vjps: tuple[Vjp, ...] = ()


class FileSpec(NamedTuple):
    """A file of the archive: its size and the SHA-256 of its bytes in hex."""

    size: int
    sha256: str


class Manifest(NamedTuple):
    """All that is said of an exported program. ``docs/export.md`` has the fields."""

    name: str
    created_by: Mapping[str, str]
    stablehlo: str
    platform: str
    custom_calls: tuple[str, ...]
    positional: tuple[str, ...]
    arguments: dict[str, Any]
    results: dict[str, Any]
    leaves: tuple[LeafSpec, ...]
    parameters: tuple[ParameterSpec, ...]
    aliases: Mapping[str, str]
    generators: tuple[GeneratorSpec, ...]
    specializations: tuple[Specialization, ...]
    metadata: Mapping[str, str]
    files: Mapping[str, FileSpec]
    differentiable: Differentiable | None = None

    @property
    def vjp_order(self) -> int:
        """How often the program can be differentiated."""
        return len(self.specializations[0].vjps)

    def symbols(self) -> list[str]:
        """Return the names of the extents that vary, in order of use."""
        return list(dict.fromkeys(
            [d for leaf in self.leaves for d in leaf.shape if isinstance(d, str)]))


def packed(m: Manifest) -> bytes:
    """Return a manifest as JSON."""
    version = VERSION if m.differentiable is not None else _WITHOUT_DERIVATIVES if any(
        name.endswith(_SINCE_2) for name in m.files) else _WITHOUT_ENGINES
    fields: dict[str, Any] = {"format": FORMAT, "version": version}
    for key, value in m._asdict().items():
        fields[key] = _plain(value)
    if version < VERSION:
        del fields["differentiable"]
        for s in fields["specializations"]:
            del s["vjps"]
    return json.dumps(fields, indent=1, ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, DType):
        return value.name
    if hasattr(value, "_asdict"):
        return {k: _plain(v) for k, v in value._asdict().items()}
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value


def unpacked(data: bytes, where: str) -> Manifest:
    """Return the manifest that was packed to ``data``.

    Args:
        where: what messages call the file.

    Raises ArgumentError for anything else: another format or version, missing or unknown fields,
    fields of another kind.
    """
    try:
        fields = json.loads(data)
    except ValueError as error:
        raise ArgumentError(
            f"{where}: its manifest is no JSON ({error}); the file is damaged") from error
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise ArgumentError(
            f"{where}: it is no exported program, expected a file that lazyloom.export wrote")
    version = fields.get("version")
    if type(version) is not int or version < 1:
        raise ArgumentError(f"{where}: its version is {version!r:.60}, expected an integer from 1")
    if version > VERSION:
        raise ArgumentError(
            f"{where}: it has version {version} of the format, and this Lazyloom reads up to "
            f"version {VERSION}; install the one that wrote it "
            f"({fields.get('created_by')!r:.200}) or a later one")
    del fields["format"], fields["version"]
    try:
        return _manifest(fields, version >= VERSION)
    except (ValueError, KeyError, TypeError, LoomError) as error:
        raise ArgumentError(
            f"{where}: its manifest is none of version {version}: {error}; the file is damaged or "
            "was changed") from error


def _manifest(fields: Mapping[str, Any], derivatives: bool) -> Manifest:
    _known(fields, Manifest, () if derivatives else ("differentiable",))
    leaves = _list(fields, "leaves", _leaf)
    results = _list(fields, "specializations", lambda s: _specialization(s, derivatives))
    if not results:
        raise ValueError("it has no specialization")
    if len({len(s.results) for s in results}) > 1:
        raise ValueError("its specializations have different numbers of results")
    seen: list[int] = []
    nesting.check(fields["arguments"], len(leaves), seen)
    if seen != list(range(len(leaves))):
        raise ValueError("its arguments do not have each leaf once, in order")
    seen = []
    nesting.check(fields["results"], len(results[0].results), seen)
    if seen != list(range(len(results[0].results))):
        raise ValueError("its results do not have each leaf once, in order")
    _check_arguments(fields["arguments"], fields["positional"])
    m = Manifest(
        _text(fields["name"]), _texts(fields["created_by"]), _text(fields["stablehlo"]),
        _text(fields["platform"]), tuple(_list(fields, "custom_calls", _text)),
        tuple(_list(fields, "positional", _text)), fields["arguments"], fields["results"],
        tuple(leaves), tuple(_list(fields, "parameters", _parameter)), _texts(fields["aliases"]),
        tuple(_list(fields, "generators", _generator)), tuple(results),
        _texts(fields["metadata"]),
        {_text(k): _file(v) for k, v in _mapping(fields["files"]).items()},
        _differentiable(fields["differentiable"]) if derivatives else None)
    symbols = set(m.symbols())
    for s in results:
        if set(s.extents) != symbols:
            raise ValueError(f"a specialization has extents of {sorted(s.extents)}, expected of "
                             f"{sorted(symbols)}")
        for module in (s.module, *[v.module for v in s.vjps]):
            if module not in m.files:
                raise ValueError(f"there is no file {module!r:.60} for a specialization")
        if len(s.vjps) != m.vjp_order:
            raise ValueError("its specializations have different numbers of VJPs")
    modules = [name for s in results for name in (s.module, *[v.module for v in s.vjps])]
    if len(set(modules)) != len(modules):
        raise ValueError("two of its specializations or VJPs have one module")
    names = [p.name for p in m.parameters]
    if len(set(names)) != len(names) or not set(m.aliases.values()) <= set(names):
        raise ValueError("its parameters have no unique names, or an alias names none of them")
    if m.differentiable is not None:
        _check_differentiable(m, m.differentiable)
    return m


def _check_arguments(tree: Mapping[str, Any], positional: Any) -> None:
    """Raise ValueError unless a tree is one of positional arguments and those by name."""
    given = tree.get("tuple", ())
    if [*map(list, given)] != [["tuple"], ["dict"]]:
        raise ValueError("its arguments are no tuple of positional ones and those by name")
    names = [name for name, _ in given[1]["dict"]]
    if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"its arguments by name are {names!r:.60}, expected a name for each")
    if len(positional) > len(given[0]["tuple"]):
        raise ValueError(f"it has the names {positional!r:.60} of positional arguments, and "
                         f"{len(given[0]['tuple'])} of these")


def _check_differentiable(m: Manifest, by: Differentiable) -> None:
    for what, numbers, given in (("arguments", by.arguments, m.leaves),
                                 ("parameters", by.parameters, m.parameters)):
        dtypes = [g.dtype for g in given]
        if list(numbers) != sorted(set(numbers)) or any(
            n >= len(dtypes) or not dtypes[n].is_inexact for n in numbers
        ):
            raise ValueError(
                f"derivatives are by its {what} {list(numbers)}, expected numbers of "
                "floating-point or complex ones, in order")
    if not any(r.dtype.is_inexact for r in m.specializations[0].results):
        raise ValueError("it has derivatives, and no result is floating-point or complex")


def _known(fields: Any, kind: Any, without: Sequence[str] = ()) -> None:
    expected = set(kind._fields) - set(without)
    if set(_mapping(fields)) != expected:
        unknown, missing = sorted(set(fields) - expected), sorted(expected - set(fields))
        raise ValueError(f"the fields {unknown} are unknown and {missing} are missing")


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.60} is no object")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is no text")
    return value


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.60} is no integer from 0 on")
    return value


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.60} is no integer")
    return value


def _texts(value: Any) -> dict[str, str]:
    return {k: _text(v) for k, v in _mapping(value).items()}


def _list(fields: Mapping[str, Any], name: str, read: Callable[[Any], Any]) -> list[Any]:
    value = fields[name]
    if not isinstance(value, list):
        raise TypeError(f"{name} is {value!r:.60}, no array")
    return [read(v) for v in value]


def _shape(fields: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(_list(fields, "shape", _number))


def _leaf(fields: Any) -> LeafSpec:
    _known(fields, LeafSpec)
    shape = _list(fields, "shape", lambda d: d if isinstance(d, str) else _number(d))
    return LeafSpec(_text(fields["name"]), dtype_named(_text(fields["dtype"])), tuple(shape))


def _parameter(fields: Any) -> ParameterSpec:
    _known(fields, ParameterSpec)
    return ParameterSpec(
        _text(fields["name"]), dtype_named(_text(fields["dtype"])), _shape(fields))


def _generator(fields: Any) -> GeneratorSpec:
    _known(fields, GeneratorSpec)
    key = _list(fields, "key", _number)
    if len(key) != 2 or max(key) >= 1 << 32:
        raise ValueError(f"the key of a generator is {key!r:.60}, no two words of 32 bits")
    return GeneratorSpec(_number(fields["draws"]), (key[0], key[1]), _number(fields["number"]))


def _result(fields: Any) -> ResultSpec:
    _known(fields, ResultSpec)
    return ResultSpec(dtype_named(_text(fields["dtype"])), _shape(fields))


def _check(fields: Any) -> CheckSpec:
    _known(fields, CheckSpec)
    return CheckSpec(_text(fields["kind"]), _text(fields["of"]),
                     tuple(_list(fields, "info", _integer)))


def _differentiable(fields: Any) -> Differentiable:
    _known(fields, Differentiable)
    return Differentiable(tuple(_list(fields, "arguments", _number)),
                          tuple(_list(fields, "parameters", _number)))


def _vjp(fields: Any) -> Vjp:
    _known(fields, Vjp)
    return Vjp(_text(fields["module"]), tuple(_list(fields, "checks", _check)))


def _specialization(fields: Any, derivatives: bool) -> Specialization:
    _known(fields, Specialization, () if derivatives else ("vjps",))
    return Specialization(
        _text(fields["module"]), {k: _number(v) for k, v in _mapping(fields["extents"]).items()},
        tuple(_list(fields, "results", _result)), tuple(_list(fields, "checks", _check)),
        tuple(_list(fields, "vjps", _vjp)) if derivatives else ())


def _file(fields: Any) -> FileSpec:
    _known(fields, FileSpec)
    digest = _text(fields["sha256"])
    if not _SHA256.fullmatch(digest):
        raise ValueError(f"the checksum {digest!r:.80} is no SHA-256 in hex")
    return FileSpec(_number(fields["size"]), digest)


def shown(types: Sequence[Any]) -> str:
    """Return types for messages."""
    return ", ".join([f"{t.dtype.name}[{','.join(map(str, t.shape))}]" for t in types])
