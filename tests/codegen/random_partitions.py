"""Random programs for random generators: divided, checked, and run in NumPy beside the whole.

``python -m tests.codegen.random_partitions --start N --count M`` goes through M of them, with
``--xla`` in compiled programs (:mod:`.random_in_xla`). The number of one that fails is in its
error, and is all that it takes to make it again.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lazyloom.codegen import Call, No, Part, Partition, partition
from lazyloom.codegen.check import Unsound, check
from lazyloom.codegen.claims import unit_key
from lazyloom.codegen.mapped import of_element, with_batches
from lazyloom.program.program import Instruction, Program, Structure
from lazyloom.program.stream import Leaf, Operand, Result

from .random_programs import Inputs, Random, Values, interpreted, run, same, structure

# one of them


class Outcome(NamedTuple):
    """What came of a random program."""

    ops: int
    regions: int
    groups: int
    in_regions: int
    wrong: int
    shown: int = 0
    unbuilt: int = 0
    batched: int = 0


def outcome(number: int, execute: bool = True) -> Outcome:
    """Divide a random program, and raise AssertionError or Unsound where that is wrong."""
    values = Values(number)
    rng = values.random
    recorded = structure(values, rng.choice((3, 6, 10, 16, 16, 30, 60)))
    whole = with_batches(recorded)
    if execute and whole is not recorded:
        inputs = Inputs(Values(number))
        inputs.leaves[:] = values.leaf_values
        for before, after in zip(interpreted(recorded.instructions, inputs),
                                 interpreted(whole.instructions, inputs), strict=True):
            assert all(map(same, before, after)), "batched ops are others than mapped ones"
    everything = [(o.instruction, o.number) for o, _ in values.known]
    outputs = rng.sample(everything, min(len(everything), rng.choice((1, 2, 3, 5))))
    if rng.random() < 0.7 and everything[-1] not in outputs:
        outputs.append(everything[-1])
    generators = [Random(rng, name, whole.instructions)
                  for name in ("one", "two", "three")[: rng.choice((1, 2, 2, 3))]]
    by_gain = rng.random() < 0.3
    found = partition(whole, outputs, generators, by_gain=by_gain)
    wrong = 0
    for again in (False, True):
        examine(whole, outputs, generators, found)
        wrong += corrupted(whole, outputs, found, rng)
        if execute:
            executed(whole, outputs, found, Inputs(values))
        if again or not found.parts or rng.random() < 0.8:
            break
        # once more without one of the regions
        part = rng.choice(found.parts)
        key = part.generator.name, part.region.program.key
        found = partition(whole, outputs, generators, [key], by_gain=by_gain)
        assert key not in {(p.generator.name, p.region.program.key) for p in found.parts}
    built, unbuilt = without_what_fails(whole, outputs, generators, by_gain)
    if unbuilt:
        examine(whole, outputs, generators, built)
        wrong += corrupted(whole, outputs, built, rng)
        if execute:
            executed(whole, outputs, built, Inputs(values))
    return Outcome(
        len(whole.instructions), len(found.parts),
        sum(len(part.region.composites) for part in found.parts),
        sum(owner >= 0 for owner in found.owner), wrong,
        sum(shown(whole, outputs, part) for part in found.parts), unbuilt,
        sum(a.spec is not b.spec for a, b in zip(
            recorded.instructions, whole.instructions, strict=True)))


def shown(whole: Structure, outputs: Sequence[tuple[int, int]], part: Part) -> int:
    """How many groups of a region have inner results that others use."""
    return sum(
        len({n for n, _ in leaving(whole, outputs, {part.members[n] for n in members})}) > 1
        for _, members in part.region.composites)


def without_what_fails(
    whole: Structure, outputs: Sequence[tuple[int, int]], generators: Sequence[Random],
    by_gain: bool,
) -> tuple[Partition, int]:  # fmt: skip
    """A partition of what generators can build, as it comes of trying, and how many they cannot."""
    unbuilt: set[tuple[str, str]] = set()
    for _ in range(40 * (len(whole.instructions) + 1)):
        found = partition(whole, outputs, generators, unbuilt=unbuilt, by_gain=by_gain)
        bad = [p for p in found.parts if not p.generator.builds(p.region.calls)]
        if not bad:
            break
        before = set(unbuilt)
        for part in bad:
            key = (part.generator.name, part.region.program.key)
            assert key not in before, "it is tried again"
            unbuilt.add(key)
            one = len(part.members) == 1 or any(
                len(members) == len(part.members) for _, members in part.region.composites)
            if one:
                unbuilt.add((part.generator.name, unit_key(part.region)))
    else:
        raise AssertionError("there is no end of it")
    return found, len(unbuilt)


def examine(whole: Structure, outputs: Sequence[tuple[int, int]],
            generators: Sequence[Random], found: Partition) -> None:  # fmt: skip
    """What each partition must be, beside what the checker looks at."""
    check(whole, outputs, found)
    for n, (i, owner) in enumerate(zip(whole.instructions, found.owner, strict=True)):
        empty = any(t is not None and not t.size for t in (*i.operand_types, *i.types))
        if owner < 0:
            assert found.reasons[n], f"nobody says why op {n} is XLA's"
            if not (empty or i.spec.checked):
                explained(whole, n, outputs, generators, found.reasons[n])
        else:
            assert not empty and not i.spec.checked, f"op {n} was offered"
    assert [s for s in found.steps if s >= 0] == list(range(len(found.parts)))
    for part in found.parts:
        own = part.region.program
        assert part.outputs and not own.donated and len(part.members) >= part.generator.least
        assert Program.parse(own.serialized) == own
        assert list(part.outputs) == leaving(whole, outputs, set(part.members))
        inside = [n for _, members in part.region.composites for n in members]
        assert len(inside) == len(set(inside)), "groups overlap"
        for name, members in part.region.composites:
            pattern = part.generator.found[int(name[1:])]
            alone = [part.members[n] for n in members]
            assert alone == sorted(alone) and len(alone) > 1
            if not pattern.shows:
                escaping = {n for n, _ in leaving(whole, outputs, set(alone))}
                assert escaping <= {alone[-1]}, "it escapes"
            assert not between(whole, set(alone)), "something has to run inside of it"
            ways = matching(pattern.root, Result(alone[-1], 0), whole.instructions, {})
            assert any(used == set(alone) for used, _ in ways), f"{name} is no such group"
        by_itself = set(range(len(part.members))) - set(inside)
        for n in by_itself:
            assert part.generator.supports(part.region.calls[n])
        assert part.generator.merges or len(by_itself) + len(part.region.composites) == 1
        used = [o.number for i in own.structure.instructions for o in i.operands
                if isinstance(o, Leaf)]
        assert list(dict.fromkeys(used)) == list(range(len(part.operands)))
        assert [t for t, _ in part.region.in_memory()] == [
            *part.region.operands, *part.region.results]


def leaving(whole: Structure, outputs: Sequence[tuple[int, int]], members: set[int]) -> (
    list[tuple[int, int]]
):
    """The results of some ops that others use or that the program gives, in order."""
    found = {(n, r) for n, r in outputs if n in members}
    for n, i in enumerate(whole.instructions):
        if n not in members:
            found |= {(o.instruction, o.number) for o in i.operands
                      if isinstance(o, Result) and o.instruction in members}
    return sorted(found)


def between(whole: Structure, members: set[int]) -> set[int]:
    """The ops that need one of some ops and that one of these needs."""
    after: set[int] = set()
    for n, i in enumerate(whole.instructions):
        if any(isinstance(o, Result) and o.instruction in members | after for o in i.operands):
            after.add(n)
    before: set[int] = set()
    for n in range(len(whole.instructions) - 1, -1, -1):
        if n in members | before:
            before |= {o.instruction for o in whole.instructions[n].operands
                       if isinstance(o, Result)}
    return (after & before) - members


def matching(
    node: Any, operand: Operand, program: Sequence[Instruction], bound: dict[Any, Operand]
) -> Iterator[tuple[frozenset[int], dict[Any, Operand]]]:
    """The ways in which an operand is what a pattern says: the ops, and what wildcards are."""
    if not hasattr(node, "ops"):
        if bound.get(node, operand) == operand:
            yield frozenset(), {**bound, node: operand}
        return
    if isinstance(operand, Result) and not operand.number:
        i = program[operand.instruction]
        orders = [list(i.operands)]
        if node.commutes and len(orders[0]) > 1:
            orders.append([orders[0][1], orders[0][0], *orders[0][2:]])
        for given in orders:
            if i.spec.op.name not in node.ops or len(given) < len(node.operands):
                continue
            ways = [(frozenset([operand.instruction]), bound)]
            for inner, item in zip(node.operands, given, strict=False):
                ways = [(used | more, after) for used, before in ways
                        for more, after in matching(inner, item, program, before)]
            yield from ways
    if node.optional and node.operands:
        yield from matching(node.operands[0], operand, program, bound)


#: what is said of regions that were possible
REFUSED: Final = (
    "too few ops", "nothing uses its results", "not this region", "not in this region")


def explained(
    whole: Structure, number: int, outputs: Sequence[tuple[int, int]],
    generators: Sequence[Random], reasons: Mapping[str, str],
) -> None:  # fmt: skip
    """Whether an op that is XLA's is so for a reason that is true, of each generator."""
    call = Call.of(whole.instructions[number])
    for generator in generators:
        reason = reasons.get(generator.name, "")
        if reason in REFUSED or reason.startswith("it failed here before"):
            continue  # what one refuses, others are asked about
        if times := re.fullmatch(r"(?:p\d+: )?estimated (.*), (\w+) (.*)", reason):
            assert times[2] == "XLA" or times[2] in reasons or times[2] in {
                g.name for g in generators}
            continue
        if inner := re.fullmatch(r"p\d+: the inner result of %(\d+), [\w.]+, is (.*)", reason):
            assert read_elsewhere(whole, int(inner[1]), outputs, inner[2])
            continue
        if one := re.fullmatch(r"p\d+: %(\d+), [\w.]+, has to run between its ops", reason):
            assert int(one[1]) < len(whole.instructions)
            continue
        if reason.endswith(": another group has to run between its ops"):
            continue
        if reason.endswith(f"which is no {call.op.removesuffix('.vmap')} of one more axis"):
            element = of_element(whole.instructions[number])
            assert element is not None and generator.supports(element)
            continue
        assert reason, f"{generator.name} says nothing of {call.op}"
        answer = generator.supports(call)
        assert isinstance(answer, No) and (
            reason == answer.reason or reason.endswith(": not these")), (call, reason)


