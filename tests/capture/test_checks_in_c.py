"""What C takes for the very objects that they were, Python does, too."""

from __future__ import annotations

import collections
import types

import pytest

from lazyloom.capture import guards
from lazyloom.extension import NATIVE

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the extension in C was not compiled")


class Thing:
    def __init__(self):
        self.a, self.b, self.c = object(), 1.5, "text"


class Other(Thing):
    pass


class Slotted:
    __slots__ = ("x", "y")


class Descriptor:
    def __init__(self):
        self.__dict__["inner"] = {"a": 1}


def cell_of(x):
    return (lambda: x).__closure__[0]


def looked(check):
    """Whether C finds everything unchanged."""
    return NATIVE.changed((check.entry(),), 0) == -1


def agree(check):
    """C may ask for a closer look, but never passes what Python does not."""
    found = looked(check)
    assert check.holds() or not found
    return found


def items_check():
    items = {"a": object(), 2: 3.5}
    return guards.DictItems("d", items), [
        lambda: items.__setitem__("a", object()), lambda: items.__setitem__("new", 1),
        lambda: items.pop("a"), lambda: items.__setitem__("a", items.pop("a"))]


def ordered_check():
    items = collections.OrderedDict(a=object(), b=object())
    return guards.DictItems("d", items), [lambda: items.move_to_end("a")]


def default_check():
    items = collections.defaultdict(list, a=object())
    return guards.DictItems("d", items), [lambda: items["b"]]


def attributes_check(ignored=frozenset()):
    thing = Thing()
    return guards.Attributes("t", thing, ignored), [
        lambda: setattr(thing, "a", object()), lambda: setattr(thing, "new", 1),
        lambda: delattr(thing, "c"), lambda: setattr(thing, "__class__", Other),
        lambda: setattr(thing, "__dict__", dict(thing.__dict__))]


def named_check():
    thing = Thing()
    return guards.NamedAttributes("t", thing, {"a", "b"}), [
        lambda: setattr(thing, "b", object()), lambda: setattr(thing, "new", 1),
        lambda: delattr(thing, "a"), lambda: setattr(thing, "__class__", Other)]


def slots_check():
    thing = Slotted()
    thing.x = object()
    return guards.Slots("s", thing, ("x", "y")), [
        lambda: setattr(thing, "x", object()), lambda: delattr(thing, "x"),
        lambda: setattr(thing, "y", 1)]


def names_check():
    items, behind = {"f": object()}, {"g": object(), "f": object()}
    return guards.NamespaceGuard("m", items, ("f", "g"), behind), [
        lambda: items.__setitem__("f", object()), lambda: items.pop("f"),
        lambda: items.__setitem__("g", 1), lambda: behind.pop("g"),
        lambda: behind.__setitem__("g", 2)]


def class_check():
    cls = type("Made", (), {"run": lambda self: 1, "factor": 2.0, "__doc__": "text"})
    return guards.ClassNames("c", cls), [
        lambda: setattr(cls, "factor", 3.0), lambda: setattr(cls, "new", 1),
        lambda: delattr(cls, "run"), lambda: setattr(cls, "run", lambda self: 2)]


def list_check():
    items = [object(), 1.5]
    return guards.ListItems("l", items), [
        lambda: items.append(1), lambda: items.pop(), lambda: items.reverse(),
        lambda: items.__setitem__(0, object())]


def deque_check():
    items = collections.deque([object()])
    return guards.ListItems("q", items), [lambda: items.append(1)]


def cell_check():
    cell = cell_of(object())
    return guards.Cell("x", cell), [
        lambda: setattr(cell, "cell_contents", object()), lambda: delattr(cell, "cell_contents")]


KINDS = {f.__name__: f for f in (
    items_check, default_check, attributes_check, named_check, names_check, class_check, list_check,
    cell_check)}  # fmt: skip
#: for which C always asks for a closer look, or does where something is missing
OTHERS = {f.__name__: f for f in (ordered_check, slots_check, deque_check)}
EDITS = [(name, k) for name, make in {**KINDS, **OTHERS}.items() for k in range(len(make()[1]))]


@pytest.mark.parametrize("name", KINDS)
def test_the_very_objects_pass(name):
    assert agree(KINDS[name]()[0])


@pytest.mark.parametrize(("name", "number"), EDITS)
def test_an_edit_is_seen(name, number):
    check, edits = {**KINDS, **OTHERS}[name]()
    edits[number]()
    assert not looked(check)
    assert not check.holds()


def test_attributes_that_are_ignored_may_change():
    thing = Thing()
    check = guards.Attributes("t", thing, frozenset({"b", "more"}))
    assert agree(check)
    thing.b, thing.more = 7, 8
    assert agree(check)
    thing.c = object()
    assert not agree(check)


def test_equal_numbers_are_looked_at_more_closely_and_hold():
    items = {"a": 1.5, "b": 10**6}
    check = guards.DictItems("d", items)
    items["a"], items["b"] = float("1.5"), int("1000000")
    assert not looked(check)
    assert check.holds()
    items["a"] = float("nan")
    assert not agree(check)


def test_a_class_with_a_dict_of_its_own_making():
    thing = Descriptor()
    check = guards.Attributes("t", thing, frozenset())
    assert agree(check)
    thing.__dict__["inner"] = {}
    assert not agree(check)
    simple = types.SimpleNamespace(a=1)
    assert agree(guards.Attributes("t", simple, frozenset()))


def test_the_number_of_the_first_that_changed():
    checks = [list_check()[0] for _ in range(4)]
    entries = tuple(c.entry() for c in checks)
    assert NATIVE.changed(entries, 0) == -1
    checks[2].items.append(1)
    checks[3].items.append(1)
    assert [NATIVE.changed(entries, k) for k in range(5)] == [2, 2, 2, 3, -1]


@pytest.mark.parametrize("wrong", [
    (), (0,), ("a", {}, []), (0, {}, []), (0, [], [], (), None, None, None), (4, {}, []),
    (5, 1, [2]), (0, {}, [], ["a"], None, None, None), (0, {}, [1], (), None, None, None),
    (1, {}, [], (), None, None, "a"), (2, {}, [], (), []), (3, 1, [], (), frozenset()), (9, 1, []),
    (6, 1, [2], ("real",), float), (0, 1, 2, 3, 4, 5, 6, 7, 8)])  # fmt: skip
def test_an_entry_that_is_none_is_looked_at_more_closely(wrong):
    assert NATIVE.changed((wrong,), 0) == 0
    with pytest.raises(TypeError):
        NATIVE.changed([wrong], 0)
    with pytest.raises(TypeError):
        NATIVE.changed((wrong,), "a")
