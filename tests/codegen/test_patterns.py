"""Groups of ops that a generator does as one: which match, which do not, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import lazyloom as ll
from lazyloom.codegen import YES, Answer, Call, No, Partition, Pattern, any_value, match
from lazyloom.codegen.patterns import PatternMatch
from tests.codegen.programs import (
    Doing,
    Written,
    divided,
    gives,
    left,
    regions,
    takes,
    theirs,
    written,
)

x, y, z = any_value(), any_value(), any_value()


def groups(program: Written, found: Partition) -> list[str]:
    """The groups that patterns found, in the order of regions, as ``"name: A B"``."""
    return [
        f"{name}: {program.names(part.members[n] for n in members)}"
        for part in found.parts for name, members in part.region.composites]


def grouped(program: Written, outputs: str, *patterns: Pattern, ops: str = "",
            merges: bool = False) -> Partition:  # fmt: skip
    """A partition for one generator that does these groups, and by themselves ops of some names."""
    return divided(program, outputs, Doing(ops=ops, patterns=patterns, merges=merges))


ADD_RELU = Pattern("add_relu", match("relu", match("add", x, y)))


def test_a_simple_group() -> None:
    p = written("A:add(a,b) R:relu(A)")
    found = grouped(p, "R", ADD_RELU)
    assert regions(p, found) == ["mine: A R"] and groups(p, found) == ["add_relu: A R"]
    (part,) = found.parts
    assert part.region.composites == (("add_relu", (0, 1)),)
    assert takes(p, part.operands) == ["leaf 0", "leaf 1"] and gives(p, part.outputs) == ["R"]


def test_a_group_inside_other_work() -> None:
    # what is between its ops in the recording is no part of it
    p = written("X:d(a) A:add(X,b) Y:d(b) R:relu(A) Z:add(R,Y)")
    found = grouped(p, "Z", ADD_RELU)
    assert groups(p, found) == ["add_relu: A R"] and left(p, found) == "X Y Z"
    # it runs when its last op could, and so may what was recorded before that
    assert found.steps == [-1, -3, 0, -5]


def test_a_group_with_a_branch() -> None:
    branch = Pattern("branch", match(
        "multiply", match("relu", match("add", x, y)), match("abs", match("subtract", x, y))))
    p = written("A:add(a,b) S:subtract(a,b) R:relu(A) B:abs(S) M:multiply(R,B)")
    found = grouped(p, "M", branch)
    assert groups(p, found) == ["branch: A S R B M"]
    # of other operands, the second side is another value
    p = written("A:add(a,b) S:subtract(b,a) R:relu(A) B:abs(S) M:multiply(R,B)")
    assert grouped(p, "M", branch).parts == []


def test_the_same_wildcard_is_the_same_operand() -> None:
    square = Pattern("square", match("negative", match("multiply", x, x)))
    p = written("A:d(a) M:multiply(A,A) N:negative(M) K:multiply(A,a) L:negative(K)")
    found = grouped(p, "N L", square)
    assert groups(p, found) == ["square: M N"] and left(p, found) == "A K L"
    # of another result of the same op, and of another scalar
    p = written("B:barrier(a,a) M:multiply(B.1,B) N:negative(M)")
    assert grouped(p, "N", square).parts == []
    p = written("M:multiply(b,b) N:negative(M)")
    assert groups(p, grouped(p, "N", square)) == ["square: M N"]
    pair = Pattern("pair", match("add", match("multiply", x, y), y))
    p = written("M:multiply(a,$) A:add(M,$)")
    assert grouped(p, "A", pair).parts == []
    p = written("M:multiply(a,1) A:add(M,1)")
    assert groups(p, grouped(p, "A", pair)) == ["pair: M A"]


def test_an_op_that_its_group_uses_twice() -> None:
    # A is used inside alone, by two ops of the group: x * sigmoid(x) of a product, say
    inner = match("add", x, y)
    silu = Pattern("silu", match("multiply", inner, match("sigmoid", inner)))
    p = written("A:add(a,b) S:sigmoid(A) M:multiply(A,S)")
    assert groups(p, grouped(p, "M", silu)) == ["silu: A S M"]


def test_an_op_that_is_both_operands_of_a_group() -> None:
    inner = match("add", x, y)
    square = Pattern("square", match("multiply", inner, inner))
    p = written("A:add(a,b) M:multiply(A,A)")
    assert groups(p, grouped(p, "M", square)) == ["square: A M"]


def test_inner_ops_that_are_alike() -> None:
    two = Pattern("two", match("multiply", match("add", x, y), match("add", x, y)))
    p = written("A:add(a,b) B:add(a,b) C:add(b,a) M:multiply(A,B) N:multiply(M,C)")
    assert groups(p, grouped(p, "N", two)) == ["two: A B M"]


def test_a_reused_result_is_no_inner_one() -> None:
    # of three additions, two of which another op uses, too
    p = written("A:add(a,b) B:add(A,b) C:add(B,A) R:relu(C)")
    found = grouped(p, "R", ADD_RELU)
    assert groups(p, found) == ["add_relu: C R"] and left(p, found) == "A B"
    # the inner result is used elsewhere
    p = written("A:add(a,b) R:relu(A) E:d(A)")
    assert grouped(p, "R E", ADD_RELU).parts == []
    # or asked for
    p = written("A:add(a,b) R:relu(A)")
    assert grouped(p, "R A", ADD_RELU).parts == []


def test_a_diamond_is_not_a_group_where_an_inner_result_escapes() -> None:
    chain = Pattern("chain", match("abs", match("relu", match("add", x, y))))
    p = written("A:add(a,b) R:relu(A) B:abs(R) E:d(R) M:multiply(B,E)")
    found = grouped(p, "M", chain, ADD_RELU)
    # the smaller one ends where it escapes
    assert groups(p, found) == ["add_relu: A R"]


def test_several_patterns() -> None:
    both = Pattern("abs_sub", match("abs", match("subtract", x, y)))
    p = written("A:add(a,b) R:relu(A) S:subtract(R,b) B:abs(S) C:add(B,a) D:relu(C)")
    found = grouped(p, "D", ADD_RELU, both)
    assert groups(p, found) == ["add_relu: A R", "abs_sub: S B", "add_relu: C D"]
    assert regions(p, found) == ["mine: A R", "mine: S B", "mine: C D"]
    found = grouped(p, "D", ADD_RELU, both, merges=True)
    assert regions(p, found) == ["mine: A R S B C D"]
    assert found.parts[0].region.composites == (
        ("add_relu", (0, 1)), ("abs_sub", (2, 3)), ("add_relu", (4, 5)))


@pytest.mark.parametrize(("text", "expected"), [
    ("D:matmul(a,b) R:relu(D)", "D R"), ("D:matmul(a,b) A:add(D,c) R:relu(A)", "D A R"),
    ("D:matmul(a,b) A:add(D,c) E:exp(A)", "D A"),
])
def test_what_is_optional(text: str, expected: str) -> None:
    dense = Pattern("dense", match(
        "relu", match("add", match("matmul", x, y), z, optional=True), optional=True))
    p = written(text, ll.tensor_type((4, 4), ll.dtypes.float32))
    assert groups(p, grouped(p, list(p.numbers)[-1], dense)) == [f"dense: {expected}"]


def test_what_is_optional_is_taken_where_it_is_there() -> None:
    dense = Pattern("dense", match("abs", match("relu", match("add", x, y), optional=True)))
    p = written("A:add(a,b) R:relu(A) B:abs(R) C:add(B,a) D:abs(C)")
    assert groups(p, grouped(p, "D", dense)) == ["dense: A R B", "dense: C D"]
    # all of it absent but one op is no group
    some = Pattern("some", match("abs", match("relu", x), optional=True))
    p = written("R:relu(a) E:d(R)")
    assert grouped(p, "E", some).parts == []


def test_order_is_priority() -> None:
    one = Pattern("one", match("abs", match("relu", match("add", x, y))))
    two = Pattern("two", match("relu", match("add", x, y)))
    three = Pattern("three", match("abs", match("relu", x)))
    p = written("A:add(a,b) R:relu(A) B:abs(R)")
    for patterns, expected in (
        ([one, two, three], ["one: A R B"]), ([two, one, three], ["two: A R"]),
        ([three, two, one], ["three: R B"]),
    ):
        assert groups(p, grouped(p, "B", *patterns)) == expected


def test_groups_of_one_pattern_do_not_overlap() -> None:
    twice = Pattern("twice", match("negative", match("negative", x)))
    p = written(" ".join(f"N{k}:negative({f'N{k - 1}' if k else 'a'})" for k in range(5)))
    found = grouped(p, "N4", twice)
    assert groups(p, found) == ["twice: N1 N2", "twice: N3 N4"] and left(p, found) == "N0"


def test_the_same_group_twice_of_the_same_operands() -> None:
    p = written("A:add(a,b) R:relu(A) B:add(a,b) S:relu(B) M:multiply(R,S)")
    found = grouped(p, "M", ADD_RELU)
    assert groups(p, found) == ["add_relu: A R", "add_relu: B S"]
    first, second = found.parts
    assert first.region == second.region and first.operands == second.operands


def test_groups_that_feed_one_another() -> None:
    # each with operands from several others
    p = written("A:add(a,b) R:relu(A) B:add(a,c) S:relu(B) C:add(R,S) T:relu(C)")
    found = grouped(p, "T", ADD_RELU)
    assert groups(p, found) == ["add_relu: A R", "add_relu: B S", "add_relu: C T"]
    assert takes(p, found.parts[2].operands) == ["R", "S"]


def test_operands_may_change_places() -> None:
    for commutes in (False, True):
        biased = Pattern("biased", match("add", match("negative", x), y, commutes=commutes))
        p = written("N:negative(a) A:add(N,b) M:negative(A) B:add(b,M)")
        expected = ["biased: N A", "biased: M B"] if commutes else ["biased: N A"]
        assert groups(p, grouped(p, "B", biased)) == expected


def test_operands_change_places_inside_too() -> None:
    fused = Pattern("fused", match(
        "add", match("multiply", match("exp", x), y, commutes=True), x, commutes=True))
    for multiply in ("E,b", "b,E"):
        for add in ("M,a", "a,M"):
            p = written(f"E:exp(a) M:multiply({multiply}) A:add({add})")
            assert groups(p, grouped(p, "A", fused)) == ["fused: E M A"]
    # what stays in place
    minus = Pattern("minus", match("subtract", match("negative", x), y))
    p = written("N:negative(a) S:subtract(b,N)")
    assert grouped(p, "S", minus).parts == []


def test_the_way_that_is_free_is_found() -> None:
    # of two inner ops that would do, the first belongs to a group already
    taken = Pattern("taken", match("negative", match("exp", x)))
    biased = Pattern("biased", match("add", match("negative", x), y, commutes=True))
    p = written("E:exp(a) N:negative(E) M:negative(b) A:add(N,M)")
    assert groups(p, grouped(p, "A", taken, biased)) == ["taken: E N", "biased: M A"]
    p = written("E:exp(a) N:negative(E) M:negative(b) A:add(M,N)")
    assert groups(p, grouped(p, "A", taken, biased)) == ["taken: E N", "biased: M A"]


def test_the_way_that_passes_the_check_is_found() -> None:
    def positive(calls: Sequence[Call]) -> Answer:
        return YES if calls[0].op == "exp" else No("it is not an exponential")

    biased = Pattern("biased", match("add", match("negative exp", x), y, commutes=True), positive)
    p = written("N:negative(a) E:exp(b) A:add(N,E)")
    assert groups(p, grouped(p, "A", biased)) == ["biased: E A"]


def test_several_names_of_one_place() -> None:
    any_activation = Pattern("activation", match("relu tanh exp", match("add subtract", x, y)))
    p = written("A:add(a,b) T:tanh(A) S:subtract(T,b) E:exp(S) M:multiply(E,a) R:relu(M)")
    found = grouped(p, "R", any_activation)
    assert groups(p, found) == ["activation: A T", "activation: S E"] and left(p, found) == "M R"


def test_operands_beyond_those_of_a_pattern_are_any() -> None:
    first = Pattern("first", match("where", match("greater", x, y)))
    p = written("G:greater(a,b) W:where(G,a,b)")
    assert groups(p, grouped(p, "W", first)) == ["first: G W"]
    # and more than there are match nothing
    third = Pattern("third", match("add", match("negative", x), y, z))
    p = written("N:negative(a) A:add(N,b)")
    assert grouped(p, "A", third).parts == []


def test_an_op_is_matched_by_its_first_result() -> None:
    pattern = Pattern("sorted", match("negative", match("sort_with_indices", x)))
    p = written("S:sort_with_indices(a) N:negative(S)")
    assert groups(p, grouped(p, "N", pattern)) == ["sorted: S N"]
    p = written("S:sort_with_indices(a) N:negative(S.1)")
    assert grouped(p, "N", pattern).parts == []
    # or both of them are used
    p = written("S:sort_with_indices(a) N:negative(S) M:negative(S.1)")
    assert grouped(p, "N M", pattern).parts == []
    assert grouped(p, "N S.1", pattern).parts == []


def test_a_root_of_several_results() -> None:
    pattern = Pattern("sorted", match("sort_with_indices", match("negative", x)))
    p = written("N:negative(a) S:sort_with_indices(N) M:negative(S.1) E:exp(S)")
    found = grouped(p, "M E", pattern)
    assert groups(p, found) == ["sorted: N S"]
    assert gives(p, found.parts[0].outputs) == ["S", "S.1"]


# checks


def test_a_check_sees_the_calls_root_last() -> None:
    seen: list[list[str]] = []

    def check(calls: Sequence[Call]) -> Answer:
        seen.append([c.op for c in calls])
        return YES

    branch = Pattern("branch", match("multiply", match("relu", x), match("add", y, z)), check)
    p = written("A:add(a,b) R:relu(c) M:multiply(R,A)")
    assert groups(p, grouped(p, "M", branch)) == ["branch: A R M"]
    assert seen == [["add", "relu", "multiply"]]


def test_a_check_that_says_no_is_a_reason() -> None:
    def check(calls: Sequence[Call]) -> Answer:
        return No("it is too narrow") if calls[0].results[0].shape[-1] < 8 else YES

    narrow = Pattern("add_relu", ADD_RELU.root, check)
    p = written("A:add(a,b) R:relu(A)")
    found = grouped(p, "R", narrow)
    assert found.parts == []
    assert found.reasons == [{"mine": "add_relu: it is too narrow"}] * 2
    p = written("A:add(a,b) R:relu(A)", ll.tensor_type((3, 8), ll.dtypes.float32))
    assert groups(p, grouped(p, "R", narrow)) == ["add_relu: A R"]


@pytest.mark.parametrize(("answer", "reason"), [
    (None, "pattern: its predicate gave None, expected YES or No(reason)"),
    (True, "pattern: its predicate gave True, expected YES or No(reason)"),
    (ValueError("no"), "pattern: its predicate raised ValueError: no"),
])
def test_whatever_a_check_says_is_a_reason(answer: object, reason: str) -> None:
    def check(calls: Sequence[Call]) -> Answer:
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]

    p = written("A:add(a,b) R:relu(A)")
    found = grouped(p, "R", Pattern("pattern", ADD_RELU.root, check))
    assert found.parts == [] and found.reasons == [{"mine": reason}] * 2


def test_what_a_check_leaves_goes_to_the_next_pattern() -> None:
    def never(calls: Sequence[Call]) -> Answer:
        return No("never")

    p = written("A:add(a,b) R:relu(A) B:abs(R)")
    whole = Pattern("whole", match("abs", match("relu", match("add", x, y))), never)
    found = grouped(p, "B", whole, ADD_RELU)
    assert groups(p, found) == ["add_relu: A R"]
    assert found.reasons == [{}, {}, {"mine": "whole: never"}]


def test_an_op_that_is_done_by_itself_has_no_reason_of_a_check() -> None:
    def never(calls: Sequence[Call]) -> Answer:
        return No("never")

    p = written("A:add(a,b) R:relu(A)")
    found = grouped(p, "R", Pattern("whole", ADD_RELU.root, never), ops="add")
    assert regions(p, found) == ["mine: A"] and groups(p, found) == []
    assert found.reasons == [{}, {"mine": "whole: never"}]


# with what is around them


def test_groups_and_single_ops_merge() -> None:
    p = written("N:negative(a) A:add(N,b) R:relu(A) M:negative(R) E:d(M)")
    found = grouped(p, "E", ADD_RELU, ops="negative", merges=True)
    assert regions(p, found) == ["mine: N A R M"] and groups(p, found) == ["add_relu: A R"]
    found = grouped(p, "E", ADD_RELU, ops="negative")
    assert regions(p, found) == ["mine: N", "mine: A R", "mine: M"]


def test_a_group_is_one_op_for_waves() -> None:
    # A could run before X, but belongs to R, which needs X
    sum_relu = Pattern("sum", match("maximum", match("add", x, y), z))
    p = written("A:add(a,b) X:d(a) R:maximum(A,X) N:negative(R) Y:d(N) B:add(N,Y) S:maximum(B,b)")
    found = grouped(p, "S", sum_relu, ops="negative", merges=True)
    assert regions(p, found) == ["mine: A R N", "mine: B S"]
    assert groups(p, found) == ["sum: A R", "sum: B S"]


def test_a_group_around_an_op_of_another() -> None:
    # between the group's ops in the recording, and needed by its last
    p = written("A:add(a,b) U:abs(a) V:abs(U) R:maximum(A,V) W:abs(R)")
    group = Doing(ops="", patterns=[Pattern("sum", match("maximum", match("add", x, y), z))])
    for generators in ([group, theirs()], [theirs(supports=lambda c: (
        YES if c.op == "abs" else No("no"))), group]):
        assert regions(p, divided(p, "W", *generators)) == [
            "theirs: U V", "mine: A R", "theirs: W"]


def test_a_pattern_of_one_op_is_none() -> None:
    # an op by itself is asked about by supports
    p = written("A:add(a,b) R:relu(A)")
    assert grouped(p, "R", Pattern("one", match("relu", x))).parts == []


def test_a_group_whose_inner_op_is_not_supported_by_itself() -> None:
    p = written("A:add(a,b) R:relu(A) B:add(R,b)")
    found = grouped(p, "B", ADD_RELU)
    assert regions(p, found) == ["mine: A R"] and found.reasons[2] == {"mine": "no add"}


def test_groups_of_many_ways_are_found_soon() -> None:
    # fifteen sums in a tree, each of which may have its operands in either order
    def tree(depth: int) -> object:
        return match("add", tree(depth - 1), tree(depth - 1), commutes=True) if depth else x_()

    def x_() -> object:
        return any_value()

    words = [f"L{k}:add(a{2 * k},a{2 * k + 1})" for k in range(8)]
    words += [f"M{k}:add(L{2 * k},L{2 * k + 1})" for k in range(4)]
    words += [f"N{k}:add(M{2 * k},M{2 * k + 1})" for k in range(2)] + ["O:add(N0,N1)"]
    p = written(" ".join(words))
    found = grouped(p, "O", Pattern("tree", tree(4)))  # type: ignore[arg-type]
    assert len(found.parts) == 1 and len(found.parts[0].members) == 15


def test_a_pattern_that_is_nested_too_deeply_is_no_pattern() -> None:
    node: PatternMatch = match("add", x, y)
    for _ in range(2000):
        node = match("add", node, any_value())
    p = written(" ".join(
        f"O{k}:add({f'O{k - 1}' if k else 'a'},b)" for k in range(2500)) + " R:relu(O2499)")
    with pytest.warns(RuntimeWarning, match="pattern row: it is nested too deeply, expected"):
        found = grouped(p, "R", Pattern("row", node), ADD_RELU)
    assert groups(p, found) == ["add_relu: O2499 R"]
    assert found.failed


def test_what_was_not_looked_at_is_not_said_to_run_between() -> None:
    p = written("M:multiply(a,b) C0:exp(a) " + " ".join(
        f"C{k}:exp(C{k - 1})" for k in range(1, 1100)) + " A:add(M,C1099)")
    shown = Pattern("join", match("add", match("multiply", x, y), z), shows=True)
    found = grouped(p, "A M", shown)
    assert not found.parts
    assert found.reasons[0] == found.reasons[1101] == {
        "mine": "join: more than 1000 ops are recorded between its ops, of which one may have to "
                "run between them"}


def test_what_only_the_last_op_uses_is_gathered() -> None:
    last = Pattern("all", match("barrier"), gathers="exp tanh")
    # of these T is the result of another op's operand, too, and N is of another name
    p = written("E:exp(a) F:exp(E) T:tanh(b) N:negative(a) G:tanh(c) B:barrier(F,b,T,N,G,G) O:t(T)")
    found = grouped(p, "B O", last)
    assert regions(p, found) == ["mine: F G B"]
    assert grouped(p, "B O G", last).parts[0].members == (1, 5)
    assert regions(p, grouped(p, "F B", Pattern("all", match("barrier"), gathers="sin"))) == []


@pytest.mark.parametrize(("wrong", "why"), [
    (lambda: match("add", 5), "match: 5 was given for an operand of add, expected any_value"),
    (lambda: match(" "), "match: ' ' was given, expected names of ops"),
    (lambda: Pattern("p", any_value()), "was given as the root of 'p', expected match"),
    (lambda: Pattern("p", match("add"), gathers=5), "5 was given as what 'p' gathers, expected"),
])  # fmt: skip
def test_what_is_no_pattern(wrong: Callable[[], Pattern], why: str) -> None:
    with pytest.raises(ll.errors.ArgumentError, match=why):
        wrong()

    class Wrong(Doing):
        def patterns(self) -> list[Pattern]:
            return [wrong()]

    p = written("A:add(a,b)")
    with pytest.warns(RuntimeWarning, match="its patterns raised ArgumentError"):
        found = divided(p, "A", Wrong(ops=""))
    assert regions(p, found) == []