def read_elsewhere(
    whole: Structure, number: int, outputs: Sequence[tuple[int, int]], how: str
) -> bool:
    """Whether a result of an op is used as a reason says."""
    if how == "a result of the program, which a variable or a gradient holds":
        return any(n == number for n, _ in outputs)
    user = re.fullmatch(r"used by %(\d+), [\w.]+, too", how)
    return user is not None and any(
        isinstance(o, Result) and o.instruction == number
        for o in whole.instructions[int(user[1])].operands)


def corrupted(whole: Structure, outputs: Sequence[tuple[int, int]], found: Partition,
              rng: random.Random) -> int:  # fmt: skip
    """Partitions that are not right any more; the checker finds all of them."""
    wrong = [found.steps[:-1], [*found.steps, rng.choice(found.steps)]]
    needs = [needed(whole, found, step) for step in found.steps]
    made = [gives(whole, found, step) for step in found.steps]
    for k in range(len(needs) - 1):
        if needs[k + 1] & made[k]:
            wrong.append([*found.steps[:k], found.steps[k + 1], found.steps[k],
                          *found.steps[k + 2:]])
    changed = [Partition(found.parts, steps, found.owner, found.reasons) for steps in wrong]
    for p, part in enumerate(found.parts):
        for parts in (
            [part._replace(operands=part.operands[1:])] if part.operands else [],
            [part._replace(outputs=part.outputs[1:])],
            [part._replace(members=part.members[:-1])],
        ):
            if parts:
                changed.append(Partition(
                    [*found.parts[:p], *parts, *found.parts[p + 1:]], found.steps, found.owner,
                    found.reasons))
    for one in changed:
        try:
            check(whole, outputs, one)
        except Unsound:
            continue
        raise AssertionError("the checker takes what is wrong for sound")
    return len(changed)


