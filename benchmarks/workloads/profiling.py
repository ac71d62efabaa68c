"""What a profile costs while it is made."""

from __future__ import annotations

from typing import Any

from suite import Case, Contender, Limit, Turn, Workload

from . import transformer

PLAIN, PROFILED = "lazyloom, torch-like", "lazyloom, torch-like, profiled"


#: that of the process, once begun
_profiles: list[Any] = []


def profiled(**size: int) -> Turn:
    """The step, in a profile that begins before it and never ends."""
    import lazyloom

    turn = transformer.lazyloom_torch(**size)
    if not _profiles:
        # the process ends with it
        _profiles.append(lazyloom.profile())
        _profiles[0].__enter__()
    return turn


WORKLOAD = Workload(
    name="profiling",
    title="A training step while a profile is made",
    about=(
        "The transformer's step and a very small one of the same text, with and without "
        "`lazyloom.profile()` around them: runs, reads and uploads are noted, and the stacks "
        "looked at 200 times a second."
    ),
    cases=[
        Case("width 256, 4 x 128 tokens", transformer.SMALL, warm=3, rounds=15, budget=25,
             seconds=0.1, quick=False),
        Case("width 32, 2 x 16 tokens", transformer.TINY, warm=20, rounds=25),
    ],
    contenders=[
        Contender(PLAIN, "lazyloom", transformer.lazyloom_torch),
        Contender(PROFILED, "lazyloom", profiled),
    ],
    base=PLAIN,
    limits=[Limit("a step in a profile beside one without", ["width 256"], [PROFILED], 1.05,
                  [PLAIN])],
)  # fmt: skip
