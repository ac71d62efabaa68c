"""What the conformance tests run of each op: samples, dtypes, and who calls it by name.

``docs/generate.py`` writes ``docs/op_dtypes.md`` from this.
"""

from __future__ import annotations

from lazyloom.dtypes import CLASSES, CLASSES_SORTED, DType, as_dtype
from lazyloom.ops.samples import Sample, samples
from lazyloom.ops.spec import OpDef
from tests.conformance.exclusions import REFUSED

#: ops whose own samples bring few dtypes of the first operand: the first sample is cast
CAST = frozenset({
    "bincount", "checked", "first_invalid_label", "first_out_of_range", "flat_nonzero", "one_hot"})


def inputs(op: OpDef) -> list[Sample]:
    """The samples of an op, in every dtype that it takes."""
    found = list(samples(op))
    if op.name in CAST:
        first = found[0]
        x = first.operands[0]
        assert x is not None
        seen = {as_dtype(s.operands[0].dtype) for s in found if s.operands[0] is not None}
        for dtype in CLASSES_SORTED[dtype_class(op)]:
            if dtype not in seen:
                found.append(Sample([x.astype(dtype.numpy), *first.operands[1:]],
                                    first.attributes, dtype.name, smooth=False))
    return found


def _subject(op: OpDef) -> int | None:
    """The operand whose dtype a row of the table is about; None for that of the results."""
    if not op.operands:
        return None
    if op.operands[0].name != "key":
        typed = [i for i, o in enumerate(op.operands) if o.classes == "T" and not o.optional]
        return typed[0] if typed else 0
    return 1 if len(op.operands) > 1 and op.operands[1].name != "data" else None


def dtype_class(op: OpDef) -> str:
    """The dtype class of the operand, or of the results, that a row is about."""
    at = _subject(op)
    if at is None:
        return op.T
    return op.T if op.operands[at].classes == "T" else op.operands[at].classes


def exercised(op: OpDef) -> set[DType]:
    """The dtypes that the inputs bring."""
    at = _subject(op)
    found: set[DType] = set()
    for sample in inputs(op):
        if at is not None and len(sample.operands) > at:
            given = sample.operands[at]
            if given is None and op.operands[at].classes == "T":
                given = next((x for x in sample.operands[at:] if x is not None), None)
            if given is not None:
                found.add(as_dtype(given.dtype))
                continue
        attributes = op.canonical_attributes(sample.attributes)
        types = [None if x is None else _type(x) for x in sample.operands]
        found.update(t.dtype for t in op.infer(types, attributes))
    return found


def expected(op: OpDef) -> set[DType]:
    """The dtypes that the op takes: its class, without those that its rule refuses.

    Ops of random integers have results of fixed dtypes: whatever the inputs bring.
    """
    if _subject(op) is None and op.T == "any" and op.family not in ("counting",
                                                                    "identity_matrix"):
        return exercised(op)
    return set(CLASSES[dtype_class(op)]) - set(refused(op))


def refused(op: OpDef) -> dict[DType, str]:
    """Dtypes of the class that the rule refuses, with the reason."""
    return {as_dtype(d): reason for d, reason in REFUSED.get(op.name, {}).items()}


def _type(x: object) -> object:
    from lazyloom.types import tensor_type

    return tensor_type(x.shape, as_dtype(x.dtype))  # type: ignore[attr-defined]
