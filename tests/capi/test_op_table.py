"""Ops are a part of the ABI: a program compiled against an older header calls them as they were.

``ops.json`` has what each op takes and gives. An op may be added, and gain optional attributes and
optional operands at its end; nothing that is there changes. ``python -m tests.capi.test_op_table``
writes the record, in which only lines may be new.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from .compilers import HERE

RECORD = HERE / "ops.json"
Op = dict[str, Any]

#: in a process of its own: other tests may have entered ops of theirs in the table
_CODE = """
import json, lazyloom
from lazyloom_capi import describe
print(json.dumps({n: describe.op_description(o) for n, o in lazyloom.ops.table().items()}))
"""


def _kept(op: Op) -> Op:
    """What a client relies on."""
    return {
        "operands": [
            {k: o[k] for k in ("name", "dtypes", "optional", "variadic")} for o in op["operands"]],
        "attributes": [
            {k: a[k] for k in ("name", "kind", "nullable", "required", "default")}
            for a in op["attributes"]],
        "outputs": op["outputs"], "lists": op["lists"],
    }  # fmt: skip


@pytest.fixture(scope="module")
def ops() -> dict[str, Op]:
    return found()


def found() -> dict[str, Op]:
    done = subprocess.run(
        [sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    return {name: _kept(op) for name, op in sorted(json.loads(done.stdout).items())}


def differences(before: dict[str, Op], now: dict[str, Op]) -> list[str]:
    """What a client that was compiled against ``before`` would notice, as sentences."""
    wrong = []
    for name, old in before.items():
        new = now.get(name)
        if new is None:
            wrong.append(f"{name} is gone")
            continue
        if new["outputs"] != old["outputs"] or new["lists"] != old["lists"]:
            wrong.append(f"{name} gives {new['outputs']}, and gave {old['outputs']}")
        count = len(old["operands"])
        for i, operand in enumerate(old["operands"]):
            here = new["operands"][i] if i < len(new["operands"]) else None
            if here is None or {**here, "dtypes": None, "optional": None} != {
                **operand, "dtypes": None, "optional": None,
            }:
                wrong.append(f"{name}: operand {i} is {here}, and was {operand}")
            elif not set(operand["dtypes"]) <= set(here["dtypes"]):
                wrong.append(f"{name}: operand {i} takes {here['dtypes']} alone")
            elif operand["optional"] and not here["optional"]:
                wrong.append(f"{name}: operand {i} is no longer optional")
        wrong += [f"{name}: operand {o['name']} is new and not optional"
                  for o in new["operands"][count:] if not o["optional"] and not o["variadic"]]
        known = {a["name"]: a for a in new["attributes"]}
        for a in old["attributes"]:
            here = known.pop(a["name"], None)
            if here is None:
                wrong.append(f"{name}: the attribute {a['name']} is gone")
            elif (here["kind"] != a["kind"] or here["required"] and not a["required"]
                  or a["nullable"] and not here["nullable"]
                  or not a["required"] and here["default"] != a["default"]):
                wrong.append(f"{name}: the attribute is {here}, and was {a}")
        wrong += [f"{name}: the attribute {a} is new and required"
                  for a, given in known.items() if given["required"]]
    return wrong


def test_ops_are_called_as_they_were(ops: dict[str, Op]) -> None:
    assert not differences(json.loads(RECORD.read_text()), ops)


def test_the_record_has_all_ops(ops: dict[str, Op]) -> None:
    """So that what is new is held to from now on: python -m tests.capi.test_op_table"""
    assert json.loads(RECORD.read_text()) == ops


def test_what_would_break_a_client_is_found() -> None:
    attribute = {"name": "axis", "kind": "int", "nullable": True, "required": False, "default": 0}
    operand = {"name": "x", "dtypes": ["int8", "float32"], "optional": False, "variadic": False}
    op = {"operands": [operand], "attributes": [attribute], "outputs": ["y"], "lists": False}
    before = {"f": op}
    another = {**attribute, "name": "mode"}
    assert not differences(before, {"f": {**op, "attributes": [attribute, another]}, "g": op})
    for change in (
        {"attributes": []},
        {"attributes": [attribute, {**another, "required": True}]},
        {"attributes": [{**attribute, "default": 1}]},
        {"attributes": [{**attribute, "kind": "ints"}]},
        {"attributes": [{**attribute, "nullable": False}]},
        {"operands": []},
        {"operands": [operand, {**operand, "name": "z"}]},
        {"operands": [{**operand, "name": "z"}]},
        {"operands": [{**operand, "dtypes": ["int8"]}]},
        {"outputs": ["y", "z"]},
    ):
        assert len(differences(before, {"f": {**op, **change}})) == 1, change
    assert differences(before, {}) == ["f is gone"]


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(op)}" for name, op in found().items()]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
