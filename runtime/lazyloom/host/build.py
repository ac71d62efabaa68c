"""The build of prebuilt kernels: of :mod:`.usual` cases and their vjps."""

from __future__ import annotations

import gc
import os
import re
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, Final, NamedTuple, TypeAlias

from ..cache import archive
from ..errors import LoomError
from ..interrupts import reraise_from_handler
from ..jaxprs.op_definitions import description_of
from ..ops.derived import BACKWARD, FORWARD, VJP, types_attributes
from ..ops.spec import OpDef
from ..program.extents import Form, at_numbers, description, form_of, may_vary, outline
from ..trace.specs import Spec, spec_of
from ..types import TensorType, tensor_type
from . import native, shipped, storage
from .c_source.library import CFunctions, CompilerError, linked
from .common import common_cases
from .families import KernelFamily
from .find import form_text, text_of
from .unwritten import InC
from .usual import cases
from .usual_case import Extent, KernelCase

Types: TypeAlias = "tuple[TensorType | None, ...]"
#: an op at types, twice: at one set of extents and at another
Pair: TypeAlias = "tuple[tuple[Spec, Types], tuple[Spec, Types]]"
#: what is stored of an outline, or of an op at types of 0 and 1 alone
Entry: TypeAlias = "tuple[str, bytes, bytes]"

#: the letters of cases in the order of their values, so that what a definition compares (a slice
#: with what it is of) comes out alike
_LETTERS: Final = "nmkpqxyabcdefghi"
#: the values of a case's letters, twice; none follows from others in both
_VALUES: Final = ((3, 4, 5, 6, 7, 8, 9, 10, 11, 12), (4, 6, 8, 10, 12, 14, 17, 19, 21, 23))
_DIM: Final = re.compile(r"(?:(\d+)\*)?([a-z]+)(?:-(\d+))?")
#: kernels after which cycles are looked for
_COLLECTED: Final = 5000
#: bytes of text that entries may have in common
_COMMON: Final = 32 << 10
#: seconds that the compiler may take for one file: one that hangs would hang the installation
_LONGEST: Final = 900.0
#: seconds between two lines on how far it is
_OFTEN: Final = 5.0


class BuildResult(NamedTuple):
    """What was made: how many entries, kernels and functions in C, and in how many seconds.

    ``why`` says why there is no library of functions, or is empty.
    """

    entries: int
    kernels: int
    functions: int
    why: str
    seconds: float


class BuildPart(NamedTuple):
    """What one process made: ``functions`` by their names, in the files ``objects``."""

    entries: list[Entry]
    kernels: int
    functions: frozenset[str]
    objects: list[str]
    why: str


def build(path: str, processes: int, every: bool = True) -> BuildResult:
    """Make the kernels and write them to a file; see :mod:`lazyloom.host.shipped`.

    Args:
        every: all the usual ones, not the common ones alone (:mod:`.common`).
    """
    started = time.perf_counter()
    library = os.path.join(os.path.dirname(os.path.abspath(path)), native.NAME)
    if os.path.exists(library):
        os.remove(library)
    with tempfile.TemporaryDirectory() as folder:
        with ProcessPoolExecutor(
            processes, get_context("spawn"), initializer=_end_with_parent
        ) as pool:
            try:
                parts = list(pool.map(
                    part, range(processes), [processes] * processes, [folder] * processes,
                    [every] * processes))
            except BaseException:
                # an error of one, or SIGTERM or Ctrl-C here: the others are not waited for
                for process in active_children():
                    process.terminate()
                raise
        why = next((p.why for p in parts if p.why), "")
        if not why:
            try:
                linked([o for p in parts for o in p.objects], library,
                       native.mark(storage.fingerprint()))
            except CompilerError as error:
                why = str(error)
    entries = [e for p in parts for e in p.entries]
    marked = [*entries, (*shipped.EVERY, b"")] if every else entries
    archive.write(path, storage.fingerprint(), marked, _common(entries))
    # kernels of two parts may have one function
    functions = frozenset().union(*(p.functions for p in parts))
    return BuildResult(len(entries), sum(p.kernels for p in parts), len(functions), why,
                time.perf_counter() - started)


def _end_with_parent() -> None:
    """Watch the process that started this one: where it was killed, nobody wants this part."""
    parent = parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _common(entries: Sequence[Entry]) -> bytes:
    """The lines that most entries have, the commonest last."""
    counts: Counter[bytes] = Counter()
    for _, _, payload in entries:
        counts.update(set(payload.replace(b"\\n", b"\\n\n").split(b"\n")))
    chosen: list[bytes] = []
    size = 0
    for line, count in counts.most_common():
        if count < 4 or size + len(line) > _COMMON:
            break
        chosen.append(line)
        size += len(line)
    return b"".join(reversed(chosen))


