"""The scripts of examples/torch_scripts: one text, both imports, results that agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom
from tests.conformance.torch_models import EXAMPLES, either

# by its path: another folder of examples has a module of that name
scripts = either.load(EXAMPLES / "torch_scripts" / "both.py", "lazyloom_torch")

#: sizes that take a second
SMALL: dict[str, dict[str, Any]] = {
    "classifier": {"epochs": 1, "limit": 160}, "regression": {"steps": 20},
    "autoencoder": {"steps": 6}, "gan": {"steps": 6}, "char_rnn": {"steps": 5},
    "seq2seq": {"steps": 3, "batch_size": 8, "hidden": 16},
    "transformer_classifier": {"steps": 4, "batch_size": 16},
    "reinforce": {"episodes": 3, "longest": 12}, "style": {"steps": 2}, "bayes": {"steps": 200},
}


@pytest.mark.parametrize("name", scripts.TOLERANCES)
def test_agrees_under_both_imports(name: str) -> None:
    run = scripts.load(name, "lazyloom_torch")
    ours = run(**SMALL[name])
    assert all(np.isfinite(v).all() for v in map(np.asarray, ours.values()) if v.dtype.kind == "f")
    pytest.importorskip("torch", reason="PyTorch is the reference")
    assert scripts.differences(name, ours, scripts.load(name, "torch")(**SMALL[name])) == []


def test_the_posterior_is_that_of_the_closed_form() -> None:
    found = scripts.load("bayes", "lazyloom_torch")(**SMALL["bayes"])
    np.testing.assert_allclose(found["mean"], found["closed mean"], atol=0.1)
    ratio = found["spread"] / found["closed spread"]
    assert (ratio > 0.4).all() and (ratio < 2.5).all(), ratio
    assert np.mean(found["bounds"][-20:]) > np.mean(found["bounds"][:5])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classifier", "gan", "style"])
@pytest.mark.compiled
def test_a_second_run_compiles_nothing(name: str) -> None:
    run = scripts.load(name, "lazyloom_torch")
    run(**SMALL[name])
    compiled = lazyloom.stats()["programs_compiled"]
    run(**SMALL[name])
    assert lazyloom.stats()["programs_compiled"] == compiled


def test_differences_are_found() -> None:
    theirs = {"losses": [1.0, 2.0], "name": "a", "n": np.ones(2)}
    ours = {"losses": [1.0, 2.1], "name": "b", "n": np.ones(3), "more": 1}
    assert len(scripts.differences("gan", ours, theirs)) == 4
    assert scripts.differences("gan", theirs, theirs) == []
    assert scripts.differences("bayes", {"bounds": [9.0]}, {"bounds": [1.0]}) == []
