"""``python -m lazyloom codegen``: the kit finds what is wrong with a generator and names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.errors import ArgumentError
from lazyloom.generator_kit.checks import items
from lazyloom.generator_kit.process import FAILED, Options, loaded, outcomes
from lazyloom.generator_kit.programs import NothingToDo, Wrong
from lazyloom.generator_kit.samples import claimed, with_numbers
from tests.codegen import kit_generators, test_known_numbers

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]


def checked(generator: codegen.Generator, *kinds: str, ops: list[str] | None = None,
            programs: int = 4) -> dict[str, str]:  # fmt: skip
    """What the items of some kinds find wrong, by name; "" for what passes."""
    codegen.register(generator)
    found = {}
    for item in items(generator, ops, programs, timing=False):
        if item.name.startswith(kinds):
            try:
                item.check()
                found[item.name] = ""
            except NothingToDo:
                pass
            except Wrong as wrong:
                found[item.name] = str(wrong)
    return found


def wrong(found: dict[str, str]) -> list[str]:
    return [name for name, why in found.items() if why]


@pytest.mark.slow
def test_a_right_generator_passes_all_of_it() -> None:
    found = checked(kit_generators.Right(), "", ops=["add", "tanh"])
    assert wrong(found) == []
    for kind in ("values add", "gradients tanh", "layouts add", "repeated runs tanh",
                 "an operand twice add", "numbers add", "fault: the build fails",
                 "fault: the run fails", "fault: a result of the wrong shape",
                 "fault: wrong values", "random program 0"):
        assert kind in found, kind


@pytest.mark.parametrize(("generator", "kind", "name", "why"), [
    (kit_generators.LosesNaN, "values", "values tanh", "nan"),
    (kit_generators.KeepsTheFirst, "repeated", "repeated runs tanh", "units in the last place"),
    (kit_generators.BindsWrongly, "repeated", "repeated runs tanh", "run 1"),
    (kit_generators.MixesUpLayouts, "values", "values tanh", "units in the last place"),
    (kit_generators.MixesUpLayouts, "layouts", "layouts tanh", "units in the last place"),
])
def test_what_is_wrong_is_named(
    generator: type[codegen.Generator], kind: str, name: str, why: str
) -> None:
    found = checked(generator(), kind, ops=["tanh"])
    assert wrong(found) == [name] and why in found[name], found


def test_random_programs_find_what_samples_of_one_op_do_not() -> None:
    generator = kit_generators.TakesMergedOpsApartWrongly()
    assert wrong(checked(generator, "values", ops=["add", "multiply"])) == []
    assert wrong(checked(generator, "random", ops=["add", "multiply"], programs=12))


def test_groups_and_numbers_have_samples() -> None:
    mine = test_known_numbers.Found(lambda a: a * 0 + 6, test_known_numbers.RELU6)
    found = checked(mine, "group")
    assert wrong(found) == ["group relu6"], found
    clip = test_known_numbers.Clip()
    assert list(with_numbers(clip, ["clip", "add"])) == ["clip"]
    assert checked(clip, "numbers", ops=["clip"]) == {"numbers clip": ""}


def test_groups_have_samples_of_their_own_types() -> None:
    # integers, a number a channel, an operand that is absent
    found = checked(kit_generators.Int8(), "group")
    assert found == {"group int8_bias": "", "group int8": ""}
    found = checked(kit_generators.WithoutScale(), "group")
    assert wrong(found) == ["group int8_bias", "group int8"], found
    assert "conv of float32[" in found["group int8"]
    found = checked(kit_generators.BiasOfTheOtherAxis(), "group")
    assert wrong(found) == ["group int8_bias"], found
    assert "a number a channel" in found["group int8_bias"]


def test_a_group_that_nothing_fits_is_skipped() -> None:
    generator = kit_generators.Impossible()
    codegen.register(generator)
    (item,) = [i for i in items(generator, None, 0, False) if i.name == "group impossible"]
    with pytest.raises(NothingToDo, match="give a program that has it by --program"):
        item.check()


def test_what_is_rounded_to_integers_may_be_the_next() -> None:
    assert checked(kit_generators.RoundsTies(), "values", "repeated", ops=["quantize"]) == {
        "values quantize": "", "repeated runs quantize": ""}
    found = checked(kit_generators.RoundsFar(), "values", ops=["quantize"])
    assert wrong(found) == ["values quantize"] and "at most 1 apart" in found["values quantize"]


def test_a_failure_names_the_generators_line() -> None:
    found = checked(kit_generators.Raises(), "values", ops=["tanh"])
    assert "ValueError: cannot reshape" in found["values tanh"]
    assert " at kit_generators.py:" in found["values tanh"]


def test_a_generator_that_claims_nothing_fails() -> None:
    found = checked(kit_generators.ClaimsNothing(), "")
    assert "claims no sample" in found["claims"]
    assert not claimed(kit_generators.ClaimsNothing())


@pytest.mark.slow
def test_hangs_and_crashes_are_named_and_the_rest_goes_on() -> None:
    for name, why in [("Hangs", "hangs: it took more than 6 s"), ("Crashes", "by signal 9")]:
        found = list(outcomes(Options(
            f"tests.codegen.kit_generators:{name}", ("add", "multiply"), 0, False, 6.0,
            ("values", "an operand twice add"))))
        failed = {o.name: o.detail for o in found if o.state == FAILED}
        assert "values multiply" in failed and why in failed["values multiply"]
        assert "values add" not in failed and found[-1].name == "an operand twice add"
        assert len(found) == 3


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lazyloom", "codegen", *arguments], cwd=ROOT, text=True,
        env={**os.environ, "LAZYLOOM_LOG": "0", **environment}, capture_output=True, timeout=300)


def test_the_command_says_what_failed_and_exits_with_1() -> None:
    done = command("test", "tests.codegen.kit_generators:LosesNaN", "--ops", "tanh",
                   "--only", "values,layouts,time")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "loses_nan 1"
    assert any(line.startswith("FAILED   values tanh: ") for line in lines)
    assert lines[-1].startswith("failed: values tanh")
    # the times stand beside XLA's
    assert any("us of XLA" in line and line.split()[0] == "tanh" for line in lines)
    done = command("test", "tests.codegen.kit_generators:Right", "--ops", "tanh",
                   "--programs", "1", "--no-times")
    assert done.returncode == 0 and done.stdout.splitlines()[-1].endswith(" 0 failed")
    assert "us of XLA" not in done.stdout


@pytest.mark.parametrize(("name", "why"), [
    ("no_such", "there is no generator 'no_such', and no module of that name"),
    ("tests.codegen.kit_generators", "generators, expected one"),
    ("tests.codegen.kit_generators:Nothing", "has 0 generators, expected one"),
])
def test_a_generator_that_is_not_there(name: str, why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        loaded(name)


@pytest.mark.parametrize(("arguments", "why"), [
    (("tests.codegen.kit_generators:Right", "--ops", "tahn"), "tahn"),
    (("tests.codegen.kit_generators:Right", "--ops", "tanh", "--only", "valeus"),
     "no check's name begins with 'valeus'"),
    ((":Right",), "'' is no module's name"),
    (("tests.codegen.generators:InNumPyOf",), "has 0 generators"),
    (("tests.codegen.generators:interpret",), "raised TypeError"),
    (("tests.codegen.kit_generators:Right", "--program", ":f"), "'' is no module's name"),
])  # fmt: skip
def test_what_is_asked_for_and_not_there(arguments: tuple[str, ...], why: str) -> None:
    done = command("test", *arguments)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("lazyloom codegen test: ") and why in done.stderr
    assert "Traceback" not in done.stderr


def test_the_list_names_generators_and_what_they_claim(tmp_path: Path) -> None:
    done = command("list", "--ops", LAZYLOOM_CODEGEN="c")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (first,) = [line for line in lines if line.startswith("c ")]
    assert "in use; " in first and "samples" in first
    assert "sort" in lines[lines.index(first) + 1]
    # an installed one that cannot be imported
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[lazyloom.generators]\nbroken = nowhere_at_all:Made\nnothing = types:SimpleNamespace\n"
        "absent = builtins:print\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    done = command("list", PYTHONPATH=path)
    assert "broken: not available: ModuleNotFoundError" in done.stdout, done.stderr
    assert "absent: not available: its library or device is not here" in done.stdout


def test_explain_runs_a_script_and_says_what_ran_where(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
import sys
import lazyloom_numpy as np
from lazyloom import codegen
from tests.codegen.kit_generators import Right
codegen.register(Right())
codegen.use("right")
x = np.asarray([[1.0, 2.0]], dtype="float32")
for k in range(3):
    print(float((np.tanh(x + x) - np.exp(x)).sum()))
sys.exit(int(sys.argv[1]))
""")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = command("explain", str(script), "3", LAZYLOOM_REPRODUCIBLE="1", PYTHONPATH=path)
    assert done.returncode == 3, done.stderr
    text = done.stdout
    assert text.count("\n-5.") + text.startswith("-5.") == 3 or "generators in use: right" in text
    assert "generators in use: right" in text and ": 3 compiled" in text
    assert "right: 1 add, 1 tanh" in text and "right: no such op" in text
    whole = command("explain", "--all", str(script), "0", LAZYLOOM_REPRODUCIBLE="1",
                    PYTHONPATH=path)
    assert "%0 = add : float32[1,2] -> right, region 0" in whole.stdout
    assert "right: no exp" in whole.stdout
    note = "no run of it had these regions"
    assert note not in text
    # a program of its own runs op by op at first
    few = command("explain", str(script), "0", LAZYLOOM_CACHE="0", PYTHONPATH=path)
    assert "op by op" in few.stdout and few.stdout.count(note) == 1, few.stdout
    missing = command("explain", str(tmp_path / "none.py"))
    assert missing.returncode == 2 and "is no file" in missing.stderr
