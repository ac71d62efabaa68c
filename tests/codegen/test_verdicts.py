"""What was measured decides which regions are made, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

import lazyloom
from lazyloom import codegen
from lazyloom.codegen import No, Report, partition, registry
from lazyloom.codegen import verdicts as verdicts_module
from lazyloom.codegen.check import check
from lazyloom.codegen.report import candidates
from lazyloom.codegen.verdicts import NONE, Verdicts, signature, unpacked, verdict

from .programs import Doing, Written, theirs, written

SLOW, QUICK = [(2e-3, 1e-3)] * 9, [(1e-3, 2e-3)] * 9
CHAIN = "A:t(x) B:d(A) C:t(B)"


def small(call: codegen.Call) -> codegen.Answer:
    answer = codegen.at_least(call.results[0].size, 100, "elements")
    return answer if call.op == "negative" else No("not here")


def measured(generator: Doing, program: Written, outputs: str, pairs: Any,
             estimated: bool = True) -> Verdicts:  # fmt: skip
    """Verdicts of all regions that a program has if nothing is too small."""
    whole = program.program(outputs)
    with codegen.whatever_the_size():
        parts = partition(whole.structure, whole.outputs, [generator]).parts
    return Verdicts({signature(generator, p.region): verdict(generator, p.region, pairs, estimated)
                     for p in parts})


def report(program: Written, outputs: str, generator: Doing, verdicts: Verdicts) -> Report:
    whole = program.program(outputs)
    found = partition(whole.structure, whole.outputs, [generator], (), verdicts)
    check(whole.structure, whole.outputs, found)
    return Report(whole, found)


def test_noise_decides_nothing() -> None:
    generator, program = Doing(), written("A:t(x)").program("A")
    (part,) = partition(program.structure, program.outputs, [generator]).parts

    def clear(pairs: list[tuple[float, float]]) -> bool:
        return verdict(generator, part.region, pairs, True).clear

    assert clear(SLOW) and clear(QUICK)
    assert not clear([(1.0, 1.0)] * 9) and not clear([(1.04, 1.0)] * 9)
    assert not clear([(1.0, 1.04)] * 9)
    # the medians are far apart, and every third pair says otherwise
    assert not clear([(2.0, 1.0)] * 6 + [(1.0, 2.0)] * 3)
    assert not clear([(1.0, 2.0)] * 6 + [(2.0, 1.0)] * 3)
    assert clear([(1.0, 2.0)] * 8 + [(2.0, 1.0)])


def test_a_region_that_was_slower_is_not_made() -> None:
    program, generator = written(CHAIN), Doing(merges=False)
    found = report(program, "C", generator, measured(generator, program, "C", SLOW))
    assert found.partition.parts == [] and found.left_behind() == []
    assert "%0 = negative : float32[4] -> xla (mine: measured 2 ms, XLA 1 ms)" in found.text()
    # of another generator, or another version of it, it was not measured
    for other in (Doing("theirs", merges=False), Doing(merges=False, version="2")):
        known = measured(other, program, "C", SLOW)
        assert len(report(program, "C", generator, known).partition.parts) == 2
    # nor with other shapes or results
    wide = written(CHAIN, lazyloom.tensor_type((5,), lazyloom.dtypes.float32))
    assert report(wide, "C", generator, measured(generator, program, "C", SLOW)).coverage > 0


def test_a_region_that_was_quicker_is_told() -> None:
    program, generator = written(CHAIN), Doing(merges=False)
    found = report(program, "C", generator, measured(generator, program, "C", QUICK))
    assert "region 0: mine, negative; measured 1 ms, XLA 2 ms\n" in found.text()
    assert found.measured_gain == pytest.approx(2e-3)
    assert found.text().endswith("\n  measured gain: 2000 us a run")
    assert report(program, "C", generator, NONE).measured_gain is None


@pytest.mark.parametrize("pairs", [SLOW, QUICK, [(1.0, 1.0)] * 9])
def test_what_is_small_is_made_where_it_was_quicker(pairs: Any) -> None:
    program = written(CHAIN)
    generator = Doing(supports=small, merges=False)
    assert report(program, "C", generator, NONE).partition.parts == []
    known = measured(generator, program, "C", pairs, estimated=False)
    assert len(known.found) == 1
    found = report(program, "C", generator, known)
    assert len(found.partition.parts) == (2 if pairs is QUICK else 0)
    if pairs is not QUICK:
        assert found.left_behind() == []
        assert "4 elements, expected 100 or more" in found.text()


def test_of_a_small_op_with_other_results_the_estimate_holds() -> None:
    def supports(call: codegen.Call) -> codegen.Answer:
        return codegen.at_least(1, 2, "ops") if call.op == "sort_with_indices" else No("not here")

    program, generator = written("A:sort_with_indices(x)"), Doing(supports=supports, merges=False)
    known = measured(generator, program, "A", QUICK, estimated=False)
    assert len(report(program, "A", generator, known).partition.parts) == 1
    both = report(program, "A A.1", generator, known)
    assert both.partition.parts == [] and "1 ops, expected 2" in both.text()


def test_regions_that_are_refused_as_wholes() -> None:
    def worthwhile(region: codegen.Region) -> codegen.Answer:
        return codegen.at_least(len(region.calls), 3, "ops")

    program, generator = written("A:t(x) B:t(A) C:d(B)"), Doing(worthwhile=worthwhile)
    assert report(program, "C", generator, NONE).partition.parts == []
    known = measured(generator, program, "C", QUICK, estimated=False)
    assert len(report(program, "C", generator, known).partition.parts) == 1
    # what is no matter of size stays
    stubborn = Doing(worthwhile=lambda region: No("no", deliberate=True))
    assert report(program, "C", stubborn, known).partition.parts == []


def test_candidates_are_what_is_made_and_what_is_too_small() -> None:
    codegen.register(Doing("small_one", supports=small, merges=False))
    codegen.register(theirs())
    program = written("A:t(x) B:u(A) C:exp(B)").program("C")
    with codegen.use("small_one", "theirs"):
        found = candidates(program, registry.generators(codegen.in_use()))
    assert [(c.generator.name, c.region.calls[0].op, c.estimated) for c in found] == [
        ("theirs", "abs", True), ("small_one", "negative", False)]


def test_the_key_names_what_may_change_a_program() -> None:
    program, generator = written(CHAIN), Doing(merges=False)
    other = written("A:u(x)").structure
    slow, quick = (measured(generator, program, "C", p) for p in (SLOW, QUICK))
    assert slow.key(program.structure, ["mine"]).endswith("-")
    assert slow.key(program.structure, ["theirs"]) == slow.key(other, ["mine"]) == ""
    # what agrees with the estimate changes nothing
    assert quick.key(program.structure, ["mine"]) == NONE.key(program.structure, ["mine"]) == ""
    late = measured(generator, program, "C", QUICK, estimated=False)
    assert late.key(program.structure, ["mine"]).endswith("+")


class Classes(Doing):
    """Does negatives, from 100 elements on unless measured; one class for each number of axes."""

    def supports(self, call: codegen.Call) -> codegen.Answer:
        return small(call)

    def size_class(self, call: codegen.Call) -> str | None:
        return f"{call.results[0].ndim} axes" if call.op == "negative" else None


def test_a_measurement_of_a_class_holds_for_all_of_its_ops() -> None:
    generator = Classes(merges=False)
    one, other = written("A:t(x)"), written("A:t(x) B:t(A) C:u(B)")
    quick = measured(generator, one, "A", QUICK, estimated=False)
    found = report(other, "C", generator, quick)
    assert [found.generator(n) for n in range(3)] == ["mine", "mine", "xla"]
    assert "measured 1 ms, XLA 2 ms, as 1 axes" in str(found)
    # where nothing was measured the estimate holds
    assert report(other, "C", generator, NONE).coverage == 0
    registry.register(generator)
    assert quick.key(other.structure, ["mine"]).endswith("+")
    assert quick.key(written("A:u(x)").structure, ["mine"]) == ""


def test_ops_of_a_class_that_are_estimated_otherwise_follow_it() -> None:
    generator, program = Classes(merges=False), written("A:t(x)")
    registry.register(generator)
    slow = measured(generator, program, "A", SLOW, estimated=False)
    with codegen.whatever_the_size():
        found = report(program, "A", generator, slow)
    assert found.generator(0) == "xla" and "measured" in str(found)
    assert slow.key(program.structure, ["mine"]).endswith("-"), "a program differs by it"


def test_a_class_needs_a_tenth_and_keeps_what_was_clear(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    generator, program = Classes(merges=False), written("A:t(x)")
    by = {name: measured(generator, program, "A", [pair] * 9) for name, pair in {
        "quick": (1.0, 1.2), "close": (1.0, 1.08), "slow": (1.2, 1.0)}.items()}
    assert [next(iter(v.found.values())).clear for v in by.values()] == [True, False, True]
    monkeypatch.setattr(verdicts_module, "_on_disk", lambda: NONE)
    for before, new, after in (
        ("quick", "close", "quick"), ("quick", "slow", "slow"), ("close", "slow", "slow"),
        ("slow", "close", "slow")):
        verdicts_module.adopt(by[before])
        try:
            assert verdicts_module.joined(by[new].found).found == by[after].found
        finally:
            verdicts_module.adopt(None)


def test_a_class_that_cannot_be_told_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(self: Classes, call: codegen.Call) -> str | None:
        raise OSError("no class")

    program, generator = written("A:t(x)"), Classes(merges=False)
    monkeypatch.setattr(Classes, "size_class", raises)
    (found,) = measured(generator, program, "A", QUICK).found.values()
    assert found.of_class == "" and found.clear


def test_they_are_packed() -> None:
    program, generator = written(CHAIN), Doing()
    known = measured(generator, program, "C", SLOW)
    again = unpacked(known.packed())
    assert again.found == known.found and again.found
    for text in ("{", "[1]", "[[1, 2]]", '[["a", ["b", ["c"], 1, 1, 1, 1]]]', "null"):
        with pytest.raises((ValueError, TypeError)):
            unpacked(text)
