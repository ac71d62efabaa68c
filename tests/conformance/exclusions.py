"""What the conformance tests leave out, with reasons.

``docs/generate.py`` lists these beside the table of (op, dtype) pairs. A key is an op; a value
is the reason.
"""

from __future__ import annotations

#: ops without a reference in NumPy or SciPy: only the frontends are compared with each other
NO_REFERENCE: dict[str, str] = {
    **dict.fromkeys(
        ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute",
         "collective_broadcast"],
        "tests/distributed compares it with NumPy, in several processes"),
    **dict.fromkeys(("shard_map", "axis_index"),
                    "tests/devices/eight/test_shard_map.py compares it on eight devices"),
    "call_module": "tests/export compares it with the functions that were exported",
    "place": "where data lie is no reference's; tests/devices compares what comes back",
    "dropout": "random; tests/ops compares it with random_bernoulli of the same key",
    **dict.fromkeys(("scan", "while_loop", "cond"),
                    "tests/runtime/test_control_flow.py compares it with jax.lax's"),
    **dict.fromkeys(
        "step_sgd step_adam step_adamax step_nadam step_radam step_rmsprop step_adagrad"
        " step_adadelta step_asgd step_rprop step_adafactor step_muon lbfgs_direction".split(),
        "tests/conformance/torch_optim.py compares it with PyTorch's optimizer"),
    "unscale": "tests/torch/test_amp.py compares it with PyTorch's GradScaler",
    "select_all": "tests/torch/test_amp.py compares it with numpy.where",
}

#: every random op
RANDOM = "random; tests/ops checks its moments and that a key always gives the same numbers"

#: differentiable ops whose derivative no numerical one is compared with
NO_NUMERICAL: dict[str, str] = {
    "ctc_loss": "its gradient is by definition that of the logits whose logarithms of "
                "probabilities it takes, as PyTorch's and cuDNN's is",
    "random_gamma": "the derivative is that of the distribution's inverse (implicit "
                    "reparameterisation); the rejection sampler that draws is not smooth",
    "fake_quantize": "its gradient is by definition that of what is not rounded",
    "straight_through": "its gradient is by definition not that of its data",
}

#: complex matrices are left out of the numerical comparison
NO_NUMERICAL_COMPLEX: dict[str, str] = {
    "eigh": "eigenvectors have any phase; the derivative keeps it still, LAPACK does not",
    "svd": "singular vectors have any phase; the derivative keeps it still, LAPACK does not",
}

#: dtypes of an op's class that its rule refuses
REFUSED: dict[str, dict[str, str]] = {
    "complex": dict.fromkeys(
        ("float16", "bfloat16"), "no complex dtype has parts of half precision"),
    "iota": {"bool": "positions are numbers; cast the result"},
}
