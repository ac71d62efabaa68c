"""Compiled functions in copies, threads, children of a fork, under Ctrl-C and under transforms."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from tests.contract.helpers import script

nn = torch.nn


def scaled(x):
    return torch.tanh(x) * 2


def settled(run, *args, calls=5):
    for _ in range(calls):
        found = run(*args)
    assert torch._dynamo.explain(run).runs > 0, torch._dynamo.explain(run)
    return found


@pytest.fixture
def compiled():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    found = torch.compile(model)
    x = torch.randn(5, 3)
    with torch.no_grad():
        expected = settled(found, x).tolist()
    return found, x, expected


def check_copy(found, made, x, expected):
    """A copy gives the same, is captured by itself, and has parameters of its own."""
    with torch.no_grad():
        assert settled(made, x).tolist() == expected
        made._orig_mod.get_parameter("2.bias").add_(1)
        assert numpy.allclose(made(x).numpy(), numpy.array(expected) + 1)
        assert found(x).tolist() == expected


def test_copies_of_a_compiled_module(compiled):
    found, x, expected = compiled
    made = copy.deepcopy(found)
    assert type(made) is type(found) and made._orig_mod is not found._orig_mod
    check_copy(found, made, x, expected)


def test_pickles_of_a_compiled_module(compiled):
    found, x, expected = compiled
    check_copy(found, pickle.loads(pickle.dumps(found)), x, expected)
    file = io.BytesIO()
    torch.save(found, file)
    file.seek(0)
    check_copy(found, torch.load(file, weights_only=False), x, expected)
    plain = copy.deepcopy(found._orig_mod)
    found.load_state_dict({f"_orig_mod.{k}": v * 0 for k, v in plain.state_dict().items()})
    with torch.no_grad():
        assert found(x).tolist() == [[0.0, 0.0]] * 5


def test_a_module_that_is_compiled_in_place():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    x = torch.randn(5, 3)
    with torch.no_grad():
        expected = model(x).tolist()
        names = list(model.state_dict())
        assert model.compile() is None
        for _ in range(5):
            assert model(x).tolist() == expected
        assert torch._dynamo.explain(model._compiled_call_impl).runs > 0
        assert list(model.state_dict()) == names
        for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert made._compiled_call_impl is None and made(x).tolist() == expected
        seen = []
        handle = model.register_forward_hook(lambda module, args, out: out + len(seen))
        seen.append(1)
        assert numpy.allclose(model(x).numpy(), numpy.array(expected) + 1)
        handle.remove()
        assert model(x).tolist() == expected
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        model.compile(mode="slow")
    with pytest.raises(lazyloom.capture.CaptureError):
        reading = nn.Identity()
        reading.forward = lambda x: x * x.sum().item()
        reading.compile(fullgraph=True)
        for _ in range(5):
            reading(x)


def test_a_pickled_function():
    run = torch.compile(scaled)
    x = torch.randn(3)
    expected = settled(run, x).tolist()
    made = pickle.loads(pickle.dumps(run))
    assert made is not run and made(x).tolist() == expected
    assert copy.deepcopy(run)(x).tolist() == expected


def in_threads(work, count=4):
    errors = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not errors, errors


def test_threads_that_call_one_function_with_numbers_of_their_own():
    run = torch.compile(lambda x, t: x * t + 1)

    def work(k):
        for n in range(30):
            t = 0.5 + k + n / 32
            assert run(torch.full((2,), 2.0), t).tolist() == [2 * t + 1] * 2

    in_threads(work)
    assert run.explain().runs > 0


def test_threads_with_states_of_their_own():
    def make(k):
        model = nn.Linear(2, 1, bias=False)
        with torch.no_grad():
            model.weight.fill_(0.0)
        opt = torch.optim.SGD(model.parameters(), lr=1.0)

        @torch.compile
        def step(x):
            opt.zero_grad()
            model(x).sum().backward()
            opt.step()

        return model, opt, step

    def work(k):
        model, opt, step = make(k)
        expected = 0.0
        for n in range(20):
            rate = 1.0 + k + n
            opt.param_groups[0]["lr"] = rate
            step(torch.ones(1, 2))
            expected -= rate
            assert model.weight.tolist() == [[expected, expected]]
        assert step.explain().runs > 10, step.explain()

    in_threads(work)


@pytest.mark.parametrize("transform", [
    lambda f: torch.func.vmap(f), lambda f: torch.func.grad(lambda x: f(x).sum()),
    lambda f: torch.func.jacrev(f), lambda f: torch.func.vmap(torch.func.grad(f))],
    ids=["vmap", "grad", "jacrev", "vmap of grad"])
def test_captured_calls_inside_transforms(transform):
    def f(x):
        return (torch.tanh(x) * x).sum(-1)

    run = torch.compile(f)
    x = torch.randn(3, 4)
    settled(run, x)
    settled(run, x[0].clone())
    for _ in range(3):
        assert transform(run)(x).tolist() == transform(f)(x).tolist()


def test_captured_calls_inside_transforms_of_numpy():
    run = lazyloom.jit(lambda x: (np.tanh(x) * x).sum(-1))
    x = np.linspace(0, 1, 6).reshape(2, 3)
    settled(run, x)
    plain = run.__wrapped__
    for _ in range(3):
        assert lazyloom.vmap(run)(x).tolist() == lazyloom.vmap(plain)(x).tolist()
        assert lazyloom.grad(lambda a: run(a).sum())(x).tolist() == lazyloom.grad(
            lambda a: plain(a).sum())(x).tolist()


def test_transforms_inside_captured_calls():
    # where tanh is near 1, what its derivative has lost is up to how it is computed
    torch.manual_seed(0)
    w = torch.randn(4) / 4
    run = torch.compile(lambda x, t: torch.func.vmap(
        torch.func.grad(lambda w, x: torch.tanh(w @ x)), (None, 0))(w, x) * t)
    x = torch.randn(3, 4)
    for k in range(6):
        t = 0.5 + k / 8
        numpy.testing.assert_allclose(run(x, t).numpy(), run.__wrapped__(x, t).numpy(), rtol=1e-5)
    assert run.explain().runs > 0


STORM = """
    import faulthandler; faulthandler.dump_traceback_later(100, exit=True)
    import random, signal, time
    import lazyloom, lazyloom_torch as torch
    signal.signal(signal.SIGALRM, lambda *a: signal.raise_signal(signal.SIGINT))
    rng = random.Random(0)
    a, b = torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)
    state = {"last": torch.zeros(3, dtype=torch.int64)}

    @torch.compile
    def step(t):
        a.add_(1)
        b.add_(1)
        state["last"] = a * 1
        return (a * 0.5) * t, a[1:]

    for k in range(6):
        step(2.5 + k)
    assert step.explain().runs >= 2, step.explain()
    hits, calls, before = 0, 0, step.explain().runs
    stop = time.time() + 3
    while time.time() < stop:
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.random() * 0.002)
            for _ in range(rng.randrange(1, 12)):
                step(2.5 + calls)
                calls += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            hits += 1
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            # all that a call writes is written, or nothing
            left, right, last = a.tolist(), b.tolist(), state["last"].tolist()
            assert left == right == last == [left[0]] * 3, (left, right, last)
            assert left[0] >= calls + 6
            calls = left[0] - 6
        except KeyboardInterrupt:
            hits += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(0.05)
    now = a.tolist()[0]
    found, view = step(4.0)
    assert found.tolist() == [2.0 * (now + 1)] * 3 and view.tolist() == [now + 1] * 2
    print(hits, step.explain().runs - before, calls, bool(step.explain().refused))
    """


def test_ctrl_c_during_captured_calls_loses_nothing():
    done = script(STORM, timeout=120)
    hits, runs, calls, refused = done.stdout.split()
    assert int(hits) > 5 and int(runs) > 20 and refused == "False", done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_captured_calls_after_a_fork_are_errors():
    done = script(
        """
        import os, select
        import lazyloom, lazyloom_torch as torch
        run = torch.compile(lambda x, t: torch.tanh(x) * t)
        x = torch.randn(3)
        for k in range(5):
            run(x, 0.5 + k / 8).tolist()
        assert run.explain().runs > 0
        r, w = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                run(x, 2.5).tolist()
                said = "returned"
            except BaseException as error:
                said = type(error).__name__ + ": " + str(error)
            os.write(w, said.encode())
            os._exit(0)
        os.close(w)
        ready, _, _ = select.select([r], [], [], 20)
        said = os.read(r, 4000).decode() if ready else "hang"
        if not ready:
            os.kill(child, 9)
        os.waitpid(child, 0)
        assert run(x, 2.5).tolist() == (torch.tanh(x) * 2.5).tolist()
        print(said)
        """, timeout=90)
    assert "fork" in done.stdout and "hang" not in done.stdout, done.stdout
