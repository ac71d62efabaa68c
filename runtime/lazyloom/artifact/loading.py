"""``load``: an exported program as a function of tensors."""

from __future__ import annotations

import functools
import io
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..backends.selection import backend
from ..cache import disk
from ..cache.portable import CacheInfo
from ..cache.portable import load as load_entries
from ..dtypes import int64, uint32
from ..errors import ArgumentError, DTypeError, ShapeError, type_name
from ..ops.modules import signature_of
from ..ops.spec import lookup
from ..placements import DEFAULT_PLACEMENT
from ..tensor.host import from_host
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_in
from ..trace.graph import Value
from ..trace.recording import record, record_spec
from ..trace.scalars import Scalar
from ..trace.specs import Spec, spec_of
from ..types import TensorType, tensor_type
from . import container, nesting, ops, safetensors
from .derivatives import differentiated, types_of
from .manifest import CheckSpec, LeafSpec, Manifest, Specialization, shown
from .ops import ExportedOps

NAME: Final = "lazyloom.load"
_NUMBERS: Final = (bool, int, float, complex)
#: the kinds of dtypes that a number of a kind may become
_KINDS: Final = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}
#: the first draw's number of a seeded generator, as in the frontends
_FIRST: Final = 2
_WORD: Final = 1 << 32


class DrawState:
    """The state of a generator of random numbers that an exported program draws from.

    Attributes:
        draws: how many draws a call makes.
    """

    def __init__(self, key: tuple[int, int], number: int, draws: int) -> None:
        self.draws: Final = draws
        self._lock: Final = threading.RLock()
        self.set(key, number)

    def set(self, key: tuple[int, int], number: int) -> None:
        """Go on from a key, two words of 32 bits, and the number of the next draw."""
        with self._lock:
            self._words = (int(key[0]), int(key[1]))
            self._number = int(number)
            self._key = from_host(np.array(self._words, np.uint32))

    def seed(self, seed: int) -> None:
        """Start again from a seed of 64 bits, as ``manual_seed`` of the torch-like frontend."""
        if not 0 <= seed < 1 << 64:
            raise ArgumentError(f"seed: {seed} is given, expected an integer of 64 bits")
        self.set((seed >> 32, seed & (_WORD - 1)), _FIRST)

    @property
    def state(self) -> tuple[tuple[int, int], int]:
        """The key, and the number of the next draw: what :meth:`set` takes."""
        with self._lock:
            return self._words, self._number

    def take(self) -> list[Value]:
        """Return the key and the number for a call, and move on by its draws."""
        with self._lock:
            if self._number % _WORD + self.draws >= _WORD:
                # the number would wrap around, and draws repeat
                words = np.random.SeedSequence([*self._words, self._number]).generate_state(2)
                self.set((int(words[0]), int(words[1])), _FIRST)
            key, number = self._key, self._number
            self._number = number + self.draws
        counted: Value = record("full", [Scalar(number % _WORD, int64, bake=False)], {"shape": ()})
        return [key, counted]


