"""C source from generators, loaded as libraries: compiled once, kept on disk."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Sequence
from typing import Final

from ....cache import private
from ....counters import counters
from ....host import storage
from ....host.c_source.library import compiler, march, run
from . import stored

_FLAGS: Final = ("-O3", "-fPIC", "-std=gnu11", "-fno-math-errno", "-shared")


def library_of(text: str, flags: Sequence[str], seconds: float) -> ctypes.CDLL:
    """Compile C source, or load it from disk, as a library; the compiler has so many seconds.

    Raises CompilerError, OSError, and NotPrivateError where others can replace the contents of the
    folder of temporary files before they are loaded.
    """
    private.check_above(os.path.join(tempfile.gettempdir(), "lazyloom"))
    command = [*compiler(), *_FLAGS, *march(), *flags]
    description = "\0".join([*command, text]).encode()
    data = storage.load("c", description)
    stored.note("c", storage.fingerprint() + description)
    with tempfile.TemporaryDirectory(prefix="lazyloom-") as folder:
        path = os.path.join(folder, "region.so")
        if data is not None:
            with private.limit_is_an_error(), open(path, "wb") as file:
                file.write(data)
            try:
                return ctypes.CDLL(path)
            except OSError:
                # from another system than this one claims to be: compile again
                os.remove(path)
        source = os.path.join(folder, "region.c")
        with private.limit_is_an_error(), open(source, "w", encoding="utf-8") as written:
            written.write(text)
        run([*command, source, "-o", path, "-lm"], seconds)
        counters["regions_in_c_compiled"] += 1
        with open(path, "rb") as file:
            storage.store("c", description, file.read())
        # the file is not needed once it is open
        return ctypes.CDLL(path)