def needed(whole: Structure, found: Partition, step: int) -> set[tuple[int, int]]:
    """The results that a step takes."""
    operands = found.parts[step].operands if step >= 0 else (
        whole.instructions[-1 - step].operands)
    return {(o.instruction, o.number) for o in operands if isinstance(o, Result)}


def gives(whole: Structure, found: Partition, step: int) -> set[tuple[int, int]]:
    """The results that a step leaves behind."""
    if step >= 0:
        return set(found.parts[step].outputs)
    return {(-1 - step, r) for r in range(len(whole.instructions[-1 - step].types))}


def executed(whole: Structure, outputs: Sequence[tuple[int, int]], found: Partition,
             inputs: Inputs) -> None:  # fmt: skip
    """Whether everything that steps leave behind is what the whole program computes."""
    expected = interpreted(whole.instructions, inputs)
    there = run(found, whole.instructions, inputs)
    for n, r in outputs:
        assert (n, r) in there
    for (n, r), x in there.items():
        assert same(x, expected[n][r]), f"result {r} of op {n} differs"


def through(start: int, count: int, execute: bool = True) -> Counter[str]:
    """Go through some; how many there were, of what."""
    total: Counter[str] = Counter()
    for number in range(start, start + count):
        try:
            found = outcome(number, execute)
        except Exception as error:
            error.add_note(f"random program {number}")
            raise
        total["programs"] += 1
        total["with regions"] += found.regions > 0
        total["with several regions"] += found.regions > 1
        total.update(found._asdict())
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--no-run", action="store_true", help="divide and check, do not execute")
    parser.add_argument(
        "--xla", action="store_true",
        help="compile each by XLA, with its regions and without them, and compare the results")
    asked = parser.parse_args()
    before = time.perf_counter()
    if asked.xla:
        from .random_in_xla import report

        report(asked.start, asked.count)
        return
    total = through(asked.start, asked.count, not asked.no_run)
    print(f"{total['programs']} programs from {asked.start} on: {total['ops']} ops, of which "
          f"{total['in_regions']} in {total['regions']} regions with {total['groups']} groups; "
          f"{total['with regions']} with regions, {total['with several regions']} with several; "
          f"{total['wrong']} wrong partitions refused; {time.perf_counter() - before:.1f} s")


if __name__ == "__main__":
    main()
