"""Who gets what another refuses, cannot build or does more slowly, and in which pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom
from lazyloom import codegen
from lazyloom.codegen import (
    YES,
    Answer,
    No,
    Only,
    Partition,
    Pattern,
    Region,
    any_value,
    match,
    partition,
    registry,
)
from lazyloom.codegen.check import check
from lazyloom.codegen.claims import MOST_ARRAYS, unit_key
from lazyloom.codegen.verdicts import Verdicts, signature, verdict
from lazyloom.errors import ArgumentError

from .programs import MINE, THEIRS, Doing, Written, divided, gives, left, regions, theirs, written

ALL = f"{MINE} {THEIRS}"
x, y = any_value(), any_value()


def refusing(*ops: str) -> Any:
    """Of a region, no if it has one of these ops."""
    return lambda region: (
        No("not this one") if any(c.op in ops for c in region.calls) else YES)


# what is refused


def test_a_region_that_one_refuses_is_offered_to_the_next() -> None:
    p = written("A:t(x) B:t(A) C:u(B) D:t(C)")
    picky = Doing("picky", ALL, worthwhile=lambda region: No("never"))
    found = divided(p, "D", picky, Doing(ops=ALL))
    assert regions(p, found) == ["mine: A B C D"]
    assert found.reasons == [{"picky": "never"}] * 4
    # in other pieces, and on to the third
    found = divided(p, "D", picky, Doing(), theirs())
    assert regions(p, found) == ["mine: A B", "theirs: C", "mine: D"]
    never = Doing("never", ALL, worthwhile=lambda region: No("not now"))
    found = divided(p, "D", picky, never, Doing())
    assert regions(p, found) == ["mine: A B", "mine: D"] and left(p, found) == "C"
    assert found.reasons[2] == {"picky": "never", "never": "not now", "mine": "no abs"}


def test_only_what_is_refused_is_offered_on() -> None:
    p = written("A:t(x) X:d(A) B:t(X,y) Y:d(B)")
    picky = Doing("picky", worthwhile=refusing("add"))
    found = divided(p, "Y", picky, Doing())
    assert regions(p, found) == ["picky: A", "mine: B"]


def test_groups_that_are_refused_are_single_ops_for_the_next() -> None:
    pair = Pattern("pair", match("abs", match("negative", x)))
    p = written("A:t(x) B:u(A) C:d(B)")
    picky = Doing("picky", "", patterns=[pair], worthwhile=lambda region: No("never"))
    found = divided(p, "C", picky, Doing())
    assert regions(p, found) == ["mine: A"]
    # and a group of another's, which has one op of it
    other = Doing("other", "", patterns=[Pattern("two", match("exp", match("abs", x)))])
    found = divided(p, "C", picky, other, Doing())
    assert regions(p, found) == ["mine: A", "other: B C"]


# what is trimmed


def test_a_generator_may_take_a_part_of_a_region() -> None:
    def only_sums(region: Region) -> Answer | Only:
        return Only([n for n, c in enumerate(region.calls) if c.op == "add"], "no single one")

    p = written("A:t(x) B:t(A,y) C:t(B,y) D:t(C)")
    trimming = Doing("trimming", worthwhile=only_sums)
    found = divided(p, "D", trimming)
    assert regions(p, found) == ["trimming: B C"] and left(p, found) == "A D"
    assert found.reasons[0] == found.reasons[3] == {"trimming": "no single one"}
    # it is asked again about what is left, which it wants as a whole
    assert [len(r.calls) for r in trimming.shown] == [4, 2]
    # the next one gets the rest
    assert regions(p, divided(p, "D", trimming, Doing())) == [
        "mine: A", "trimming: B C", "mine: D"]


def test_what_is_trimmed_in_the_middle_is_two_regions() -> None:
    def no_sums(region: Region) -> Answer | Only:
        wanted = [n for n, c in enumerate(region.calls) if c.op != "add"]
        return Only(wanted, "no sum", deliberate=True)

    p = written("A:t(x) B:t(A,y) C:t(B) D:t(A,B,C)")
    found = divided(p, "D", Doing(worthwhile=no_sums))
    assert regions(p, found) == ["mine: A", "mine: C D"] and left(p, found) == "B"
    assert found.deliberate == {1}


def test_a_group_is_trimmed_as_a_whole() -> None:
    pair = Pattern("pair", match("abs", match("negative", x)))

    def no_abs(region: Region) -> Answer | Only:
        return Only([n for n, c in enumerate(region.calls) if c.op != "abs"], "no abs here")

    p = written("A:t(x,y) B:t(A) C:u(B) D:t(C)")
    found = divided(p, "D", Doing(patterns=[pair], worthwhile=no_abs))
    assert regions(p, found) == ["mine: A", "mine: D"] and left(p, found) == "B C"


# what cannot be built, and what is too large


def built(p: Written, outputs: str, fails: Callable[[Region], bool], *generators: Doing) -> (
    tuple[Partition, list[int]]
):
    """What is left where some regions cannot be built, and the sizes of those that were tried."""
    unbuilt: set[tuple[str, str]] = set()
    tried: list[int] = []
    outs = p.results(outputs)
    while True:
        found = partition(p.structure, outs, generators, unbuilt=unbuilt)
        check(p.structure, outs, found)
        bad = [part for part in found.parts if fails(part.region)]
        if not bad:
            return found, tried
        for part in bad:
            tried.append(len(part.members))
            unbuilt.add((part.generator.name, part.region.program.key))
            if len(part.members) == 1:
                unbuilt.add((part.generator.name, unit_key(part.region)))


def test_a_region_that_cannot_be_built_is_halved_down_to_the_op() -> None:
    p = written(" ".join(
        f"O{k}:{'u' if k == 21 else 't'}({f'O{k - 1}' if k else 'x'})" for k in range(64)))
    found, tried = built(p, "O63", lambda r: any(c.op == "abs" for c in r.calls), Doing(ops=ALL))
    assert tried == [64, 32, 16, 8, 4, 2, 1]
    assert left(p, found) == "O21" and found.reasons[21] == {"mine": "it failed here before"}
    assert [f.ops for f in found.failed] == [("abs",)]
    # and the next one gets that op
    found, _ = built(p, "O63", lambda r: any(c.op == "abs" for c in r.calls) and len(r.calls) > 1,
                     Doing(ops=ALL), theirs())
    assert left(p, found) == ""
    found, _ = built(
        p, "O63", lambda r: len(r.calls) > 1 or r.calls[0].op == "abs", Doing(ops=ALL))
    assert left(p, found) == "O21" and len(found.parts) == 63


def test_an_op_that_cannot_be_built_is_in_no_other_region() -> None:
    p = written("A:t(x) B:u(A) C:t(B)")
    mine = Doing(ops=ALL)
    alone = partition(p.structure, p.results("C"), [Doing(ops="abs")]).parts[0].region
    q = written("A:u(x) B:t(A,y) C:u(B) D:t(C)")
    found = partition(q.structure, q.results("D"), [mine],
                      unbuilt=[("mine", unit_key(alone))])
    check(q.structure, q.results("D"), found)
    assert regions(q, found) == ["mine: B", "mine: D"] and left(q, found) == "A C"
    # of other operands it may be
    r = written("A:u(x,y) B:t(A)")
    found = partition(r.structure, r.results("B"), [mine],
                      unbuilt=[("mine", unit_key(alone))])
    assert regions(r, found) == ["mine: A B"]


@pytest.mark.parametrize("count", [MOST_ARRAYS - 2, 3 * MOST_ARRAYS])
def test_a_region_of_many_operands_is_several(count: int) -> None:
    p = written(" ".join(f"O{k}:t({f'O{k - 1}' if k else 'x'},y{k})" for k in range(count)))
    found = divided(p, f"O{count - 1}")
    assert left(p, found) == ""
    sizes = [len(part.operands) + len(part.outputs) for part in found.parts]
    assert max(sizes) <= MOST_ARRAYS and len(sizes) == (1 if count < MOST_ARRAYS else 4)
    # what belongs together in pieces stays so: each is a part of the chain
    assert all(len(part.outputs) == 1 for part in found.parts)


def test_results_count_as_operands_do() -> None:
    count = MOST_ARRAYS * 3 // 2
    p = written("A:t(x) " + " ".join(f"O{k}:t(A)" for k in range(count)))
    found = divided(p, " ".join(f"O{k}" for k in range(count)))
    assert left(p, found) == "" and len(found.parts) > 1
    assert all(len(part.operands) + len(part.outputs) <= MOST_ARRAYS for part in found.parts)
    # an op that has too many by itself is XLA's
    wide = written(f"A:barrier({','.join(f'x{k}' for k in range(MOST_ARRAYS))}) B:t(A.1)")
    found = divided(wide, "B", Doing(ops="barrier negative"))
    assert left(wide, found) == "A" and regions(wide, found) == ["mine: B"]
    assert found.reasons[0] == {"mine": "4097 operands and results, expected at most 4096"}


# what is slower


class Estimating(Doing):
    """Estimates as it is told to; XLA takes 2 ms for each op."""

    def __init__(self, name: str, ops: str, each: float | None, **how: Any) -> None:
        super().__init__(name, ops, **how)
        self.each = each

    def seconds(self, region: Region) -> float | None:
        return None if self.each is None else self.each * len(region.calls)

    def seconds_of_xla(self, region: Region) -> float | None:
        return 2e-3 * len(region.calls)


def test_a_region_that_is_estimated_to_be_slower_is_xlas() -> None:
    p = written("A:t(x) B:d(A)")
    slow, quick = Estimating("slow", MINE, 19e-3), Estimating("quick", MINE, 1e-3)
    found = divided(p, "B", slow)
    assert found.parts == []
    assert found.reasons[0] == {"slow": "estimated 19 ms, XLA 2 ms"} and 0 in found.deliberate
    # the next one may be quicker
    assert regions(p, divided(p, "B", slow, quick)) == ["quick: A"]
    # one that does not know is asked as before, and so is one for tests, at any size
    assert regions(p, divided(p, "B", Estimating("unknown", MINE, None))) == ["unknown: A"]
    with codegen.whatever_the_size():
        assert regions(p, divided(p, "B", slow)) == ["slow: A"]


def test_what_was_measured_says_more_than_an_estimate() -> None:
    p = written("A:t(x) B:d(A)")
    slow = Estimating("slow", MINE, 19e-3)
    with codegen.whatever_the_size():
        (part,) = divided(p, "B", slow).parts
    for seconds, made in ((1e-3, True), (3e-3, False)):
        known = Verdicts({signature(slow, part.region): verdict(
            slow, part.region, [(seconds, 2e-3)] * 9, False)})
        found = partition(p.structure, p.results("B"), [slow], (), known)
        assert bool(found.parts) == made
    # it can be measured
    small: list[Any] = []
    partition(p.structure, p.results("B"), [slow], candidates=small)
    assert [c.generator.name for c in small] == ["slow"]


def by_gain(p: Written, outputs: str, verdicts: Verdicts, *generators: Doing) -> list[str]:
    found = partition(p.structure, p.results(outputs), generators, (), verdicts, by_gain=True)
    check(p.structure, p.results(outputs), found)
    return regions(p, found)


def test_the_quicker_of_two_gets_a_region_where_nobody_has_named_them() -> None:
    p = written("A:t(x) B:t(A) C:d(B) D:u(C)")
    one, two = Estimating("one", ALL, 1e-3), Estimating("two", MINE, 0.5e-3)
    assert by_gain(p, "D", Verdicts({}), one, two) == ["two: A B", "one: D"]
    assert by_gain(p, "D", Verdicts({}), two, one) == ["two: A B", "one: D"]
    # the order decides where it is the user's, or one does not know
    assert regions(p, divided(p, "D", one, two)) == ["one: A B", "one: D"]
    unknown = Estimating("unknown", MINE, None)
    assert by_gain(p, "D", Verdicts({}), one, unknown) == ["one: A B", "one: D"]
    # the reason is the time
    found = partition(p.structure, p.results("D"), [one, two], by_gain=True)
    assert found.reasons[0] == {"one": "estimated 2 ms, two 1 ms"}
    # and who refuses it does not get it
    two = Estimating("two", MINE, 0.5e-3, worthwhile=lambda region: No("no"))
    assert by_gain(p, "D", Verdicts({}), one, two) == ["one: A B", "one: D"]


def test_of_two_that_were_measured_the_quicker_one_gets_it() -> None:
    p = written("A:t(x) B:t(A) C:d(B)")
    one, two = Estimating("one", MINE, 0.5e-3), Estimating("two", MINE, 1e-3)
    parts = [divided(p, "C", g).parts[0] for g in (one, two)]

    def measured(*seconds: float) -> Verdicts:
        return Verdicts({
            signature(g, part.region): verdict(g, part.region, [(s, 9e-3)] * 9, True)
            for g, part, s in zip((one, two), parts, seconds, strict=True)})

    assert by_gain(p, "C", measured(2e-3, 1e-3), one, two) == ["two: A B"]
    assert by_gain(p, "C", measured(1e-3, 2e-3), one, two) == ["one: A B"]
    # within noise the first one
    assert by_gain(p, "C", measured(1.02e-3, 1e-3), one, two) == ["one: A B"]


def test_the_quicker_of_two_gets_a_group_inside_of_a_region() -> None:
    pair = Pattern("pair", match("abs", match("negative", x)))
    p = written("A:t(x,y) B:t(A) C:u(B) D:t(C)")
    one = Estimating("one", MINE, 1e-3, patterns=[pair])
    two = Estimating("two", "", 0.5e-3, patterns=[pair])
    assert by_gain(p, "D", Verdicts({}), one, two) == ["one: A", "two: B C", "one: D"]
    assert by_gain(p, "D", Verdicts({}), one, Estimating("two", "", 2e-3, patterns=[pair])) == [
        "one: A B C D"]


def test_measuring_compares_generators() -> None:
    codegen.register(Doing("one_of_two", MINE))
    codegen.register(Doing("two_of_two", MINE))
    program = written("A:t(x) B:d(A)").program("B")
    with codegen.use("one_of_two", "two_of_two"):
        from lazyloom.codegen.report import candidates

        found = candidates(program, registry.generators(codegen.in_use()))
    assert [(c.generator.name, c.estimated) for c in found] == [
        ("one_of_two", True), ("two_of_two", True)]


def test_the_choice_says_what_decides() -> None:
    codegen.register(Estimating("slower_one", MINE, 1e-3))
    codegen.register(Estimating("quicker_one", MINE, 0.5e-3))
    program = written("A:t(x) B:d(A)").program("B")
    texts = set()
    for by, expected in (("order", "slower_one"), ("gain", "quicker_one")):
        with codegen.use("slower_one", "quicker_one", by=by):
            assert codegen.in_use() == ("slower_one", "quicker_one")
            assert codegen.explain(program).generator(0) == expected
            text = registry.versions(registry.chosen())
            assert registry.names_in(text) == registry.chosen()
            texts.add(text)
    # a program on disk is of one of them
    assert len(texts) == 2
    with pytest.raises(ArgumentError, match="'best' was given, expected 'order' or 'gain'"):
        codegen.use("slower_one", by="best")


# groups whose inner results others use


def test_a_group_may_show_its_inner_results() -> None:
    tail = Pattern("tail", match("abs", match("negative", match("add", x, y))), shows=True)
    p = written("A:add(a,b) B:t(A) C:u(B) E:d(A) F:d(E,C)")
    found = divided(p, "F B", Doing(ops="", patterns=[tail]))
    assert regions(p, found) == ["mine: A B C"] and left(p, found) == "E F"
    assert gives(p, found.parts[0].outputs) == ["A", "B", "C"]
    assert found.parts[0].region.composites == (("tail", (0, 1, 2)),)


def test_a_group_that_cannot_show_them_says_who_uses_one() -> None:
    tail = Pattern("tail", match("abs", match("negative", x)))
    p = written("B:t(x) C:u(B) E:d(B)")
    found = divided(p, "C E", Doing(ops="", patterns=[tail]))
    assert found.parts == [] and found.reasons[0] == found.reasons[1] == {
        "mine": "tail: the inner result of %0, negative, is used by %2, exp, too"}
    p = written("B:t(x) C:u(B)")
    found = divided(p, "C B", Doing(ops="", patterns=[tail]))
    assert found.parts == [] and found.reasons[1] == {
        "mine": "tail: the inner result of %0, negative, is a result of the program, which a "
                "variable or a gradient holds"}
    # what its check says comes first
    no = Pattern("tail", tail.root, lambda calls: No("not float64"))
    assert divided(p, "C B", Doing(ops="", patterns=[no])).reasons[1] == {
        "mine": "tail: not float64"}


def test_a_group_is_none_where_something_must_run_inside_of_it() -> None:
    join = Pattern("join", match("add", match("negative", x), y), shows=True)
    p = written("A:t(x) E:d(A) B:add(A,E)")
    found = divided(p, "B", Doing(ops="negative", patterns=[join]))
    assert regions(p, found) == ["mine: A"]
    assert found.reasons[2] == {"mine": "join: %1, exp, has to run between its ops"}
    # nor where what must is another group
    p = written("A:t(x) F:t(y) E:d(F) B:add(A,E) D:d(A) G:add(F,D)")
    found = divided(p, "B G", Doing(ops="", patterns=[join]))
    assert len(found.parts) <= 1
    assert any("has to run between its ops" in r["mine"] for r in found.reasons if r)


def test_a_variable_that_holds_an_intermediate_defeats_no_group(
) -> None:
    """As from a frontend: the hidden layer is read as well as the result."""
    import lazyloom_numpy as np

    w = np.ones((4, 4), np.float32)
    lazyloom.sync(w)
    hidden = np.maximum(w @ w, w)
    program = lazyloom.program_of(np.tanh(hidden), hidden)
    layer = Pattern("layer", match("tanh", match("maximum", match("matmul", x, y), y)), shows=True)
    found = partition(program.structure, program.outputs, [Doing(ops="", patterns=[layer])])
    check(program.structure, program.outputs, found)
    (part,) = found.parts
    assert len(part.members) == 3 and len(part.outputs) == 2
