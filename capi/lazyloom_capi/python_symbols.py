"""What the C library calls in Python, by pointers that it fills in when it starts.

The library is not linked with libpython: a program that is linked with the library starts where
libpython is on no search path, and the library fits every Python of its version. Python's headers
are read with each name that is used defined as a pointer of another name, ``PyErr_Fetch`` as
``(*loomp_PyErr_Fetch)``: a declaration of a function then declares the pointer to it, and so does
one of data. A call costs what it costs through the linker's table, which is a pointer, too.
"""

from __future__ import annotations

import re

#: read before Python's headers, so that what they declare is defined here and not exported
_FIRST = """#define PyAPI_FUNC(type) type
#define PyAPI_DATA(type) extern type
"""


def used(assembly: str) -> list[str]:
    """The names of Python's C API that a source uses: all that its assembly does not define.

    Args:
        assembly: what a compiler made of the source, not optimised, so that it names all that
            optimising can leave.
    """
    lines = [line for line in assembly.splitlines()
             if not re.match(r"\s*\.(string|ascii|asciz|file|ident)\b", line)]
    labels = {line.partition(":")[0] for line in lines if re.match(r"\w+:", line)}
    # what static data is: .local, .comm
    labels |= set(re.findall(r"^\s*\.(?:local|comm|lcomm)\s+(\w+)", "\n".join(lines), flags=re.M))
    return sorted(set(re.findall(r"\b_?Py\w+", "\n".join(lines))) - labels)


def redirections(names: list[str]) -> str:
    """A header that is read before all others: the names, as pointers."""
    return _FIRST + "".join(f"#define {name} (*loomp_{name})\n" for name in names)


def table(names: list[str]) -> str:
    """C that defines the pointers, and ``python_symbols``: the name and the place of each.

    It is read after Python's headers, whose declarations give the types.
    """
    definitions = "".join(
        f"__typeof__(loomp_{name}) loomp_{name};\n" for name in names)
    rows = "".join(f'    {{"{name}", (void *)&loomp_{name}}},\n' for name in names)
    return (f"{definitions}static const struct {{\n  const char *name;\n  void *at;\n"
            f"}} python_symbols[] = {{\n{rows}}};\n")