def part(number: int, parts: int, folder: str, every: bool) -> BuildPart:
    """One of so many parts of all entries, their functions in C compiled in a folder."""
    # each collection would look at all that JAX brought
    gc.disable()
    functions = CFunctions(_LONGEST)
    say = _said() if number == 0 else None
    chosen = list(cases() if every else common_cases())
    entries, count = entries_of(_counted(chosen, say), number, parts, functions.named)
    try:
        objects, why = functions.compiled(folder, say), ""
    except CompilerError as error:
        objects, why = [], str(error)
    return BuildPart(entries, count, frozenset(functions.texts), objects, why)


def _said() -> Callable[[str], None]:
    """Prints a line, if the last one is some seconds ago."""
    last = time.monotonic()

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last > _OFTEN:
            last = time.monotonic()
            print(text, flush=True)

    return say


def _counted(
    chosen: Sequence[KernelCase], say: Callable[[str], None] | None
) -> Iterator[KernelCase]:
    for number, case in enumerate(chosen):
        if say is not None:
            say(f"kernels of {number} of {len(chosen)} ops at types are written")
        yield case


def entries_of(
    chosen: Iterable[KernelCase], number: int = 0, parts: int = 1, in_c: InC | None = None
) -> tuple[list[Entry], int]:
    """The entries of these cases and their vjps, or of one part of them; how many kernels."""
    families: dict[bytes, KernelFamily] = {}
    alone: dict[bytes, bytes] = {}
    count = 0
    for case in chosen:
        pair = _pair(case)
        # an outline's derivatives have outlines that no other's have
        if pair is None or zlib.crc32(description(*pair[0])) % parts != number:
            continue
        for each in (pair, *_derived(case, pair)):
            made = _enter(each, families, alone, in_c)
            count += made
            if made and count % _COLLECTED == 0:
                gc.collect()
    found: list[Entry] = []
    for place, family in families.items():
        family.given = len(family.forms)
        if family.forms:
            found.append(("kernels", place, family.packed()))
    found += [("kernel", place, text) for place, text in alone.items()]
    return found, count


def served(case: KernelCase) -> list[tuple[str, bytes, Form | None]]:
    """What the kernels of a case are found by, its own first; empty if the op takes no such.

    The kind of kernel, the description of its types, and the form of the extents that it is for, or
    None if it is for these types alone.
    """
    pair = _pair(case)
    return [] if pair is None else [_served(each) for each in (pair, *_derived(case, pair))]


def _served(pair: Pair) -> tuple[str, bytes, Form | None]:
    (spec, types), other = pair
    numbers, others = outline(spec, types)[1], outline(*other)[1]
    if numbers == others:
        return "kernel", description_of(spec, types), None
    return "kernels", description(spec, types), form_of([others, numbers])


def _enter(
    pair: Pair, families: dict[bytes, KernelFamily], alone: dict[bytes, bytes], in_c: InC | None
) -> int:
    """Make the kernel of a pair, if it is not there yet; how many that were."""
    (spec, types), (other, other_types) = pair
    numbers, others = outline(spec, types)[1], outline(other, other_types)[1]
    if numbers == others:
        at = description_of(spec, types)
        if at in alone:
            return 0
        try:
            text = text_of(spec, types, in_c)
        except Exception as error:
            reraise_from_handler(error)
            text = ""
        if text:
            alone[at] = text.encode()
        return bool(text)
    family = families.setdefault(description(spec, types), KernelFamily())
    form = form_of([others, numbers])
    if form is None or any(known.terms == form.terms for known in family.forms):
        return 0
    form.text = form_text(spec, types, form, in_c)
    if not form.text:
        return 0
    family.forms.append(form)
    return 1


def _derived(case: KernelCase, pair: Pair) -> Iterator[Pair]:
    if case.residuals:
        yield from _residuals(pair)
    if case.derived:
        yield from _vjps(pair)


def _vjps(pair: Pair) -> Iterator[Pair]:
    """An op's vjps at two sets of extents."""
    (spec, types), (other, other_types) = pair
    for argnums in vjp_operands(spec.op, types):
        first, second = vjp_of(spec, types, argnums), vjp_of(other, other_types, argnums)
        if first is not None and second is not None:
            yield first, second


def _residuals(pair: Pair) -> Iterator[Pair]:
    """The op that emits residuals, and the one that takes them, at two sets of extents."""
    op, types = pair[0][0].op, pair[0][1]
    for argnums in _emitting(op, types):
        forward = [_forward(spec, given, argnums) for spec, given in pair]
        yield forward[0], forward[1]
        for outnums in _consumed(op, len(pair[0][0].infer(types))):
            backward = [_backward(spec, given, argnums, outnums) for spec, given in pair]
            yield backward[0], backward[1]


def _forward(spec: Spec, types: Types, argnums: tuple[int, ...]) -> tuple[Spec, Types]:
    attrs = {**spec.attrs, "forward_argnums": argnums}
    return spec_of(spec.op.derive(FORWARD), attrs, len(types)), types


def _backward(
    spec: Spec, types: Types, argnums: tuple[int, ...], outnums: tuple[int, ...]
) -> tuple[Spec, Types]:
    results = _forward(spec, types, argnums)[0].infer(types)
    attrs = {**spec.attrs, **types_attributes(types), "backward_argnums": argnums,
             "backward_outnums": outnums}
    given = (*results[len(spec.infer(types)) :], *(results[k] for k in outnums))
    return spec_of(spec.op.derive(BACKWARD), attrs, len(given)), given


