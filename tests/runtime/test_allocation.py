"""Memory of arrays that are let go of is used again, without new pages from the system."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest


def small_pages() -> bool:
    """Whether the system hands out pages of 4 KiB to who asks for nothing else."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    large = path.exists() and "[always]" in path.read_text()
    return resource.getpagesize() == 4096 and not large


pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not small_pages(),
    reason="counts pages of 4 KiB of glibc's heap")

#: how many pages the system hands out for a second array of 160 MB, on a new thread
PROGRAM = """
import resource, threading
import numpy
from lazyloom import allocation

allocation.keep_pages()
found = []

def fill():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    array = numpy.empty(20_000_000)
    array.fill(1.0)
    found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

for _ in range(2):
    thread = threading.Thread(target=fill)
    thread.start()
    thread.join()
print(found[0], found[1], allocation.one_heap())
"""


def faults(**variables: str) -> list[str]:
    """What the program prints."""
    given = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    # NumPy asks for large pages, of which there are few
    given |= {"NUMPY_MADVISE_HUGEPAGE": "0", **variables}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=given, capture_output=True,
                          text=True, check=True)
    return done.stdout.split()


def glibc() -> tuple[int, ...]:
    return tuple(map(int, platform.libc_ver()[1].split(".")[:2]))


@pytest.mark.skipif(glibc() < (2, 35), reason="glibc before 2.35 gives arrays of over 32 MiB back")
def test_a_large_array_lies_where_another_one_was() -> None:
    first, second, one = faults()
    assert one == "True"
    assert int(first) > 30_000  # 160 MB in pages of 4 KiB
    assert int(second) < 3_000


def test_what_variables_of_glibc_say_goes_before() -> None:
    first, second, one = faults(MALLOC_MMAP_THRESHOLD_="1000000")
    assert one == "False"
    assert int(second) > 30_000 and int(first) > 30_000
