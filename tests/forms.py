"""In which form a test's programs run: compiled before they run, or op by op.

Tests that are about compiled programs (counts, keys, records, the disk cache, donation, a frontend
beside another bit for bit) run compiled. What users see runs as it does for users, op by op at
first. The contract's lines about behaviour run in both forms, and with ``--thorough`` compiled with
all code generators as well. The markers ``compiled``, ``op_by_op`` and ``generators`` decide for a
test; ``LAZYLOOM_REPRODUCIBLE=1`` has all others run compiled.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).resolve().parent
VARIABLE: Final = "LAZYLOOM_REPRODUCIBLE"
#: what the tests' processes were started with: the form of tests that say nothing
DEFAULT: Final = "compiled" if os.environ.get(VARIABLE, "0") not in ("", "0") else "op_by_op"

#: the forms of a test
FORMS: Final = ("compiled", "op_by_op", "generators")
#: folders and modules whose tests run compiled
WHOLE: Final = (
    "capi", "contract", "ops", "repository", "runtime", "conformance/test_derivatives.py",
    "conformance/test_ops.py", "conformance/test_programs.py",
)  # fmt: skip
#: modules whose tests run in both forms
BOTH: Final = (
    *(f"contract/test_{name}.py" for name in (
    "01_errors_at_the_call", "02_executes_once", "04_scalars", "06_donation",
    "07_views_and_gradients", "08_long_traces", "09_threads", "10_checks", "10_failures",
    "10_recovery", "13_fork", "autodiff")), "numpy/test_programs.py",
    "runtime/test_gradients_and_other_threads.py", "runtime/test_overlapping_writes.py",
    "runtime/test_compiler_defects.py",
)  # fmt: skip


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Have a test run in each form, if its module does and it says nothing."""
    definition = metafunc.definition
    if _name(definition.path) in BOTH and not any(
        definition.get_closest_marker(form) for form in FORMS
    ):
        chosen = FORMS if metafunc.config.getoption("--thorough") else FORMS[:2]
        metafunc.parametrize("form", [
            pytest.param(form, marks=getattr(pytest.mark, form)) for form in chosen],
            indirect=True)  # fmt: skip


def form_of(item: pytest.Item) -> str:
    """The form of a test."""
    for form in FORMS:
        if item.get_closest_marker(form) is not None:
            return form
    name = _name(item.path)
    return "compiled" if any(name == w or name.startswith(w + "/") for w in WHOLE) else DEFAULT


def use(form: str) -> None:
    """Have programs run in that form from now on, those of new processes too."""
    from lazyloom import settings

    _use_generators(form == "generators")
    whole = form != "op_by_op"
    os.environ[VARIABLE] = "1" if whole else "0"
    settings.DEFAULTS["reproducible"] = whole
    # a thread that ever set an option keeps a copy of all
    if settings.get_option("reproducible") != whole:
        settings.set_option("reproducible", whole)
    # what compiles beside short programs would take the processor from other tests
    default = settings.NUMBERS["compiled_beside"].default
    settings.tuning.compiled_beside = default if whole else 0


def _use_generators(all_of_them: bool) -> None:
    """Have all code generators take what they can, or those that are in use at first."""
    global _with_generators
    if _with_generators == all_of_them:
        return
    from lazyloom import codegen
    from lazyloom.codegen import registry

    codegen.use(*(codegen.available() if all_of_them else registry.at_first()))
    _with_generators = all_of_them


_with_generators = False


def _name(path: Path) -> str:
    return path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else path.name
