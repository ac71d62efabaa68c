"""Tensors that captured calls find, leave and return: which tensor it is, and whose memory."""

from __future__ import annotations

import dataclasses
import itertools
import random
from types import SimpleNamespace

import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

nn = torch.nn


@pytest.fixture(autouse=True)
def reproducible():
    with lazyloom.options(reproducible=True):
        yield


def ones(*shape):
    return torch.ones(*shape)


def full(x, n=2):
    return torch.full((n,), float(x))


def settled(run, *args, calls=5):
    for _ in range(calls):
        found = run(*args)
    assert run.explain().runs > 0, run.explain()
    return found


def test_a_place_with_another_tensor_each_time():
    place = SimpleNamespace(t=full(1))
    run = torch.compile(lambda x: x + place.t)
    for k in range(10):
        place.t = full(k)
        assert run(ones(2)).tolist() == [k + 1.0] * 2
    assert run.explain().captures == 2 and run.explain().runs == 7, run.explain()
    for other in (full(1, 1), torch.ones(2, dtype=torch.int64), full(2).requires_grad_(),
                  ones(3, 2).T[:2, 0], nn.Parameter(full(4))):
        place.t = other
        assert run(ones(2)).tolist() == (ones(2) + other).tolist()
    place.t = full(3)
    runs = run.explain().runs
    assert run(ones(2)).tolist() == [4.0, 4.0] and run.explain().runs == runs + 1


def test_a_tensor_in_a_place_is_an_argument_too():
    """The call writes to its argument, and reads it again in the place."""
    place = {"t": full(1)}

    def f(x):
        x.mul_(2)
        return x + place["t"]

    run = torch.compile(f)
    for k in range(6):
        place["t"] = full(k)
        assert run(ones(2)).tolist() == [2.0 + k] * 2
    assert run.explain().runs > 0
    for make in (lambda x: x, lambda x: x.detach(), lambda x: x[:], lambda x: x.view(2)):
        x = full(3)
        place["t"] = make(x)
        assert run(x).tolist() == [12.0, 12.0]
    whole = full(1, 4)
    place["t"] = whole[2:]
    assert run(whole[:2]).tolist() == [3.0, 3.0]
    assert run(whole[2:]).tolist() == [4.0, 4.0]


def test_two_places_with_one_tensor():
    places = SimpleNamespace(a=full(1), b=full(2))

    def f():
        places.a.add_(1)
        return places.a + places.b

    run = torch.compile(f)
    for k in range(6):
        places.a, places.b = full(k), full(2 * k)
        assert run().tolist() == [3.0 * k + 1] * 2
    assert run.explain().runs > 0
    for share in (lambda t: t, lambda t: t.detach(), lambda t: t[:]):
        places.a = full(5)
        places.b = share(places.a)
        assert run().tolist() == [12.0, 12.0]
    places.a, places.b = full(1), full(1)
    assert run().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("when", ["first", "later"])
def test_one_tensor_in_two_places_of_which_one_gets_another(when):
    """What the call replaces stands in another place, too, now and then."""
    def outcome(captured):
        places = SimpleNamespace(a=full(0), b=full(1))

        def f():
            places.a = places.b + places.a

        run = torch.compile(f) if captured else f
        found = []
        for k in range(14):
            if k % 4 == 0 and (when == "first" or k):
                places.a = places.b
            if k % 6 == 5:
                places.b = places.a
            run()
            found.append((places.a.tolist(), places.b.tolist(), places.a is places.b))
        return found, run

    found, run = outcome(True)
    assert found == outcome(False)[0]
    assert run.explain().runs > 3, run.explain()


def test_states_that_begin_as_one_tensor():
    """``h`` and ``c`` of a cell are one tensor of zeros at the start of each sequence."""
    def outcome(captured):
        torch.manual_seed(0)
        cell = nn.LSTMCell(3, 4)
        state = SimpleNamespace(h=None, c=None)

        def f(x):
            with torch.no_grad():
                state.h, state.c = cell(x, (state.h, state.c))
            return state.h.sum()

        run = torch.compile(f) if captured else f
        found = []
        for k in range(20):
            if k % 5 == 0:
                state.h = state.c = torch.zeros(2, 4)
            found.append(run(torch.full((2, 3), k / 7)).item())
        return found, run

    found, run = outcome(True)
    assert found == outcome(False)[0]
    assert run.explain().runs > 8 and not run.explain().refused, run.explain()


