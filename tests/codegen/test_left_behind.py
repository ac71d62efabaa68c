"""Heavy work that XLA is left with beside regions: told of, unless it is left on purpose."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
import lazyloom_torch.nn.functional as F
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import YES, No, Pattern, Report, any_value, match, partition
from lazyloom.codegen.onednn import made
from lazyloom.ops.spec import lookup
from lazyloom.program.regions import ProgramRegion, ProgramRegions
from tests.codegen.onednn_here import skip_without

from .generators import InNumPy
from .programs import Doing, Written, written

PRODUCT = "A:t(x) B:matmul(A,y) C:t(B)"


def left(program: Written, outputs: str, *generators: Doing) -> list[int]:
    whole = program.program(outputs)
    return Report(whole, partition(whole.structure, whole.outputs, generators)).left_behind()


def no(deliberate: bool) -> Any:
    def supports(call: codegen.Call) -> codegen.Answer:
        return YES if call.op == "negative" else No("not here", deliberate=deliberate)

    return supports


def test_what_a_generator_leaves_on_purpose_is_not_left_behind() -> None:
    program = written(PRODUCT)
    assert left(program, "C", Doing(supports=no(False))) == [1]
    assert left(program, "C", Doing(supports=no(True))) == []
    # one that could do it is enough, in whatever order they are asked
    some = [Doing("a", supports=no(True)), Doing("b", supports=no(False))]
    assert left(program, "C", *some) == left(program, "C", *some[::-1]) == []
    # where there are no regions, nothing is left behind
    assert left(program, "C", Doing(ops="")) == []


def test_of_regions_and_groups() -> None:
    program = written(PRODUCT)

    def small(region: codegen.Region) -> codegen.Answer:
        only = len(region.calls) == 1 and region.calls[0].op == "matmul"
        return codegen.at_least(1, 2, "ops") if only else YES

    def big(region: codegen.Region) -> codegen.Answer:
        return No("no") if not small(region) else YES

    ops = "matmul negative"
    assert left(program, "C", Doing(ops=ops, merges=False, worthwhile=small)) == []
    assert left(program, "C", Doing(ops=ops, merges=False, worthwhile=big)) == [1]
    with codegen.whatever_the_size():
        whole = Doing(ops=ops, merges=False, worthwhile=small)
        made = program.program("C")
        assert len(partition(made.structure, made.outputs, [whole]).parts) == 3
    # a group that is refused on purpose, of which a single op is then taken and given back
    pair = Pattern("pair", match("matmul", match("negative", any_value()), any_value()),
                   lambda calls: No("XLA is better", deliberate=True))
    refused = Doing(ops=ops, merges=False, patterns=[pair], worthwhile=big)
    assert left(program, "C", refused) == [1]
    again = Doing(ops="negative", merges=False, patterns=[pair])
    assert left(program, "C", again) == []


def test_the_text_of_answers() -> None:
    assert repr(No("small", deliberate=True)) == "No('small', deliberate=True)"
    answer = codegen.at_least(5, 7, "apples")
    assert isinstance(answer, No) and answer.deliberate
    assert answer.reason == "5 apples, expected 7 or more to be worth a call"
    assert codegen.at_least(7, 7, "apples") is YES
    with codegen.whatever_the_size(), codegen.whatever_the_size():
        assert codegen.at_least(5, 7, "apples") is YES
    assert not codegen.at_least(5, 7, "apples")


class Refusing(InNumPy):
    """Does tanh, and of products says what it is told to."""

    def __init__(self, deliberate: bool) -> None:
        super().__init__("tanh", name=f"refusing_{deliberate}")
        self.deliberate = deliberate

    def supports(self, call: codegen.Call) -> codegen.Answer:
        if call.op == "tanh":
            return YES
        return No("not worth it", deliberate=self.deliberate)


@pytest.mark.xla
@pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none")
@pytest.mark.parametrize("deliberate", [False, True])
def test_the_record_says_it_in_one_line(deliberate: bool) -> None:
    codegen.register(Refusing(deliberate))
    a = numpy.arange(12, dtype="float32").reshape(3, 4) / 9
    with codegen.use(f"refusing_{deliberate}"):
        x = np.asarray(a)
        y = np.tanh(x @ np.asarray(a.T)) @ x
        numpy.testing.assert_allclose(numpy.asarray(y), numpy.tanh(a @ a.T) @ a, rtol=1e-5)
    record = lazyloom.last_evaluation()
    assert record is not None
    (line,) = [s for s in record.text().split("\n") if s.startswith("  regions  ")]
    told = "" if deliberate else "; heavy ops that no generator does: 2 matmul"
    assert line == f"  regions  1 by refusing_{deliberate}{told}"


def test_the_text_of_the_record() -> None:
    one = ProgramRegion("a", ("add",), "k")
    regions = ProgramRegions((one,), left=("sort", "conv", "sort"))
    assert regions.text() == "1 by a; heavy ops that no generator does: 2 sort, conv"


def test_what_is_gained_is_told() -> None:
    class Quick(Doing):
        def seconds(self, region: codegen.Region) -> float | None:
            return 20e-6

        def seconds_of_xla(self, region: codegen.Region) -> float | None:
            if region.calls[0].op == "add":
                return None
            return 50e-6 * len(region.calls)

    whole = written("A:t(x) B:d(A) C:t(B) D:t(C) E:d(D) F:t(E,y)").program("F")
    told = Report(whole, partition(whole.structure, whole.outputs, [Quick()]))
    assert told.expected_gain == pytest.approx(110e-6)
    assert "region 1: mine, 2 negative; 20 us estimated, 100 by XLA\n" in told.text()
    assert "region 2: mine, add; 20 us estimated\n" in told.text()
    assert told.text().endswith("\n  expected gain: 110 us a run")
    without = Report(whole, partition(whole.structure, whole.outputs, [Doing()]))
    assert without.expected_gain is None and "gain" not in without.text()


@pytest.mark.skipif(made() is None, reason="oneDNN is not installed")
def test_onednn_leaves_what_is_small_on_purpose() -> None:
    generator = made()
    assert generator is not None

    def asked(op: str, dtype: lazyloom.DType, *shapes: tuple[int, ...]) -> codegen.Answer:
        types = tuple(lazyloom.tensor_type(shape, dtype) for shape in shapes)
        spec = lazyloom.spec_of(lookup(op), {}, len(types))
        return generator.supports(codegen.Call(op, spec.attrs, types, spec.infer(types)))

    half, single = lazyloom.dtypes.bfloat16, lazyloom.dtypes.float32
    for answer in (asked("conv", single, (1, 2, 8, 8), (2, 2, 3, 3)),
                   asked("matmul", half, (8, 8), (8, 8)),
                   asked("matmul", single, (512, 512), (512, 512)),
                   asked("layer_norm", single, (8, 8), (8,), (8,)),
                   asked("scaled_dot_product_attention", half, *[(2, 8, 8)] * 3),
                   asked("scaled_dot_product_attention", single, *[(32, 128, 64)] * 3)):
        assert isinstance(answer, No) and answer.deliberate, answer
    assert "of infinity is NaN" in repr(asked("gelu", single, (512, 1024)))
    other = asked("sort", single, (8,))
    assert isinstance(other, No) and not other.deliberate


@pytest.mark.skipif(made() is None, reason="oneDNN is not installed")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_pooling_is_not_left_behind_by_onednn_alone(dtype: torch.dtype) -> None:
    skip_without(made(), "bfloat16" if dtype is torch.bfloat16 else "float32")
    images = torch.randn(4, 16, 32, 32, dtype=dtype)
    weights = torch.randn(16, 16, 3, 3, dtype=dtype, requires_grad=True)
    loss = F.max_pool2d(torch.conv2d(images, weights), 2).sum()
    loss.backward()
    program = lazyloom.program_of(loss, weights.grad)
    with codegen.use("onednn"):
        report = codegen.explain(program)
    assert {"max_pool", "max_pool.vjp"} <= set(program.ops)
    assert report.partition.parts and report.left_behind() == []
