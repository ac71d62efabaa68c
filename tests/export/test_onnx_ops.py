"""Every op that has a mapping to ONNX, on its samples: the model computes what the op does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy
import pytest

import lazyloom
from lazyloom import codegen
from lazyloom.codegen.onnx import NEWEST_OPSET, OLDEST_OPSET, RULES, exports
from lazyloom.codegen.precision import difference
from lazyloom.generator_kit.programs import of_sample, tensor
from lazyloom.generator_kit.samples import types_of
from lazyloom.ops.samples import Sample
from lazyloom.ops.spec import OpDef, lookup, names
from lazyloom.tensor.apply import apply
from lazyloom.trace.specs import spec_of
from tests.conformance import coverage
from tests.export import running_onnx

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("quick_compiler"), running_onnx.needed]

#: the ops of the quick tests
QUICK: Final = {"add", "cast", "scan", "softmax", "take"}
#: what ONNX leaves to runtimes, by op: words in the labels of samples
LEFT: Final = {
    # what NaN is in an order
    **dict.fromkeys(("argmax", "argmin", "max", "min", "sort", "argsort", "sort_with_indices",
                     "top_k", "max_pool", "adaptive_max_pool"), "special"),
}
#: of which integers that are too large, and a division by 0, are
INTEGERS_LEFT: Final = {"floor_divide", "power", "prod", "sum"}
#: whose updates at indices out of range are an error of the model, and are left out by the op
UPDATES: Final = {"index_update", "scatter_along_axis"}
#: of whose operators the reference evaluator computes float64 in float32, or not as they are
#: defined
NOT_BY_REFERENCE: Final = {"erf", "gelu", "conv_transpose", "rnn"}


def call_of(op: OpDef, sample: Sample) -> codegen.Call | None:
    """A sample as a call; None in a dtype that the op does not take."""
    types = types_of(sample)
    try:
        spec = spec_of(op, sample.attributes, len(sample.operands))
        results = spec.infer(types)
    except lazyloom.LoomError:
        return None
    return codegen.Call(op.name, spec.attrs, types, results)


def out_of_range(sample: Sample) -> bool:
    """Whether a sample of updates has indices that are out of range of its axes."""
    x, *rest = sample.operands
    assert x is not None
    axes = sample.attributes.get("axes") or [sample.attributes.get("axis", -1)]
    indices = [k for k in rest if k is not None and k.dtype.kind in "iu"][-len(axes):]
    return any(((k < -x.shape[axis]) | (k >= x.shape[axis])).any()
               for k, axis in zip(indices, axes, strict=True))


def exported(op: OpDef) -> dict[tuple[str, ...], list[Sample]]:
    """The samples that ONNX has, by the dtypes of their operands."""
    found: dict[tuple[str, ...], list[Sample]] = {}
    for sample in coverage.inputs(op):
        call = call_of(op, sample)
        if call is None or not exports(call, 20) or (
            op.name in LEFT and LEFT[op.name] in sample.label
        ) or (op.name in UPDATES and out_of_range(sample)) or (
            op.name in INTEGERS_LEFT and "special" in sample.label
            and call.results[0].dtype.kind in "iu"
        ):
            continue
        dtypes = tuple(dict.fromkeys(str(x.dtype) for x in sample.operands if x is not None))
        found.setdefault(dtypes, []).append(sample)
    return found


def values(op: OpDef, given: Iterable[Sample], arrays: Sequence[Any]) -> list[Any]:
    """The results of samples, of other operands."""
    rest = iter(arrays)
    found: list[Any] = []
    for sample in given:
        operands = [None if x is None else next(rest) for x in sample.operands]
        results = apply(op.name, operands, sample.attributes)
        found += results if isinstance(results, (tuple, list)) else [results]
    return found


def test_all_rules_are_of_ops() -> None:
    assert set(RULES) <= set(names())


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(RULES)])
def test_samples(name: str) -> None:
    op = lookup(name)
    tried = 0
    for dtypes, given in exported(op).items():
        arrays = [x for sample in given for x in sample.operands if x is not None]
        if not arrays:
            # all that it makes depends on attributes, and a model has its inputs
            arrays = [numpy.zeros((), "float32")]
            proto = running_onnx.written(
                lambda x, given=given: [x, *values(op, given, ())], tensor(arrays[0]))
            found = running_onnx.run(proto, *arrays)[1:]
        else:
            proto = running_onnx.written(
                lambda *x, given=given: values(op, given, x), *map(tensor, arrays))
            feed = dict(zip([v.name for v in proto.graph.input], arrays, strict=True))
            by_runtime = running_onnx.by_runtime(proto, feed)
            if by_runtime is None and name in NOT_BY_REFERENCE:
                continue
            found = by_runtime if by_runtime is not None else (
                running_onnx.by_reference(proto, feed))
        expected = [x.read() for sample in given for x in of_sample(op, sample)]
        for mine, theirs in zip(found, expected, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), (dtypes, given)
        why = difference(found, expected, max(op.tolerance, 16.0))
        assert why is None, f"{dtypes}: {why}"
        tried += len(given)
    assert tried, "no sample was compared"


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(RULES)])
def test_oldest_and_newest_versions_of_the_operators(name: str) -> None:
    op = lookup(name)
    given = [samples[0] for samples in exported(op).values()]
    for version in (OLDEST_OPSET, NEWEST_OPSET):
        kept = [s for s in given if (call := call_of(op, s)) and exports(call, version)]
        assert kept or version < RULES[name].since
        arrays = [x for s in kept for x in s.operands if x is not None] or [
            numpy.zeros((), "float32")]
        # the checker of onnx compares dtypes and attributes with the version's operators
        running_onnx.written(
            lambda *x, kept=kept: [x[0], *values(op, kept, x)], *map(tensor, arrays),
            opset_version=version)
