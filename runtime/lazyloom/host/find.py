"""Lookup of the host kernel of an op at operand types: in memory, on disk, or by tracing.

The first time an op is met it is traced at its operands' types. When other extents follow, it is
traced once more with symbols for what differs, and that kernel serves them all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from .. import allocation
from ..counters import counters
from ..dtypes import dtype_named
from ..interrupts import Deferred, reraise_from_handler
from ..jaxprs.op_definitions import description_of, function_of
from ..jaxprs.tracing import trace, with_symbols
from ..ops.derived import FORWARD
from ..program.extents import Form, arranged, description, may_vary, outline
from ..trace.specs import Spec, spec_of
from ..types import TensorType, tensor_type
from . import functions_on_demand, storage
from .blocks import BLOCKS_FROM_ELEMENTS
from .families import KernelFamily
from .joined import JOINED, joined
from .kernel import HostKernel
from .loading import ANY_SIZE, load, load_family, load_types
from .native import is_awaited, is_native, with_absent
from .per_parameter import OPTIMIZER_STEP, per_parameter
from .searching import SEARCH, searching
from .unwritten import InC, Text, Traced, marking
from .writer import Unsupported, extents, powers

#: types of large arrays that have kernels of their own, before one serves all that follow
LARGE_ALONE: Final = 8

_Kernel = tuple[Callable[..., Any], tuple[bool, ...]]

#: the families some of whose ops have kernels that are not made from definitions
_BY_HAND: Final = frozenset((*JOINED, SEARCH, OPTIMIZER_STEP))

_families: Final[dict[tuple[Any, ...], KernelFamily]] = {}
_lock: Final = threading.RLock()


def written_by_hand(spec: Spec, types: tuple[TensorType | None, ...]) -> HostKernel | None:
    """The kernel of an op whose family has one that is not made from the op's definition.

    None for all others. tests/runtime/test_host_kernels.py compares both kinds with definitions.
    """
    return joined(spec, types) or searching(spec, types) or per_parameter(spec, types, kernel_of)


def kernel_of(spec: Spec, types: tuple[TensorType | None, ...]) -> HostKernel | None:
    """The kernel of an op at operand types; None if there is none."""
    if spec.op.root.family in _BY_HAND:
        kernel = written_by_hand(spec, types)
        if kernel is not None:
            return kernel
    found: _Kernel | None = None
    spec = _without_messages(spec)
    if may_vary(spec):
        key, numbers = outline(spec, types)
        with _lock:
            family = _families.get(key)
            if family is None:
                family = _families[key] = _family(spec, types)
            # those for large arrays alone work on them in blocks
            large = _any_large(types) or _any_large(spec.infer(types))
            if large and family.large < LARGE_ALONE:
                found = _for_any_size(family, spec, types, numbers)
            else:
                found = _for_any_extent(family, spec, types, numbers)
            if found is None:
                family.large += large
                found = _for_these(spec, types)
                if found is not None:
                    family.remember(numbers)
    else:
        found = _for_these(spec, types)
    if found is None:
        return None
    allocation.keep_pages()
    run, shared = found
    absent = None in types
    if is_native(run):
        # all that it gives is in memory of its own
        shared = (False,) * len(shared)
        if absent:
            run = with_absent(run, [t is not None for t in types])
    elif absent:
        run = _with_absent(run, tuple(t is not None for t in types))
    return HostKernel(run, shared)


def result_types(
    spec: Spec, types: tuple[TensorType | None, ...]
) -> tuple[TensorType, ...] | None:
    """The types of the results that a kernel says it gives, if one is known that does.

    Only where all are of real numbers: those of positions may be wider in a kernel for any extent.
    """
    if not may_vary(spec):
        return None
    key, numbers = outline(spec, types)
    with _lock:
        family = _families.get(key)
        if family is None:
            family = _families[key] = _family(spec, types)
        for form in family.forms:
            values = form.values(numbers)
            if values is None or "\ndef types(" not in form.text or (
                _at(form, values, family, spec, types) is None):
                continue
            found = load_types(form.text)(*values)
            if all(dtype.startswith("float") for _, dtype in found):
                return tuple(tensor_type(shape, dtype_named(dtype)) for shape, dtype in found)
    return None


def _any_large(types: Sequence[TensorType | None]) -> bool:
    """Whether one is of so many elements that kernels work on it in blocks."""
    # a generator expression takes longer
    for t in types:  # noqa: SIM110
        if t is not None and t.size >= BLOCKS_FROM_ELEMENTS:
            return True
    return False


def _without_messages(spec: Spec) -> Spec:
    """The spec with nothing in the attributes that only errors tell of: it has the same kernel."""
    names = spec.op.root.signature.messages
    if not names:
        return spec
    # "" or ()
    empty = {name: type(spec.attrs[name])() for name in names}
    return spec_of(spec.op, {**spec.attrs, **empty}, spec.arity)


def _for_these(spec: Spec, types: tuple[TensorType | None, ...]) -> _Kernel | None:
    """The kernel for these types alone."""
    place = description_of(spec, types)
    storable = spec.versioned
    traced = Traced()

    def store(text: str) -> None:
        if storable:
            storage.store("kernel", place, text.encode())

    data = storage.load("kernel", place) if storable else None
    if data is not None:
        text = data.decode()
    else:
        try:
            text = text_of(spec, types, marking(traced))
        except Exception as error:
            # the definition does not work: what compiles it says so
            reraise_from_handler(error)
            return None
        store(text)
    if not text:
        return None

    def write(_: tuple[int, ...]) -> Callable[..., Any]:
        with _lock:
            written = traced.written(text, lambda in_c: text_of(spec, types, in_c))
            store(written)
            return load(written)[0]

    run, shared = load(text)
    return Text(write).awaited(run), shared


def text_of(
    spec: Spec, types: tuple[TensorType | None, ...], in_c: InC | None = None
) -> str:
    """The text of the kernel for these types alone; "" if there is none.

    ``in_c`` writes it in C as well. Raises what the op's definition raises.
    """
    # nothing that writes texts is imported where all of them are on disk
    # a signal's handler that needs a kernel would find half of it
    with Deferred(True):
        from .kernels import kernel_text

    counters["host_kernels"] += 1
    try:
        closed = trace(function_of(spec, types), [
            (t.shape, t.dtype.numpy) for t in types if t is not None])
        if spec.op.root.signature.bodies and _has_while(closed.jaxpr):
            raise Unsupported("a program's own loop, of any number of steps")
        text = kernel_text(closed)
        return text if in_c is None else in_c(text, closed, None)
    except Unsupported:
        return ""


def _family(spec: Spec, types: tuple[TensorType | None, ...]) -> KernelFamily:
    family = KernelFamily()
    data = storage.load("kernels", description(spec, types))
    if data is not None:
        try:
            family.unpack(data)
        except (ValueError, TypeError, LookupError):
            counters["disk_errors"] += 1
    return family


def _for_any_extent(
    family: KernelFamily, spec: Spec, types: tuple[TensorType | None, ...], numbers: tuple[int, ...]
) -> _Kernel | None:
    """The kernel at these types of one that serves other extents too; None if there is none."""
    followed = False
    for form in family.forms:
        values = form.values(numbers)
        if values is not None:
            if not form.text:
                followed = True
                continue
            found = _at(form, values, family, spec, types)
            if found is not None:
                return found
    if followed:
        return None
    for form in family.proposals(numbers):
        traced = Traced()
        form.text = form_text(spec, types, form, marking(traced))
        family.forms.append(form)
        storage.store("kernels", description(spec, types), family.packed())
        if form.text:
            values = form.values(numbers)
            assert values is not None
            return _at(form, values, family, spec, types, traced)
    return None


def form_text(
    spec: Spec, types: tuple[TensorType | None, ...], form: Form, in_c: InC | None = None
) -> str:
    """The text of a kernel for all numbers of a form; "" if there is none.

    ``in_c`` writes it in C as well. What the definition decides by an extent is decided as for the
    form's last example, and the text says for which others that is right.
    """
    # a signal's handler that needs a kernel would find half of it
    with Deferred(True):
        from .kernels import kernel_text

    counters["host_kernels"] += 1
    numbers = form.examples[-1]
    known = {f"e{k}": numbers[base] for k, base in enumerate(form.bases)}

    def attempt(values: Sequence[Any], conditions: Sequence[str]) -> str:
        shapes, attrs = arranged(spec, types, [term.of(values) for term in form.terms])
        closed = trace(function_of(spec, types, attrs), shapes)
        text = kernel_text(closed, list(known), conditions)
        if in_c is not None:
            text = in_c(text, closed, list(known))
        return text + _types_text(closed, known) if spec.op.kind == FORWARD else text

    try:
        return with_symbols(attempt, known)
    except Exception as error:
        reraise_from_handler(error)
        return ""


def _types_text(closed: Any, symbols: Iterable[str]) -> str:
    """The function that gives the types of the results, where only JAX knew them."""
    types = "".join(
        f"(({''.join(f'{d}, ' for d in extents(v.aval.shape))}), {str(v.aval.dtype)!r}), "
        for v in closed.jaxpr.outvars)
    return powers(f"def types({', '.join(symbols)}):\n    return ({types})\n")


def _for_any_size(
    family: KernelFamily, spec: Spec, types: tuple[TensorType | None, ...], numbers: tuple[int, ...]
) -> _Kernel | None:
    """A known kernel that serves these numbers, and is no other where arrays are large."""
    for form in family.forms:
        if form.text.startswith(ANY_SIZE):
            values = form.values(numbers)
            found = None if values is None else _at(form, values, family, spec, types)
            if found is not None:
                return found
    return None


def _at(
    form: Form, values: list[int], family: KernelFamily, spec: Spec,
    types: tuple[TensorType | None, ...], traced: Traced | None = None,
) -> _Kernel | None:
    """The kernel of a form for these extents, where there is one; types of the family."""
    if form.loaded is None:
        form.loaded = _loaded(form, family, spec, types, traced or Traced())
    of, shared = form.loaded
    run = of(*values)
    return None if run is None else (run, shared)


def _loaded(
    form: Form, family: KernelFamily, spec: Spec, types: tuple[TensorType | None, ...],
    traced: Traced
) -> tuple[Callable[..., Any], tuple[bool, ...]]:
    of, shared = load_family(form.text)
    written: list[Callable[..., Any]] = []

    def write(values: tuple[int, ...]) -> Any:
        with _lock:
            if not written:
                form.text = traced.written(
                    form.text, lambda in_c: form_text(spec, types, form, in_c))
                storage.store("kernels", description(spec, types), family.packed())
                written.append(load_family(form.text)[0])
                form.loaded = written[0], shared
            return written[0](*values)

    text = Text(write)

    def at(*values: int) -> Any:
        return text.awaited(of(*values), values)

    return at, shared


def _has_while(jaxpr: Any) -> bool:
    """Whether a traced function has a loop whose number of steps is not known."""
    for step in jaxpr.eqns:
        if step.primitive.name == "while":
            return True
        for parameter in step.params.values():
            for inner in parameter if isinstance(parameter, (tuple, list)) else (parameter,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns") and _has_while(inner):
                    return True
    return False


def _with_absent(run: Any, present: tuple[bool, ...]) -> Callable[..., Any]:
    """A kernel of the operands that are there, called with all."""
    positions = [k for k, there in enumerate(present) if there]
    if not is_awaited(run):
        return _present(run, positions)
    return functions_on_demand.with_absent(run, present, _present(run.target, positions))


def _present(run: Callable[..., Any], positions: list[int]) -> Callable[..., Any]:
    """A kernel of the operands that are there, called with all."""

    def call(*operands: Any) -> Any:
        return run(*[operands[k] for k in positions])

    return call