def test_counts_of_steps_that_were_one_and_are_several():
    """Adam's counts of parameters, one of which is left out for some steps."""
    def outcome(captured):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

        def f(x):
            optimizer.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = torch.compile(f) if captured else f
        found = []
        for k in range(16):
            model[0].requires_grad_(not 5 <= k < 8)
            found.append(run(torch.full((2, 3), 0.5)).item())
        counts = [float(optimizer.state[p]["step"]) for p in model.parameters()]
        return found, counts, run

    found, counts, run = outcome(True)
    assert (found, counts) == outcome(False)[:2] and counts == [13.0, 13.0, 16.0, 16.0]
    assert run.explain().runs > 3, run.explain()


def test_what_is_replaced_was_written_before():
    """Whoever else holds the tensor sees what the call wrote to it."""
    def outcome(captured):
        place = SimpleNamespace(t=full(0))

        def f():
            place.t.add_(1)
            place.t = place.t * 2

        run = torch.compile(f) if captured else f
        held = [place.t]
        for _ in range(8):
            run()
            held.append(place.t)
        return [t.tolist() for t in held], run

    found, run = outcome(True)
    assert found == outcome(False)[0]
    assert run.explain().runs > 3, run.explain()


def test_gradients_that_are_clipped_and_dropped():
    def outcome(captured):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def f():
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
            return norm

        run = torch.compile(f) if captured else f
        found = []
        for k in range(8):
            for _ in range(2):
                model(torch.full((4, 3), float(k))).sum().backward()
            kept = model.weight.grad
            found += [run().item(), kept.tolist(), model.weight.grad is None]
        return found, model.weight.tolist(), run

    *found, run = outcome(True)
    assert tuple(found) == outcome(False)[:2]
    assert run.explain().runs > 3, run.explain()


def test_what_is_in_a_place_is_written_and_returned():
    place = SimpleNamespace(t=full(0))

    def f(x):
        place.t += x
        return place.t

    run = torch.compile(f)
    for k in range(8):
        place.t = mine = full(k)
        found = run(ones(2))
        assert found is place.t is mine and mine.tolist() == [k + 1.0] * 2
    assert run.explain().runs > 3


def test_tensors_that_appear_and_go():
    place = SimpleNamespace(t=None, last=None)

    def give(x):
        place.t = x * 2

    def take():
        found = place.t + 1
        place.last, place.t = place.t, None
        return found

    giving, taking = torch.compile(give), torch.compile(take)
    for k in range(9):
        assert giving(full(k)) is None
        held = place.t
        assert held.tolist() == [2.0 * k] * 2
        assert taking().tolist() == [2.0 * k + 1] * 2
        assert place.t is None and place.last is held
    assert giving.explain().runs > 3 and taking.explain().runs > 3, taking.explain()
    giving(full(1))
    giving(full(2))
    assert place.t.tolist() == [4.0, 4.0]


def test_an_argument_that_is_kept():
    place = SimpleNamespace(x=full(0))

    def f(x):
        change = x - place.x
        place.x = x
        return change

    run = torch.compile(f)
    before = 0
    for k in (1, 3, 7, 4, 9, 2, 8):
        x = full(k)
        assert run(x).tolist() == [float(k - before)] * 2
        assert place.x is x
        before = k
    assert run(x).tolist() == [0.0, 0.0]
    assert run(full(5)).tolist() == [5.0 - before] * 2
    assert run.explain().runs > 0


def test_gradients_that_users_put_there():
    def make(compiled):
        p = nn.Parameter(full(1))
        q = full(3)

        def f(x):
            (p * x).sum().backward()

        run = torch.compile(f) if compiled else f
        found = []
        for k in range(12):
            if k % 4 == 3:
                p.grad = None
            if k == 6:
                p.grad = q
            if k == 9:
                p.grad = q.clone()
            run(full(k))
            found += [p.grad.tolist(), q.tolist(), p.grad is q]
        return found, run

    assert make(False)[0] == make(True)[0]


# -- what is returned --------------------------------------------------------------------------


def test_views_of_arguments_that_share_memory():
    whole = torch.arange(8.0)
    run = torch.compile(lambda a, b: (a[0:1], b[1:]))
    pairs = [(whole[:2], whole[2:4]), (whole[4:6], whole[4:6]), (whole[2:4], whole[:2]),
             (whole[:2], whole[2:4]), (whole[4:6], whole[4:6]), (ones(2), ones(2))]
    for a, b in pairs * 4:
        x, y = run(a, b)
        assert x.tolist() == a[0:1].tolist() and y.tolist() == b[1:].tolist()
        x.add_(1)
        y.sub_(1)
        assert x.tolist() == a[0:1].tolist() and y.tolist() == b[1:].tolist()


