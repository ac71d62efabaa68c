"""The seam below which a backend lies: another backend keeps the contract, and can be chosen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lazyloom as ll
from docs.pages import blocks
from lazyloom.backends.selection import VARIABLE, backend
from tests.contract.helpers import host, script

ROOT = Path(__file__).parents[2]
NUMPY = "tests.runtime.numpy_backend:Interpreting"
CONTRACT = sorted(p.name for p in (ROOT / "tests" / "contract").glob("test_*.py"))
#: of one that is about XLA altogether nothing is left
XLA_ONLY = {"test_heavy_counts.py", "test_14_waiting.py"}
#: processes, of which each runs a part of the files
PARTS = 3


@pytest.mark.xla
@pytest.mark.slow
@pytest.mark.once("the contract runs with both on XLA, and on this backend compiled")
@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.thorough)
                                       for k in range(1, PARTS))])
def test_the_contract_holds_on_a_backend_of_numpy(part: int, tmp_path: Path) -> None:
    from tests.runtime.numpy_backend import Interpreting

    # it has no kernels, without which programs op by op are programs as any others
    assert not Interpreting().is_host()
    names = [n for n in CONTRACT if n not in XLA_ONLY][part::PARTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist",
         "-m", "not slow and not op_by_op", *(f"tests/contract/{name}" for name in names)],
        cwd=ROOT, env={**os.environ, VARIABLE: NUMPY, "LAZYLOOM_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    for name in names:
        assert re.search(rf"^tests/contract/{name}::.* PASSED", done.stdout, re.M), name


PROGRAM = """
    import lazyloom, lazyloom_numpy as np, lazyloom_torch as torch
    from lazyloom_torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 4), torch.arange(16) % 3
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    a = np.linspace(0, 1, 12).reshape(3, 4)
    a[1:, ::2] = a[:-1, 1::2] + 1
    rows = np.sort(a @ a.T, axis=0)[::-1]
    print(*(float(v) for v in (loss, *model[0].weight.flatten(), *rows.ravel())))
"""


@pytest.mark.slow
@pytest.mark.once("the contract runs with both on XLA, and on this backend compiled")
def test_programs_of_both_frontends_give_the_same_numbers_on_it(tmp_path: Path) -> None:
    found = []
    for name in ("xla", NUMPY):
        done = script(PROGRAM, cache=tmp_path, **{VARIABLE: name})
        found.append(np.array(done.stdout.split(), float))
    np.testing.assert_allclose(found[1], found[0], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name, what", [
    ("no_such_module:Backend", "No module named 'no_such_module'"),
    ("numpy:Backend", "has no attribute 'Backend'"), ("xlaa", "No module named 'xlaa'"),
    ("builtins:dict", "gives a dict"), ("numpy:", "Empty|attribute|module"),
    ("..x:y", "TypeError: .*package"), ("tests.runtime.test_backends:CONTRACT", "gives a list"),
    ("tests.runtime.numpy_backend:Interpreter", "TypeError: .*missing 1 required .*'request'"),
])  # fmt: skip
def test_a_name_of_no_backend_is_an_error_that_says_what_to_give(name: str, what: str) -> None:
    done = script(
        """
        import numpy as np, lazyloom as ll
        x = ll.from_host(np.ones(3))
        for _ in range(2):
            try:
                ll.record("add", [x, x]).read()
            except ll.LoomError as error:
                print(type(error).__name__, error)
        """, **{VARIABLE: name})
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert VARIABLE in line and repr(name) in line and re.search(what, line), line


def test_another_backend_cannot_be_chosen_once_one_is_in_use() -> None:
    current = backend()
    ll.use_backend(current)
    from tests.runtime.numpy_backend import Interpreting

    if isinstance(current, Interpreting):
        pytest.skip("it is the one in use")
    with pytest.raises(ll.errors.ArgumentError, match=f"the backend {current.name} is in use"):
        ll.use_backend(Interpreting())
    with pytest.raises(ll.errors.ArgumentError, match="a str was given, expected an instance of"):
        ll.use_backend("numpy")  # type: ignore[arg-type]
    assert backend() is current
    assert ll.record("add", [host([1.0]), host([2.0])]).read().tolist() == [3]


def test_a_backend_is_chosen_in_the_program(tmp_path: Path) -> None:
    done = script(
        """
        import sys
        import lazyloom as ll, lazyloom_numpy as np
        from tests.runtime.numpy_backend import Interpreting
        ll.use_backend(Interpreting())
        print((np.full(4, 3.0) * 2 + 1).sum(), ll.platform(), "jax" in sys.modules)
        """, cache=tmp_path, **{VARIABLE: ""})
    assert done.stdout.split() == ["28.0", "cpu", "False"]


def test_the_backend_that_the_page_builds_computes_and_differentiates(tmp_path: Path) -> None:
    program = "".join(b.text for b in blocks(ROOT / "docs" / "backend.md", "python"))
    done = script(program, cache=tmp_path, **{VARIABLE: ""})
    x = np.array([1.0, 2.0, 3.0])
    value, ops, slope, ops_of_slope, sort = done.stdout.splitlines()
    assert float(value) == pytest.approx(float((np.tanh(x) * x + 1).sum()))
    np.testing.assert_allclose(
        np.array(slope.strip("[]").split(), float), 1 - np.tanh(x) ** 2, rtol=1e-6)
    assert ops == "['tanh', 'multiply', 'add', 'sum']"
    assert ops_of_slope == "['tanh', 'sum.vjp', 'tanh.vjp']"
    assert sort.startswith("op sort, recorded at ") and "this backend does not sort" in sort


def test_what_a_backend_stored_is_no_other_ones(tmp_path: Path) -> None:
    code = """
        import numpy as np, lazyloom as ll
        x = ll.from_host(np.ones(3, np.float32))
        ll.record("add", [x, x]).read()
        print(ll.last_evaluation().found)
    """
    found = []
    for name in (NUMPY, "xla", NUMPY, "xla"):
        found.append(script(code, cache=tmp_path, **{VARIABLE: name}).stdout.strip())
    assert found == ["compiled", "compiled", "disk", "disk"]
