"""Ops from outside the package: what a definition or rule that does not work costs, and whom."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from jax import lax

import lazyloom
from lazyloom.errors import ExecutionError, LoomError
from lazyloom.ops import Derivative, Execution
from lazyloom.ops.rules import elementwise


def enter(name, fn, rule=elementwise, **more):
    fn.__annotations__ = {"x": "T"}
    fn.__doc__ = name
    lazyloom.register_op(rule, T="floating", source="the tests", name=name, **more)(fn)


def raising(x):
    raise ZeroDivisionError("no such luck")


def shorter(x):
    return lax.slice(x, (0,), (1,))


def nothing(x):
    return None


def calling_back(x):
    return jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


BROKEN = {"raises": raising, "lies": shorter, "gives_nothing": nothing, "calls_back": calling_back}


@pytest.mark.parametrize("fallible", [False, True])
@pytest.mark.parametrize("name", BROKEN)
def test_a_definition_that_does_not_work_fails_its_own_results_only(name, fallible):
    full = f"own_{name}_{fallible}".lower()
    fn = BROKEN[name]
    enter(full, lambda x: fn(x), execution=Execution(fallible=fallible))
    x = lazyloom.Tensor(lazyloom.from_host(np.float32([1, 2, 3])))
    y = lazyloom.apply("add", [x, 1.0])
    z = lazyloom.apply(full, [y])
    after = lazyloom.apply("exp", [z])
    beside = lazyloom.apply("multiply", [y, 2.0])
    for bad in (z, after, z):
        told = rf"op {full}, recorded at .*test_broken_op_definitions.py"
        with pytest.raises(ExecutionError, match=told) as caught:
            bad.read()
        assert caught.value.op == full
    assert beside.read().tolist() == [4, 6, 8]
    assert x.read().tolist() == [1, 2, 3]
    with pytest.raises(ExecutionError, match=full):
        lazyloom.grad(lambda v: lazyloom.apply("sum", [lazyloom.apply(full, [v])]))(x).read()


@pytest.mark.parametrize("given", [None, (), 3])
def test_a_rule_that_gives_no_types_is_named_at_the_call(given):
    name = f"own_rule_{str(given).strip('()').lower()}"
    enter(name, lambda x: x, lambda op, types, attrs: given)
    x = lazyloom.Tensor(lazyloom.from_host(np.float32([1])))
    with pytest.raises(LoomError, match=f"{name}: its rule"):
        lazyloom.apply(name, [x])


@pytest.mark.slow
@pytest.mark.parametrize("versions", [(None, None), ("1", "2")])
def test_another_definition_in_another_process_is_another_program(versions, tmp_path, monkeypatch):
    program = """
import sys
import numpy as np
from jax import lax
import lazyloom
from lazyloom.ops.rules import elementwise
k, version = float(sys.argv[1]), sys.argv[2] or None
def own(x):
    "x + k"
    return lax.add(x, lax.full_like(x, k))
own.__annotations__ = {"x": "T"}
lazyloom.register_op(elementwise, T="floating", source="the tests", version=version)(own)
x = lazyloom.Tensor(lazyloom.from_host(np.float32(1)))
print(lazyloom.apply("own", [x]).read(), lazyloom.stats()["programs_from_disk"])
"""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(folder))
    again = "0" if versions[0] is None else "1"
    for k, version, expected in [
        (1, versions[0], "2.0 0"), (5, versions[1], "6.0 0"), (5, versions[1], f"6.0 {again}"),
    ]:  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", program, str(k), version or ""], capture_output=True, text=True,
            check=True)
        assert done.stdout.strip() == expected


def _definition(annotations=None, doc="A definition."):
    def fn(x, *, axis=0):
        return x

    fn.__annotations__ = {"x": "T", "axis": "int"} if annotations is None else annotations
    fn.__doc__ = doc
    return fn


@pytest.mark.parametrize(("fn", "given", "told"), [
    (_definition(), {"name": ""}, "the name '', expected an identifier"),
    (_definition(), {"name": "q q;"}, "the name 'q q;', expected an identifier"),
    (_definition(), {"name": "add.vjp"}, "the name 'add.vjp', expected an identifier"),
    (_definition(), {"name": "add"}, "an op named 'add' is in the table already"),
    (_definition(), {"rule": "elementwise"}, "a str as rule, expected a function"),
    (_definition(), {"T": "real numbers"}, "T is 'real numbers', expected one of any"),
    (_definition(doc=None), {}, "no docstring"),
    (_definition({"axis": "int"}), {}, "operand 'x' has no annotation, expected one of T, AnyType"),
    (_definition({"x": "T", "axis": "list"}), {}, "attribute 'axis' is annotated 'list', expected"),
    (_definition(), {"derivative": Derivative(linear="y")},
     "trait linear names 'y', expected its operands: x"),
])
def test_what_is_wrong_with_a_definition_is_said_where_it_is_entered(fn, given, told):
    options = {"rule": elementwise, "source": "the tests", "name": "own_wrong", **given}
    with pytest.raises(lazyloom.errors.ArgumentError, match=told):
        lazyloom.register_op(options.pop("rule"), **options)(fn)
    with pytest.raises(lazyloom.errors.UnknownOpError):
        lazyloom.apply("own_wrong", [1.0])
