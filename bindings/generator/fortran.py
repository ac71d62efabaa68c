"""``lazyloom_ops.f90``: a Fortran function for every op, with optional arguments."""

from __future__ import annotations

from .common import NOTICE, OPS, Entry, doc, fixed, optional, required, variadic
from .fortran_c import _wrapped

PATH = "fortran/lazyloom_ops.f90"

_TYPES = {"bool": "logical", "int": "integer", "float": "real(real64)", "str": "character(*)",
          "dtype": "integer", "ints": "integer", "floats": "real(real64)"}  # fmt: skip
_TAKEN = frozenset("found call_ result".split())


def _safe(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _function(op: Entry) -> str:
    many = variadic(op)
    operands = [o for o in fixed(op) if not o["optional"]]
    left_out = [o for o in fixed(op) if o["optional"]]
    names = [_safe(o["name"]) for o in operands]
    if many:
        names.append(_safe(many["name"]))
    names += [_safe(a["name"]) for a in required(op)]
    names += [_safe(o["name"]) for o in left_out] + [_safe(a["name"]) for a in optional(op)]
    count = len(op["outputs"])
    single = count == 1 and not op["lists"]
    kind = "function"
    lines = [f"  ! {line}" for line in doc(op, 94)]
    if count > 1 and not op["lists"]:
        lines.append(f"  ! Gives {', '.join(op['outputs'])}.")
    head = _wrapped(f"  {kind} loom_{op['name']}", names, " result(found)")
    lines.append(head)
    lines += [f"    class(*), intent(in) :: {_safe(o['name'])}" for o in operands]
    if many:
        lines.append(f"    type(tensor), intent(in) :: {_safe(many['name'])}(:)")
    lines += [f"    class(*), intent(in), optional :: {_safe(o['name'])}" for o in left_out]
    for a in [*required(op), *optional(op)]:
        extent = "(:)" if a["kind"] in ("ints", "floats") else ""
        given = "" if a["required"] else ", optional"
        lines.append(f"    {_TYPES[a['kind']]}, intent(in){given} :: {_safe(a['name'])}{extent}")
    if single:
        lines.append("    type(tensor) :: found")
    elif op["lists"]:
        lines.append("    type(tensor), allocatable :: found(:)")
    else:
        lines.append(f"    type(tensor) :: found({count})")
    lines.append("    type(recording) :: call_")
    lines += [f"    call call_%operand({_safe(o['name'])})" for o in fixed(op)]
    if many:
        lines.append(f"    call call_%operands({_safe(many['name'])})")
    for a in [*required(op), *optional(op)]:
        put = "dtype" if a["kind"] == "dtype" else "attribute"
        line = f'call call_%{put}("{a["name"]}", {_safe(a["name"])})'
        # an absent argument may not be given to a generic
        lines.append(f"    {line}" if a["required"]
                     else f"    if (present({_safe(a['name'])})) {line}")  # fmt: skip
    how = "one" if single else "list" if op["lists"] else "several"
    extent = f", {count}" if how == "several" else ""
    lines.append(f'    found = call_%{how}("{op["name"]}"{extent})')
    return "\n".join([*lines, f"  end {kind}"])


def text() -> str:
    functions = "\n\n".join(_function(op) for op in OPS)
    return (f"! A function for every op: operands are tensors or numbers.\n! {NOTICE}\n"
            "module lazyloom_ops\n  use, intrinsic :: iso_fortran_env, only: real64\n"
            "  use lazyloom_core, only: tensor\n  use lazyloom_recording, only: recording\n"
            "  implicit none\n  private\n"
            + "\n".join(f"  public :: loom_{op['name']}" for op in OPS)
            + f"\n\ncontains\n\n{functions}\n\nend module\n")  # fmt: skip