def test_views_of_views():
    run = torch.compile(lambda x: x[1:])
    whole = torch.arange(12.0).reshape(4, 3).clone()
    for k in range(8):
        rows = whole[k % 2:]
        found = run(rows)
        expected = rows[1:]
        assert found.tolist() == expected.tolist() and found._base is whole
        assert found.storage_offset() == expected.storage_offset()
        found += 1
        assert whole[k % 2 + 1:].tolist() == found.tolist()


@pytest.mark.parametrize("f", [
    lambda y: (y, y.detach()), lambda y: (y.detach(), y), lambda y: (y.detach(), y.detach()),
    lambda y: (y[0], y[1]), lambda y: (y.detach(), y[0]), lambda y: (y.T, y.view(-1)),
    lambda y: (y.detach(),), lambda y: (y[0].detach(),), lambda y: (y[:, 0], y)])
@pytest.mark.parametrize("grad", [False, True])
def test_results_that_share_memory(f, grad):
    w = ones(2, 2).requires_grad_(grad)
    run = torch.compile(lambda x: f(x * w))
    settled(run, ones(2, 2))
    plain, captured = f(ones(2, 2) * 2.0 * w), run(ones(2, 2) * 2.0)
    with torch.no_grad():
        for a, b in zip(plain, captured):
            assert a.requires_grad is b.requires_grad and a.stride() == b.stride()
            assert (a._base is None) is (b._base is None)
            a.add_(torch.arange(a.numel()).reshape(a.shape))
            b.add_(torch.arange(b.numel()).reshape(b.shape))
    assert [t.tolist() for t in plain] == [t.tolist() for t in captured]


def test_gradients_flow_through_views_of_results():
    w = ones(2, 3).requires_grad_()
    run = torch.compile(lambda x: ((x * w)[0], (w * w).T[1:]))
    for k in range(6):
        w.grad = None
        a, b = run(full(k, 3))
        ((a * 2).sum() + b.sum()).backward()
        assert w.grad.tolist() == [[2.0 * k, 2.0 * k + 2, 2.0 * k + 2], [0.0, 2.0, 2.0]]
    assert run.explain().runs > 2


def test_views_of_numpy_arrays():
    @lazyloom.jit
    def f(x):
        y = x * 2
        return x[1:], y[::2], y.T, x.reshape(3, 2), y

    for _ in range(6):
        x = np.arange(6.0).reshape(2, 3).copy()
        a, b, c, d, y = f(x)
        assert a.base is x and d.base is x and b.base is y and c.base is y and y.base is None
        y[0, 0] = 9.0
        x[1, 1] = 7.0
        assert b[0, 0] == c[0, 0] == 9.0 and a[0, 1] == d[2, 0] == 7.0
        assert c.flags.f_contiguous and not c.flags.owndata and y.flags.owndata
    assert f.explain().runs > 2, f.explain()
    x = np.arange(6.0).reshape(2, 3).copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x)[0][0, 0] = 1.0


@dataclasses.dataclass
class Pair:
    a: object
    b: object = None

    def total(self):
        return self.a + self.b


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object


@dataclasses.dataclass(slots=True)
class Slotted:
    a: object


class Counted:
    made = 0

    def __init__(self, a):
        Counted.made += 1
        self.a = a


def test_instances_of_data_classes():
    run = torch.compile(lambda x: [Pair(x * 2, b=Frozen(x[0])), {"k": Frozen(3)}])
    for k in range(6):
        pair, rest = run(full(k))
        assert type(pair) is Pair and pair.a.tolist() == [2.0 * k] * 2 and rest == {"k": Frozen(3)}
        assert type(pair.b) is Frozen and pair.b.a.item() == k
    assert Pair(run(full(1))[0].a, 1).total().tolist() == [3.0, 3.0]
    assert run.explain().runs > 2


@pytest.mark.parametrize("f", [lambda x: Slotted(x * 2), lambda x: Counted(x * 2)])
def test_other_objects_are_made_by_the_program(f):
    run = torch.compile(f)
    made = [run(full(k)) for k in range(9)]
    assert [m.a.tolist() for m in made] == [[2.0 * k] * 2 for k in range(9)]
    assert run.explain().runs == 0


def test_one_list_that_is_returned_twice():
    def f(x):
        found = [x * 2]
        return found, found

    run = torch.compile(f)
    for _ in range(8):
        a, b = run(ones(2))
        assert a is b


