"""Which regions a program is divided into: what merges, what goes in and out, in which order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as onp
import pytest

import lazyloom as ll
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.codegen import YES, No, Partition
from lazyloom.program.program import Baked, Program, Structure
from lazyloom.program.stream import Leaf, Result, ScalarSlot
from tests.codegen.programs import (
    F32,
    VECTOR,
    Doing,
    divided,
    gives,
    left,
    regions,
    sound,
    takes,
    theirs,
    written,
)
from tests.contract.helpers import number, rec


def array(*shape: int, dtype: Any = onp.float32) -> Any:
    """An array of the NumPy-like frontend that is no pending work."""
    found = np.array(onp.linspace(0.1, 2.0, int(onp.prod(shape)), dtype=dtype).reshape(shape))
    ll.sync(found)
    return found


# what merges


def test_a_single_op_is_a_region() -> None:
    p = written("A:t")
    found = divided(p, "A")
    assert regions(p, found) == ["mine: A"]
    assert found.steps == [0] and found.owner == [0] and found.reasons == [{}]


def test_everything_supported_is_one_region() -> None:
    p = written("A:t(x) B:t(A,y) C:t(A,B,z) D:t(B) E:t(C,D)")
    found = divided(p, "E")
    assert regions(p, found) == ["mine: A B C D E"]
    assert takes(p, found.parts[0].operands) == ["leaf 0", "leaf 1", "leaf 2"]
    assert gives(p, found.parts[0].outputs) == ["E"]
    # as a program of its own it is the whole
    assert found.parts[0].region.program == p.program("E")


def test_nothing_supported_is_no_region() -> None:
    p = written("A:d(x) B:d(A,y) C:d(B)")
    found = divided(p, "C")
    assert found.parts == [] and found.steps == [-1, -2, -3] and found.owner == [-1] * 3
    assert found.reasons == [{"mine": f"no {op}"} for op in ("exp", "subtract", "exp")]


def test_no_generator_at_all() -> None:
    p = written("A:t B:d(A)")
    found = sound(p.structure, p.results("B"), [])
    assert found.parts == [] and found.steps == [-1, -2] and found.reasons == [{}, {}]


def test_a_program_without_ops() -> None:
    found = sound(Structure((), (VECTOR,)), [], [Doing()])
    assert found.parts == [] and found.steps == []


def test_what_is_left_to_the_default_stays_in_order() -> None:
    # an addition is handed over, what follows it is not
    p = written("A:t(x,y) B:d(A) C:d(B) D:concatenate(B,C)")
    found = divided(p, "D")
    assert regions(p, found) == ["mine: A"] and left(p, found) == "B C D"
    assert found.steps == [0, -2, -3, -4]


def test_a_region_between_two_others() -> None:
    p = written("A:t(x) B:d(A) C:t(B)")
    found = divided(p, "C")
    assert regions(p, found) == ["mine: A", "mine: C"] and found.steps == [0, -2, 1]


def test_a_diamond_that_fans_out() -> None:
    # one way through the diamond is not supported: its ends may not be one region
    p = written("A:t(x,y) B:t(A) C:d(A) D:t(B,C)")
    found = divided(p, "D")
    assert regions(p, found) == ["mine: A", "mine: B D"] and left(p, found) == "C"
    assert gives(p, found.parts[0].outputs) == ["A"]
    assert takes(p, found.parts[1].operands) == ["A", "C"]
    assert found.steps == [0, -3, 1]


def test_a_diamond_that_is_supported_is_one() -> None:
    p = written("A:t(x) B:t(A) C:t(A) D:t(B,C)")
    assert regions(p, divided(p, "D")) == ["mine: A B C D"]


def test_the_program_of_ten_inputs() -> None:
    # two regions and the default's ops before and between them
    p = written("A:t(i1,i2) B:t(i3,i4) C:t(A,B) D:d(i5,i6) E:d(i7,D) F:t(C,E) G:d(i8,F) "
                "H:t(i9,F) I:t(G,H) J:t(i10,I)")
    found = divided(p, "J")
    assert regions(p, found) == ["mine: A B C F", "mine: H I J"] and left(p, found) == "D E G"
    assert gives(p, found.parts[0].outputs) == ["F"]
    assert takes(p, found.parts[1].operands) == ["leaf 8", "F", "G", "leaf 9"]


def test_a_diamond_whose_sides_are_of_two_generators() -> None:
    p = written("A:t B:t(A) C:u(A) D:t(B,C)")
    found = divided(p, "D", Doing(), theirs())
    assert regions(p, found) == ["mine: A", "theirs: C", "mine: B D"]
    # the other way round, the second one does what is around
    found = divided(p, "D", theirs(), Doing())
    assert regions(p, found) == ["mine: A", "theirs: C", "mine: B D"]


def test_producers_become_one_with_what_uses_them() -> None:
    p = written("A:t(x) B:t(x) C:t(A,B)")
    found = divided(p, "C")
    assert regions(p, found) == ["mine: A B C"]
    assert takes(p, found.parts[0].operands) == ["leaf 0"]


def test_producers_of_which_one_waits_for_the_other() -> None:
    # B needs A through another's op, so that C can be one with B alone
    p = written("A:t(x) X:u(A) B:t(X) C:t(B,A)")
    found = divided(p, "C", Doing(), theirs())
    assert regions(p, found) == ["mine: A", "theirs: X", "mine: B C"]
    assert takes(p, found.parts[2].operands) == ["X", "A"]


def test_producers_are_one_with_what_uses_them_later() -> None:
    # B is used by C alone, so it can wait for X as C does; on its own it is a call more
    p = written("A:t(x) X:d(A) B:t(y) C:t(X,B)")
    assert regions(p, divided(p, "C")) == ["mine: A", "mine: B C"]
    # so can what prepares it, in several steps, and what the program gives besides
    p = written("A:t(x) X:d(A) B:t(y) C:t(B) D:t(C,y) E:t(X,D) Y:d(E) F:t(z) G:t(Y,F)")
    assert regions(p, divided(p, "G C")) == ["mine: A", "mine: B C D E", "mine: F G"]
    # not where it is used in its own wave
    p = written("A:t(x) B:t(y) D:t(A,B) X:d(A) C:t(X,B)")
    assert regions(p, divided(p, "C D")) == ["mine: A B D", "mine: C"]


def test_what_prepares_weights_goes_with_what_takes_them() -> None:
    # layers whose ops are mine but for one, each of which has a weight that is cast first
    layers = 5
    text = " ".join(f"W{k}:t(w{k}) P{k}:t({f'X{k - 1}' if k else 'x'},W{k}) X{k}:d(P{k})"
                    for k in range(layers))
    p = written(text)
    assert regions(p, divided(p, f"X{layers - 1}")) == [f"mine: W{k} P{k}" for k in range(layers)]
    # one that two layers use is made before the first
    p = written("X:d(x) W:t(w) P:t(X,W) Y:d(P) Q:t(Y,W)")
    found = divided(p, "Q")
    assert regions(p, found) == ["mine: W P", "mine: Q"]
    # also where an op of XLA's takes the weight afterwards, as in a backward pass
    p = written("X:d(x) W:t(w) P:t(X,W) Y:d(P) G:d(Y,W) Q:t(G)")
    assert regions(p, divided(p, "Q")) == ["mine: W P", "mine: Q"]
    # but not where such an op is needed first
    p = written("W:t(w) X:d(W) P:t(X,W) Y:d(P)")
    assert regions(p, divided(p, "Y")) == ["mine: W", "mine: P"]


@pytest.mark.parametrize("training", [False, True])
def test_under_autocast_a_region_is_no_cast_alone(training: bool) -> None:
    """A transformer: at most one region for each product; no weight is cast by XLA."""
    products = {"dot_general", "matmul", "dot_general.vjp", "matmul.vjp"}
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[
        torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, dropout=0.0)
        for _ in range(2)])
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(torch.randn(2, 8, 32)).float().square().mean()
    if training:
        loss.backward()
    program = ll.program_of(loss, *([p.grad for p in model.parameters()] if training else ()))
    mine = Doing(ops=" ".join(products) + " cast add", worthwhile=lambda region: (
        YES if any(c.op in products for c in region.calls) else No("no product")))
    found = sound(program.structure, program.outputs, [mine])
    count = sum(op in products for op in program.ops)
    assert len(found.parts) <= count and count == (16 if training else 8)
    weights = [n for n, i in enumerate(program.structure.instructions)
               if i.spec.op.name == "cast" and isinstance(i.operands[0], Leaf)]
    assert len(weights) == 16 and not [n for n in weights if found.owner[n] < 0]


def test_regions_side_by_side_stay_apart() -> None:
    p = written("A:t(x) B:t(A) C:t(x) D:t(C) E:d(B,D)")
    assert regions(p, divided(p, "E")) == ["mine: A B", "mine: C D"]


def test_a_generator_that_does_not_merge() -> None:
    p = written("A:t B:t(A) C:d(B) D:t(B,C)")
    found = divided(p, "D", Doing(merges=False))
    assert regions(p, found) == ["mine: A", "mine: B", "mine: D"]
    # the other one merges around them
    p = written("U:u A:t(U) V:u(U) B:t(A,V) W:u(B)")
    found = divided(p, "W", Doing(merges=False), theirs())
    assert regions(p, found) == ["theirs: U V", "mine: A", "mine: B", "theirs: W"]


def test_two_generators_that_would_wait_for_each_other() -> None:
    # A: a1, a2 and B: b1, b2 with a1 -> b1 and b2 -> a2
    for text in ("a1:t(x) b2:u(y) b1:u(a1,b2) a2:t(b2,a1)",
                 "b2:u(y) a1:t(x) a2:t(a1,b2) b1:u(b2,a1)"):
        p = written(text)
        for generators in ([Doing(), theirs()], [theirs(), Doing()]):
            found = divided(p, "b1 a2", *generators)
            whole = {r for r in regions(p, found) if len(r.split()) == 3}
            # one of the two is whole, and never both
            assert len(whole) == 1 and len(found.parts) == 3, regions(p, found)
    # and where nothing else holds them together
    p = written("a1:t(x) b2:u(y) b1:u(a1) a2:t(b2)")
    assert len(divided(p, "b1 a2", Doing(), theirs()).parts) == 4


SEVEN = "W:t(a) P:t(b) X:d(P) D:t(X) Y:d(W) R:t(P,Y) E:t(D,W)"


@pytest.mark.parametrize("outputs", list(itertools.permutations("DRE")), ids="".join)
def test_the_seven_ops_that_merging_pair_by_pair_gets_wrong(outputs: Sequence[str]) -> None:
    """P goes into R's region, and then D and W into E's: R needs W, and D needs P.

    TVM's restrictions are of the regions as they were before P went, and let both happen.
    """
    p = written(SEVEN)
    found = divided(p, " ".join(outputs))
    assert left(p, found) == "X Y"
    home = {name: found.owner[n] for name, n in p.numbers.items()}
    assert not (home["P"] == home["R"] and home["W"] == home["E"] == home["D"])
    # with another generator for what was left, in both orders
    q = written(SEVEN.replace("d(", "u("))
    for generators in ([Doing(), theirs()], [theirs(), Doing()]):
        assert left(q, divided(q, " ".join(outputs), *generators)) == ""


def test_the_seven_ops_recorded_in_another_order() -> None:
    words = SEVEN.split()
    needs = {w[0]: {c for c in w[3:] if c.isupper()} for w in words}
    orders = 0
    for order in itertools.permutations(words):
        if all(needs[w[0]] <= {v[0] for v in order[:k]} for k, w in enumerate(order)):
            divided(written(" ".join(order)), "D R E")
            orders += 1
    assert orders == 33


# waves


def test_what_is_supported_in_one_wave_is_taken_before_what_waits() -> None:
    # two chains, of which one has an op of XLA's: the other goes on beside it
    p = written("A:t(x) B:d(A) C:t(B) D:t(y) E:t(D) F:t(E) G:t(C,F)")
    found = divided(p, "G")
    assert left(p, found) == "B"
    home = found.owner
    assert home[p.numbers["D"]] == home[p.numbers["E"]] == home[p.numbers["F"]]
    assert home[p.numbers["C"]] == home[p.numbers["G"]] != home[p.numbers["A"]]


def test_what_needs_something_from_two_waves() -> None:
    p = written("A:t B:d(A) C:t(B) D:d(C) E:t(D) F:t(A,C,E)")
    found = divided(p, "F")
    assert regions(p, found) == ["mine: A", "mine: C", "mine: E F"]
    assert takes(p, found.parts[2].operands) == ["D", "A", "C"]
    assert found.steps == [0, -2, 1, -4, 2]


def test_an_op_of_xla_that_needs_nothing_of_a_region_runs_before_it() -> None:
    # recorded after the region's first op, and needed by its second
    p = written("A:t(x) X:d(y) B:t(A,X)")
    found = divided(p, "B")
    assert regions(p, found) == ["mine: A B"] and found.steps == [-2, 0]


def test_a_long_chain_in_turns() -> None:
    text = " ".join(f"O{k}:{'tud'[k % 3]}({f'O{k - 1}' if k else 'x'})" for k in range(300))
    p = written(text)
    found = divided(p, "O299", Doing(), theirs())
    assert len(found.parts) == 200
    assert found.steps[:6] == [0, 1, -3, 2, 3, -6]


# what goes in and out


def test_several_outputs() -> None:
    p = written("A:t(x) B:t(A) C:t(B,y) D:d(A) E:d(B) F:d(C)")
    found = divided(p, "D E F")
    assert regions(p, found) == ["mine: A B C"]
    assert gives(p, found.parts[0].outputs) == ["A", "B", "C"]
    assert [t.text for t in found.parts[0].region.results] == ["float32[4]"] * 3


def test_single_and_several_outputs() -> None:
    # two results leave the first region, of which the second takes one as it is
    p = written("O1:t(x) O2:t(O1) X:d(O1) Y:d(O2) O3:t(O2,X,Y)")
    found = divided(p, "O3")
    assert regions(p, found) == ["mine: O1 O2", "mine: O3"]
    assert gives(p, found.parts[0].outputs) == ["O1", "O2"]
    assert takes(p, found.parts[1].operands) == ["O2", "X", "Y"]
    assert gives(p, found.parts[1].outputs) == ["O3"]


def test_a_result_that_is_used_often_leaves_a_region_once() -> None:
    p = written("A:t(x) X:d(A) Y:d(A) Z:d(A,A)")
    found = divided(p, "X Y Z")
    assert gives(p, found.parts[0].outputs) == ["A"]


def test_a_result_that_the_same_and_another_region_use() -> None:
    p = written("A:t(x) B:t(A,A) C:u(A,B) D:u(A)")
    found = divided(p, "C D", Doing(), theirs())
    assert regions(p, found) == ["mine: A B", "theirs: C", "theirs: D"]
    assert gives(p, found.parts[0].outputs) == ["A", "B"]
    assert takes(p, found.parts[1].operands) == ["A", "B"]


def test_an_operand_that_is_used_often_goes_in_once() -> None:
    p = written("X:d(a) A:t(X,X) B:t(X,b) C:t(b,X) D:t(A,B,C)")
    found = divided(p, "D")
    assert regions(p, found) == ["mine: A B C D"]
    assert takes(p, found.parts[0].operands) == ["X", "leaf 1"]
    own = found.parts[0].region.program
    assert own.structure.leaf_types == (VECTOR, VECTOR)
    assert own.structure.instructions[2].operands == (Leaf(1), Leaf(0))


def test_an_output_that_is_asked_for_twice() -> None:
    p = written("A:t B:t(A)")
    found = divided(p, "B B A B")
    assert gives(p, found.parts[0].outputs) == ["A", "B"]


def test_results_that_the_program_gives_are_outputs() -> None:
    # used inside, and by nothing else
    p = written("A:t B:t(A) C:t(B)")
    for outputs, expected in (("C", ["C"]), ("B C", ["B", "C"]), ("A C B", ["A", "B", "C"]),
                              ("B", ["B"])):
        found = divided(p, outputs)
        assert regions(p, found) == ["mine: A B C"]
        assert gives(p, found.parts[0].outputs) == expected


def test_a_region_whose_results_nobody_wants() -> None:
    p = written("A:t B:t(A) C:d(x)")
    found = divided(p, "C")
    assert found.parts == [] and left(p, found) == "A B C"
    assert found.reasons[0] == found.reasons[1] == {"mine": "nothing uses its results"}


def test_several_results_of_an_op() -> None:
    mine = Doing(ops="barrier negative add")
    p = written("M:barrier(x,y,z) A:t(M.1) B:d(M.2) C:t(A,M.2)")
    found = divided(p, "B C", mine)
    assert regions(p, found) == ["mine: M A C"]
    assert gives(p, found.parts[0].outputs) == ["M.2", "C"]
    # and as operands from elsewhere, each a value of its own
    found = divided(p, "B C")
    assert takes(p, found.parts[0].operands) == ["M.1", "M.2"]
    assert left(p, found) == "M B"
    # one of them is asked for
    found = divided(p, "M.1 C", mine)
    assert gives(p, found.parts[0].outputs) == ["M.1", "M.2", "C"]


def test_two_results_of_an_op_merge_what_uses_them() -> None:
    mine = Doing(ops="barrier negative")
    p = written("M:barrier(x,y) A:t(M.1) B:t(M) C:d(A) D:d(B)")
    assert regions(p, divided(p, "C D", mine)) == ["mine: M A B"]
    assert regions(p, divided(p, "C D")) == ["mine: A", "mine: B"]


def test_a_region_without_tensors() -> None:
    # a run-time scalar is all that it takes
    program = ll.program_of(rec("negative", rec("full", number(2.5), shape=(3,))))
    found = sound(program.structure, program.outputs, [Doing(ops="full negative")])
    (part,) = found.parts
    assert part.operands == (ScalarSlot(F32, 0),)
    assert part.region.program.structure.leaf_types == (ll.tensor_type((), F32),)
    # and nothing
    program = ll.program_of(rec("negative", rec("iota", shape=(4,), dtype=F32)))
    found = sound(program.structure, program.outputs, [Doing(ops="iota negative")])
    (part,) = found.parts
    assert part.operands == () and part.region.program == program
    assert part.region.in_memory() == ((VECTOR, (4,)),)


# scalars


def test_run_time_scalars_are_operands_without_dimensions() -> None:
    p = written("A:d($) B:t(A,$) C:d(B,$) D:t(B,$,1)")
    found = divided(p, "C D")
    (part,) = found.parts
    assert takes(p, part.operands) == ["A", "scalar 1", "scalar 3"]
    assert [t.text for t in part.region.operands] == ["float32[]"] * 3
    own = part.region.program.structure
    assert own.scalar_counts == {}
    # constants are part of the region, as they are of the program
    assert own.instructions[1].operands[:2] == (Result(0, 0), Leaf(2))
    baked = own.instructions[1].operands[2]
    assert isinstance(baked, Baked) and baked.number == 1


def test_scalars_of_several_dtypes() -> None:
    x = array(3)
    y = (x * 2.5 + 3.5).astype(np.float64) * 2.5
    program = ll.program_of(y, (x + 4.5) * y)
    found = sound(program.structure, program.outputs, [Doing(ops="add multiply")])
    slots = {item for part in found.parts for item in part.operands
             if isinstance(item, ScalarSlot)}
    assert {(s.dtype.name, s.ordinal) for s in slots} == {
        ("float32", 0), ("float32", 1), ("float32", 2), ("float64", 0)}
    for part in found.parts:
        for item, t in zip(part.operands, part.region.operands, strict=True):
            if isinstance(item, ScalarSlot):
                assert t is ll.tensor_type((), item.dtype)


def test_a_scalar_of_another_value_is_the_same_region() -> None:
    x = array(3)
    keys = set()
    for scale in (2.5, 3.5):
        program = ll.program_of(np.tanh(x * scale))
        found = sound(program.structure, program.outputs, [Doing(ops="multiply")])
        keys.add(found.parts[0].region.program.key)
    assert len(keys) == 1


def test_an_operand_that_is_absent_stays_absent() -> None:
    p = written("A:d B:clip(A,_,y) C:d(B)")
    found = divided(p, "C", Doing(ops="clip"))
    assert takes(p, found.parts[0].operands) == ["A", "leaf 1"]
    (own,) = found.parts[0].region.program.structure.instructions
    assert own.operands == (Leaf(0), None, Leaf(1))


# programs that frontends record


def network(x: Any, w: Any, b: Any, library: Any) -> Any:
    h = x
    for _ in range(3):
        h = library.maximum(h @ w + b, h * 0.5)
    return library.tanh(h)


def test_a_network_of_the_numpy_frontend() -> None:
    program = ll.program_of(network(array(4, 4), array(4, 4), array(4), np))
    found = sound(program.structure, program.outputs, [Doing(ops="matmul add multiply")])
    # each product needs the maximum before it, which is XLA's
    done = [[c.op for c in part.region.calls] for part in found.parts]
    assert sorted(map(sorted, done)) == sorted([["add", "matmul"], ["multiply"]] * 3)
    assert program.ops.count("maximum") == 3 == sum(
        p < 0 and op == "maximum" for p, op in zip(found.owner, program.ops, strict=True))


def test_a_step_of_training_of_the_torch_frontend() -> None:
    w = torch.full((4, 3), 0.5, requires_grad=True)
    x = torch.full((2, 4), 0.25)
    loss = torch.tanh(x @ w).square().sum()
    loss.backward()
    program = ll.program_of(w.grad, loss)
    products = Doing("products", "matmul dot_general matmul.vjp")
    small = Doing("small", "tanh square multiply sum tanh.vjp square.vjp sum.vjp")
    found = sound(program.structure, program.outputs, [products, small])
    assert {part.generator for part in found.parts} == {products, small}
    assert all(c.op in "matmul dot_general matmul.vjp".split()
               for part in found.parts if part.generator is products for c in part.region.calls)


def test_an_array_that_is_written_in_part() -> None:
    u = array(8).copy()
    for _ in range(3):
        u[1:-1] += 0.25 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    program = ll.program_of(u)
    for ops in ("add multiply subtract", "dynamic_slice dynamic_update_slice",
                "multiply dynamic_slice"):
        found = sound(program.structure, program.outputs, [Doing(ops=ops)])
        assert found.parts


# every time the same


@pytest.mark.parametrize("text", [SEVEN, "A:t B:u(A) C:d(A) D:t(B,C,$) E:u(D,A) F:d(E)"])
def test_the_same_program_is_divided_the_same_way(text: str) -> None:
    p = written(text)
    outputs = " ".join(p.numbers)

    def seen(found: Partition) -> Any:
        return (
            [(part.generator.name, *part[1:4], part.region) for part in found.parts],
            found.steps, found.owner, found.reasons)

    assert seen(divided(p, outputs, Doing(), theirs())) == (
        seen(divided(written(text), outputs, Doing(), theirs())))


def test_equal_regions_are_equal_programs() -> None:
    p = written("A:t(x,$) B:t(A,y) X:d(B) C:t(X,$) D:t(C,z) Y:d(D)")
    found = divided(p, "Y")
    first, second = found.parts
    assert first.region.program == second.region.program
    assert first.region.program.key == second.region.program.key
    assert first.operands != second.operands


def test_a_region_is_a_program_that_can_be_stored() -> None:
    p = written("M:barrier(x,y) A:t(M.1,$) B:t(A,1) C:d(B)")
    (part,) = divided(p, "C", Doing(ops="barrier add")).parts
    assert Program.parse(part.region.program.serialized) == part.region.program