def _states(op: OpDef) -> int:
    """The states that a recurrent layer goes on with; 0 for other ops."""
    return len(op.signature.outputs) - 1 if "state" in op.signature.outputs else 0


def _emitting(op: OpDef, types: Types) -> list[tuple[int, ...]]:
    """What operands residuals are kept for: a layer's with its input or not, and some states."""
    every, states = differentiable_operands(op, types), _states(op)
    if not states:
        return [every]
    found = [(*every[:1], *every[1 : 1 + n], *every[1 + states :]) for n in range(states + 1)]
    return [*found, *(row[1:] for row in found)]


def _consumed(op: OpDef, results: int) -> list[tuple[int, ...]]:
    """The results whose cotangents there are."""
    states = _states(op)
    if not states:
        return [tuple(range(results))]
    return list(dict.fromkeys([(0,), (1,), tuple(range(1, 1 + states))]))


def _pair(case: KernelCase) -> Pair | None:
    """The case at two sets of extents; None if the op takes no such types or attributes."""
    try:
        return _instances(case)
    except LoomError:
        return None


def _instances(case: KernelCase) -> Pair | None:
    found = []
    letters = _letters(case)
    for values in _VALUES:
        known = dict(zip(letters, values, strict=False))
        types = tuple([None if o is None else tensor_type(
            tuple([_value(x, known) for x in o[0]]), o[1]) for o in case.operands])
        attributes = {k: _attribute(v, known) for k, v in case.attributes.items()}
        spec = spec_of(case.op, attributes, len(types))
        spec.infer(types)
        found.append((spec, types))
    (spec, types), second = found
    if not may_vary(spec):
        return None
    numbers = outline(spec, types)[1]
    if found[0] == second and any(n > 1 for n in numbers):
        moved = _moved(spec, types, numbers)
        if moved is None and any(t is not None and t.shape != (2,) and max(t.shape, default=0) > 1
                                 for t in types):
            return None
        # a key has two words
        return (spec, types), moved or (spec, types)
    return found[0], second


def _letters(case: KernelCase) -> list[str]:
    """The letters of a case, in the order of their values."""
    texts = [x for o in case.operands if o is not None for x in o[0] if isinstance(x, str)]
    for value in case.attributes.values():
        if isinstance(value, Extent):
            texts.append(value)
        elif isinstance(value, tuple):
            texts += [x for x in value if isinstance(x, str)]
    return sorted(set("".join(texts)) & set(_LETTERS), key=_LETTERS.index)


def _moved(
    spec: Spec, types: Types, numbers: tuple[int, ...]
) -> tuple[Spec, Types] | None:
    """A sample at other extents: all of 2 or more, or else those that can be others."""
    for more in (1, 0):
        other = at_numbers(spec, types, [n * 2 + more if n > 1 else n for n in numbers])
        if other is not None:
            return other
    return None


def _value(dim: int | str, known: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    found = _DIM.fullmatch(dim)
    assert found is not None, dim
    value = int(found[1] or 1)
    for letter in found[2]:
        value *= known[letter]
    return value - int(found[3] or 0)


def _attribute(value: Any, known: Mapping[str, int]) -> Any:
    if isinstance(value, Extent):
        return _value(str(value), known)
    if isinstance(value, tuple) and not any(isinstance(x, float) for x in value):
        return tuple([_value(x, known) for x in value])
    return value


def differentiable_operands(op: OpDef, types: Types) -> tuple[int, ...]:
    """All operands of an op that have a cotangent."""
    named = op.derivative.differentiable
    return () if named is False else tuple([
        i for i, t in enumerate(types) if t is not None and t.dtype.is_inexact
        and (named is True or op.operand_name(i).partition("[")[0] in named)])


def vjp_operands(op: OpDef, types: Types) -> list[tuple[int, ...]]:
    """What operands an op's vjp is usually by."""
    every = differentiable_operands(op, types)
    if not every:
        return []
    if len(every) == 1 or op.operands[-1].variadic:
        return [every]
    if op.family == "pairwise_loss":
        return [every[:1]]
    # without the data at a model's first op, without a mask
    return [every, (every[0],), every[1:]] if len(every) == 2 else [every, every[1:], every[:3]]


def vjp_of(
    spec: Spec, types: Types, argnums: tuple[int, ...]
) -> tuple[Spec, Types] | None:
    """The op's vjp by these operands, of all results that can have a cotangent."""
    try:
        results = spec.infer(types)
    except LoomError:
        return None
    outnums = tuple([i for i, t in enumerate(results) if t.dtype.is_inexact])
    if not outnums:
        return None
    vjp = spec.op.derive(VJP)
    given = (*types, *(results[i] for i in outnums))
    own = dict(zip(vjp.own, (len(types), argnums, outnums), strict=True))
    return spec_of(vjp, {**spec.attrs, **own}, len(given)), given
