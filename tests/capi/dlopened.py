"""The library's functions, each forwarded to one found by ``dlopen`` and ``dlsym``.

Linked with a C program, this takes the place of the library: the program only opens it when it
first calls one of its functions, with ``RTLD_LOCAL`` as every foreign function interface does.
"""

from __future__ import annotations

import re
from pathlib import Path

from lazyloom_capi import header

_OPENING = """\
#define LOOM_NO_SOURCE_LOCATIONS
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "lazyloom.h"

static void *address_of(const char *name) {
  static void *library = NULL;
  void *found;
  if (library == NULL) library = dlopen("LIBRARY", RTLD_LOCAL | RTLD_NOW);
  found = library == NULL ? NULL : dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s\\n", dlerror());
    exit(1);
  }
  return found;
}
"""


def _forwarding(name: str, prototype: str) -> str:
    kind, given = re.fullmatch(rf"(.*?)\b{name}\((.*)\);", prototype).groups()  # type: ignore[union-attr]
    # a parameter that is a function has its name in parentheses, and parameters of its own
    plain = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", given)
    names = "" if given == "void" else ", ".join(
        re.findall(r"\w+", part)[-1] for part in plain.split(","))
    return (
        f"{kind}{name}({given}) {{\n"
        f"  static {kind}(*found)({given}) = NULL;\n"
        f'  if (found == NULL) *(void **)&found = address_of("{name}");\n'
        f"  {'' if kind.strip() == 'void' else 'return '}found({names});\n}}\n")


def source(library: Path) -> str:
    """The C file that forwards every function of the header to that library."""
    functions = header.functions(header.text())
    opening = _OPENING.replace("LIBRARY", str(library))
    return opening + "\n".join(_forwarding(n, p) for n, p in functions.items())