# -- at random ---------------------------------------------------------------------------------

BODIES = ["p.a = p.b + x", "p.b = p.a * 0.5", "p.a, p.b = p.b, p.a", "p.a.add_(x)", "p.b.mul_(0.5)",
          "p.items[0] = p.items[1] + p.a", "p.items[1] = p.a", "p.items[0].add_(p.items[1])",
          "p.a = x", "p.b[0] = p.a[1]", "p.a = p.b = p.b + p.a", "p.items.reverse()"]
EDITS = ["p.a = p.b", "p.b = p.items[0]", "p.items[0] = p.items[1]", "p.items[1] = p.a",
         "p.a = full(k)", "p.items = [full(k), full(2)]", "p.b = p.a[:]", "p.a = p.a.detach()"]


@pytest.mark.parametrize("seed", range(40))
def test_random_moves_of_what_places_hold(seed):
    """Steps of a few moves, between which the program makes places hold one tensor or others."""
    def outcome(captured):
        choose = random.Random(seed)
        p = SimpleNamespace(a=full(3), b=full(4), items=[full(1), full(2)])
        moves = choose.sample(BODIES, choose.randint(1, 3))
        space = {"p": p, "full": full}
        exec("def f(x):\n" + "".join(f"    {m}\n" for m in moves)
             + "    return p.a * 64 + p.b * 8 + p.items[0] - p.items[1]\n", space)
        run = torch.compile(space["f"]) if captured else space["f"]
        found = [moves]
        for k in range(14):
            if k > 2 and choose.random() < 0.35:
                edit = choose.choice(EDITS)
                exec(edit, space, {"k": k})
                found.append(edit)
            held = [run(full(k % 3)), p.a, p.b, *p.items]
            found.append([t.tolist() for t in held])
            found.append([i for i, j in itertools.combinations(range(5), 2) if held[i] is held[j]])
        return found

    assert outcome(True) == outcome(False)


class Machine:
    """Places with tensors that a step moves, shares, makes and drops, as its options say."""

    def __init__(self, captured):
        self.a, self.b, self.c = full(1, 4), full(2, 4), None
        self.how = 0
        self.run = torch.compile(self.step) if captured else self.step

    def step(self, x):
        how = self.how
        if how == 0:
            self.a, self.b = self.b, self.a + x
        elif how == 1:
            self.c = self.a * 2 if self.c is None else self.c + self.b
        elif how == 2:
            self.c = None
            self.b[1:] += x[1:]
        elif how == 3:
            self.a.mul_(2)
            self.b = x
        elif how == 4:
            self.b = (self.a + x).detach()
            return self.b, self.a[1:], self.b.view(2, 2)
        return (self.a + 1)[:2], x, self.a.detach()

    def edit(self, choose):
        number = choose.randrange(7)
        if number == 0:
            self.a = full(choose.randrange(5), 4)
        elif number == 1:
            self.b = self.a
        elif number == 2:
            self.b = self.a.detach()
        elif number == 3:
            self.c = full(choose.randrange(5), 4)
        elif number == 4:
            self.a = torch.arange(8.0)[choose.randrange(3):][:4]
        elif number == 5:
            self.b = self.b.clone()
        else:
            self.c = None


@pytest.mark.parametrize("seed", range(8))
def test_random_moves(seed):
    machines = Machine(False), Machine(True)
    seen = []
    ran = 0
    for machine in machines:
        choose = random.Random(seed)
        trace, x = [], full(1, 4)
        for k in range(60):
            if k % 8 == 7:
                machine.how = choose.randrange(5)
                machine.edit(choose)
            what = choose.random()
            x = machine.a if what < 0.05 else x if what < 0.3 else full(choose.randrange(4), 4)
            found = machine.run(x)
            if machine is machines[1] and machine.run.explain().refused:
                ran += machine.run.explain().runs
                machine.run.forget()
            with torch.no_grad():
                if choose.random() < 0.3:
                    found[choose.randrange(3)].add_(1)
                if choose.random() < 0.2:
                    machine.a.clamp_(-50, 50)
            held = [x, machine.a, machine.b, machine.c, *found]
            trace.append([None if t is None else t.tolist() for t in held])
            trace.append([i for i, j in itertools.combinations(range(len(held)), 2)
                          if held[i] is held[j]])
        seen.append(trace)
    for number, (a, b) in enumerate(zip(*seen)):
        assert a == b, number
    ran += machines[1].run.explain().runs
    assert ran > 5