class ExportedFunction:
    """An exported program, to be called as the function that it was.

    Made by :func:`lazyloom.load`. A call records one op, or with engines the ops of the program.
    The results are pending tensors like any others, of the class that the frontend of the first
    tensor argument uses. It has a derivative, in reverse mode, if it was exported with
    ``vjp_order``.

    Attributes:
        name: of the function that was exported.
        vjp_order: how often it can be differentiated.
        generators: the states of the generators that it draws from, in order of first use.
        extents: for each specialization, the extent of each symbol.
        created_by: the versions that wrote the file.
        metadata: the texts that were given to ``export``.
        stablehlo_version: the version of StableHLO that the modules are compatible with.
        engines: what became of each engine of code generators in the file, where ``load`` was told
            to take them; else None.
        without_engines: why none were taken; "" if they were, or were not asked for.

    Example:

        >>> import io
        >>> def scale(x, by):
        ...     return x * by
        >>> file = io.BytesIO()
        >>> lazyloom.export(scale, file, np.zeros(3), np.zeros(()))
        >>> loaded = lazyloom.load(file)
        >>> loaded(np.ones(3), by=np.array(2.0))
        array([2., 2., 2.])
        >>> loaded.name
        'scale'
    """

    def __init__(
        self, manifest: Manifest, files: Mapping[str, bytes], where: str, cls: Any,
        engines: bool = False,
    ) -> None:  # fmt: skip
        self._manifest: Final = manifest
        self._where: Final = where
        self._cls: Final = cls
        self.name: Final = manifest.name
        self.metadata: Final = dict(manifest.metadata)
        self.created_by: Final = dict(manifest.created_by)
        self.stablehlo_version: Final = manifest.stablehlo
        self.vjp_order: Final = manifest.vjp_order
        self.extents: Final = [dict(s.extents) for s in manifest.specializations]
        self.generators: Final = [
            DrawState(g.key, g.number, g.draws) for g in manifest.generators]
        arrays = safetensors.unpacked(
            files[container.PARAMETERS], {p.name: (p.dtype, p.shape) for p in manifest.parameters},
            f"{where}: its member {container.PARAMETERS}")
        self._names: Final = [p.name for p in manifest.parameters]
        self._parameters: Final[list[Value]] = [from_host(arrays[n]) for n in self._names]
        self._files: Final = {
            m: files[m] for s in manifest.specializations for m, _ in _modules(s)}
        self._specs: Final[dict[str, Spec]] = {}
        self._checks: Final = {
            m: [spec_of(lookup("checked"), c._asdict(), 2) for c in checks]
            for s in manifest.specializations for m, checks in _modules(s)}
        # a damaged module is an error of the load
        for s in manifest.specializations:
            for order in range(self.vjp_order + 1):
                self._spec(s, order)
        self.engines: CacheInfo | None = None
        self.without_engines = ""
        self._recorded: Final[dict[str, ExportedOps]] = {}
        if engines:
            self._take_engines(files)

    def _take_engines(self, files: Mapping[str, bytes]) -> None:
        """Have calls record the ops that engines of the file are parts of, where these fit."""
        if container.ENGINES not in files:
            self.without_engines = "the file was exported without engines=True"
            return
        if not disk.enabled():
            self.without_engines = "the disk cache, which holds engines, is off (LAZYLOOM_CACHE=0)"
            return
        for s in self._manifest.specializations:
            for order, (module, _) in enumerate(_modules(s)):
                name = container.ops_of(module)
                found = ops.unpacked(files.get(name, b""), f"{self._where}: its member {name}")
                if isinstance(found, str):
                    self.without_engines = found
                    self._recorded.clear()
                    return
                operands, results = signature_of(str(self._spec(s, order).attrs["module"]))
                if found.operands != tuple(operands) or found.results != tuple(results):
                    raise ArgumentError(
                        f"{self._where}: its member {name} takes {shown(found.operands)} and gives "
                        f"{shown(found.results)}, expected what {module} does; export it again")
                self._recorded[module] = found
        self.engines = load_entries(io.BytesIO(files[container.ENGINES]))

    # What it is.

    @property
    def argument_names(self) -> list[str]:
        """The names of the tensors among the arguments, in order."""
        return [leaf.name for leaf in self._manifest.leaves]

    @property
    def signature(self) -> str:
        """The tensors among the arguments and the results, with their dtypes and shapes."""
        arguments = ", ".join([f"{leaf.name}: {leaf.text}" for leaf in self._manifest.leaves])
        lines = [f"{self.name}({arguments})"]
        for s in self._manifest.specializations:
            chosen = ", ".join([f"{k}={n}" for k, n in s.extents.items()])
            lines.append(f"  {chosen}{' ' if chosen else ''}-> {shown(s.results)}")
        return "\n".join(lines)

    def describe(self) -> dict[str, Any]:
        """Return what it takes and gives as JSON: ``name``, ``inputs``, ``specializations``,
        ``draws`` of each generator, ``vjp_order``, and ``metadata``."""
        m = self._manifest
        return {
            "name": m.name,
            "inputs": [{"name": leaf.name, "dtype": leaf.dtype.name, "shape": list(leaf.shape)}
                       for leaf in m.leaves],
            "specializations": [{
                "extents": dict(s.extents),
                "results": [{"dtype": r.dtype.name, "shape": list(r.shape)} for r in s.results],
            } for s in m.specializations],
            "draws": [g.draws for g in m.generators],
            "vjp_order": self.vjp_order,
            "metadata": self.metadata,
        }

    @property
    def result_count(self) -> int:
        """How many tensors a call returns."""
        return len(self._manifest.specializations[0].results)

    def parameters(self) -> dict[str, Value]:
        """Return the parameters by name, further names of one among them."""
        values = dict(zip(self._names, self._parameters, strict=True))
        return values | {name: values[of] for name, of in self._manifest.aliases.items()}

    @property
    def differentiable_parameters(self) -> list[str]:
        """The names of the parameters that it has a derivative by, as stored."""
        by = self._manifest.differentiable
        return [] if by is None else [self._names[n] for n in by.parameters]

    @property
    def aliases(self) -> dict[str, str]:
        """Further names of parameters, with the name that each is stored under."""
        return dict(self._manifest.aliases)

    def module_text(self, **extents: int) -> str:
        """Return the StableHLO text of a specialization, of the only one without extents.

        Raises ArgumentError if there is none for these extents.
        """
        return str(self._spec(self._chosen(extents)).attrs["module"])

    def __repr__(self) -> str:
        return f"<exported program {self.signature}>"

    # Its calls.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with arguments as the exported function took them.

        Arguments are tensors of any frontend or NumPy arrays, of the dtypes and shapes of
        :attr:`signature`; a tensor without dimensions may be a number.

        Raises:
            ArgumentError: an argument is missing, of another nesting or another number than the
                program was exported with; there is no specialization for the extents.
            DTypeError, ShapeError: a tensor has another dtype or shape; they name the argument.
            GradientError: an argument requires a gradient, and the program was exported without
                its derivative.
        """
        return self.call_with(self._parameters, args, kwargs)

    def call_with(
        self, parameters: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Call it with other data for its parameters, in the order of :meth:`parameters`.

        Raises as a call does; aliases are not among them.
        """
        leaves = self.flatten(args, kwargs)
        like = next((type(x) for x in leaves if isinstance(x, Tensor)), self._cls)
        results = self.call_flat(leaves, parameters)
        return nesting.build(self._manifest.results, [wrap_in(like, v) for v in results])

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the tensors among arguments, in order. Raises ArgumentError."""
        of_args, of_kwargs = self._manifest.arguments["tuple"]
        nodes = of_args["tuple"]
        names = [*self._manifest.positional, *[
            f"argument {k}" for k in range(len(self._manifest.positional), len(nodes))]]
        by_name = dict(of_kwargs["dict"])
        rest = dict(kwargs)
        leaves: list[Any] = []
        if len(args) > len(nodes):
            raise ArgumentError(
                f"{self.name}: {len(args)} arguments are given, expected {len(nodes)} "
                f"({', '.join(names)})")
        for k, (name, node) in enumerate(zip(names, nodes, strict=True)):
            if k < len(args):
                x = args[k]
            elif name in rest:
                x = rest.pop(name)
            else:
                raise ArgumentError(f"{self.name}: the argument {name} is missing")
            nesting.match(node, x, name, leaves, self.name)
        for name, node in by_name.items():
            if name not in rest:
                raise ArgumentError(f"{self.name}: the argument {name} is missing")
            nesting.match(node, rest.pop(name), name, leaves, self.name)
        if rest:
            raise ArgumentError(
                f"{self.name}: the argument {next(iter(rest))} is not known, expected "
                f"{', '.join([*names, *by_name]) or 'none'}")
        return leaves

    def call_flat(self, leaves: Sequence[Any], parameters: Sequence[Any] | None = None) -> list[
        Value
    ]:
        """Call it with the tensors among its arguments, in order; return the results in order.

        Raises as a call does.
        """
        if len(leaves) != len(self._manifest.leaves):
            raise ArgumentError(
                f"{self.name}: {len(leaves)} tensors are given, expected "
                f"{len(self._manifest.leaves)} ({', '.join(self.argument_names)})")
        values = [self._operand(x, leaf)
                  for x, leaf in zip(leaves, self._manifest.leaves, strict=True)]
        chosen = self._fitting(values)
        stored = self._stored(parameters)
        drawn = [v for g in self.generators for v in g.take()]
        return self._call(chosen, 0, [*values, *drawn], [], stored)

    def _call(
        self, chosen: Specialization, order: int, leading: Sequence[Value],
        cotangents: Sequence[Value], parameters: Sequence[Value],
    ) -> list[Value]:  # fmt: skip
        """Record module ``order`` of a specialization; return its results with a derivative."""
        module, _ = _modules(chosen)[order]
        recorded = self._recorded.get(module)
        # the derivative is the next module's
        operands = [v.detach() for v in (*leading, *cotangents, *parameters)]
        results: Any = (record_spec(self._spec(chosen, order), operands) if recorded is None
                        else tuple(recorded.record(operands)))
        outputs: list[Value] = list(results) if isinstance(results, tuple) else [results]
        checks = self._checks[module]
        count = len(outputs) - len(checks)
        for spec, flag in zip(checks, outputs[count:], strict=True):
            outputs[:count] = [record_spec(spec, [v, flag])[0] for v in outputs[:count]]
        return differentiated(
            self.name, [*self.argument_names, *self._names], outputs[:count],
            functools.partial(self._call, chosen), order, self.vjp_order,
            self._manifest.differentiable, leading, cotangents, parameters)

    def _stored(self, parameters: Sequence[Any] | None) -> list[Value]:
        if parameters is None or parameters is self._parameters:
            return self._parameters
        if len(parameters) != len(self._names):
            raise ArgumentError(
                f"{self.name}: {len(parameters)} parameters are given, expected "
                f"{len(self._names)}")
        return [self._operand(x, LeafSpec(p.name, p.dtype, p.shape))
                for x, p in zip(parameters, self._manifest.parameters, strict=True)]

    def _operand(self, x: Any, leaf: LeafSpec) -> Value:
        """Return an argument as a value. Raises ArgumentError, DTypeError, ShapeError."""
        value: Value
        if isinstance(x, (Tensor, Value)):
            value = x.value if isinstance(x, Tensor) else x
        elif isinstance(x, (np.ndarray, np.generic)):
            value = from_host(np.array(x))
        elif isinstance(x, _NUMBERS) and not leaf.shape and (
            leaf.dtype.kind in _KINDS[type(x)]
        ):
            value = record("full", [Scalar(x, leaf.dtype, bake=False)], {"shape": ()})
        else:
            raise ArgumentError(
                f"{self.name}: {leaf.name} is a {type_name(x)}, expected a tensor {leaf.text}")
        t = value.type
        if t.dtype is not leaf.dtype:
            raise DTypeError(
                f"{self.name}: {leaf.name} is a {t.text}, expected {leaf.text}; cast it")
        if len(t.shape) != len(leaf.shape) or any(
            type(d) is int and n != d for n, d in zip(t.shape, leaf.shape, strict=True)
        ):
            raise ShapeError(
                f"{self.name}: {leaf.name} is a {t.text}, expected {leaf.text}; reshape it, or "
                "export the program for this shape")
        if t.placement is not DEFAULT_PLACEMENT:
            raise ArgumentError(
                f"{self.name}: {leaf.name} lies on {t.placement.text}, expected a tensor on the "
                "default device; move it there with lazyloom.to_device")
        return value

    def _fitting(self, values: Sequence[Value]) -> Specialization:
        """Return the specialization for the extents of arguments."""
        extents: dict[str, int] = {}
        named: dict[str, str] = {}
        for value, leaf in zip(values, self._manifest.leaves, strict=True):
            for axis, (n, d) in enumerate(zip(value.type.shape, leaf.shape, strict=True)):
                if not isinstance(d, str):
                    continue
                if extents.setdefault(d, n) != n:
                    raise ShapeError(
                        f"{self.name}: {leaf.name} has {n} elements along axis {axis}, expected "
                        f"{d}={extents[d]} as {named[d]} has")
                named.setdefault(d, leaf.name)
        return self._chosen(extents)

    def _chosen(self, extents: Mapping[str, int]) -> Specialization:
        for s in self._manifest.specializations:
            if s.extents == extents:
                return s
        existing = "; ".join([
            ", ".join([f"{k}={n}" for k, n in s.extents.items()]) or "no symbols"
            for s in self._manifest.specializations])
        given = ", ".join([f"{k}={n}" for k, n in extents.items()]) or "no extents"
        raise ShapeError(
            f"{self.name}: {given} is called for, and the program was exported for: {existing}; "
            "pad the arguments to one of these, or export it for this extent, too")

    def _spec(self, s: Specialization, order: int = 0) -> Spec:
        """Return the op of a specialization, or of its VJP of an order.

        Raises ArgumentError for a damaged module.
        """
        name, checks = _modules(s)[order]
        spec = self._specs.get(name)
        if spec is not None:
            return spec
        where = f"{self._where}: its member {name}"
        try:
            module = backend().module_text(self._files[name])
            operands, results = signature_of(module)
        except ArgumentError as error:
            raise ArgumentError(f"{where}: {error}") from error
        expected, stated = self._types(s, order)
        if list(operands) != expected:
            raise ArgumentError(
                f"{where} takes {shown(operands)}, expected {shown(expected)} as the manifest "
                "says; export the program again")
        if list(results[: len(stated)]) != stated or len(results) != len(stated) + len(checks):
            raise ArgumentError(
                f"{where} gives {shown(results)}, expected {shown(stated)} and {len(checks)} flags "
                "as the manifest says; export the program again")
        spec = spec_of(lookup("call_module"), {"module": module}, len(operands))
        self._specs[name] = spec
        return spec

    def _types(self, s: Specialization, order: int) -> tuple[list[TensorType], list[TensorType]]:
        """Return the types of the operands and of the results of a module, without flags."""
        m = self._manifest
        leading = [tensor_type(tuple([
            s.extents[d] if isinstance(d, str) else d for d in leaf.shape]), leaf.dtype)
            for leaf in m.leaves]
        for _ in m.generators:
            leading += [tensor_type((2,), uint32), tensor_type((), int64)]
        parameters = [tensor_type(p.shape, p.dtype) for p in m.parameters]
        results = [tensor_type(r.shape, r.dtype) for r in s.results]
        cotangents: list[TensorType] = []
        if m.differentiable is not None:
            cotangents, results = types_of(order, leading, parameters, results, m.differentiable)
        return [*leading, *cotangents, *parameters], results


def _modules(s: Specialization) -> list[tuple[str, tuple[CheckSpec, ...]]]:
    """The module of a specialization and those of its VJPs, by order, with their checks."""
    return [(s.module, s.checks), *[(v.module, v.checks) for v in s.vjps]]


def load(path: Any, cls: Any = None, *, engines: bool = False) -> ExportedFunction:
    """Return a program that :func:`lazyloom.export` wrote, as a function.

    The file may come from anybody: nothing of it is run as code of Python, and every byte is
    checked against the manifest before it is used. What a program computes is up to who wrote it.

    Args:
        path: the file, a path or a binary file that is open for reading.
        cls: the class of tensors whose frontend the results are of, where no argument is a tensor;
            ``lazyloom.Tensor`` by default.
        engines: take what code generators made of the program
            (:func:`lazyloom.export` with ``engines=True``), so that nothing of it is built here.
            **It is machine code and is run**: only from those whose programs you would run. What
            does not fit this machine, these versions or generators is refused, each with its reason
            (:attr:`ExportedFunction.engines`), and built here.

    Raises:
        ArgumentError: the file is no exported program, is damaged or was changed, is of a newer
            version of the format or of StableHLO, or needs another platform.
        OSError: the file cannot be read.

    Example:

        >>> import io
        >>> file = io.BytesIO()
        >>> lazyloom.export(lambda x: x + 1, file, np.zeros(3))
        >>> add_one = lazyloom.load(file)
        >>> add_one(np.array([1.0, 2.0, 3.0]))
        array([2., 3., 4.])
    """
    source = path if hasattr(path, "read") else os.fsdecode(path)
    where = f"{NAME}: {source if isinstance(source, str) else 'the file'}"
    if cls is not None and not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise ArgumentError(f"{NAME}: cls is {cls!r:.60}, expected a class of tensors")
    manifest, files = container.read(source, where)
    here = backend().describe()["platform"]
    if manifest.custom_calls and manifest.platform != here:
        raise ArgumentError(
            f"{where}: it was exported on {manifest.platform} and calls routines that exist there "
            f"only ({', '.join(manifest.custom_calls)}), and this process computes on {here}; "
            "export it on that platform")
    if not isinstance(engines, bool):
        raise ArgumentError(f"{NAME}: engines is {engines!r:.60}, expected True or False")
    return ExportedFunction(manifest, files, where, Tensor if cls is None else cls, engines)
