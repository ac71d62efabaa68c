"""``python -m tests.oracle``: random programs in every form, and a table of what they broke."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from . import forms
from .check import Oracle
from .generate import program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="that of the first program")
    parser.add_argument("--forms", default=",".join(f for f in forms.ALL if f != "narrow"),
                        help=f"of {', '.join(forms.ALL)}")
    parser.add_argument("--show", type=int, default=20, help="faulty programs to shrink and show")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no program after that")
    parser.add_argument("--large", action="store_true", help="large arrays alone")
    parser.add_argument("--calm", action="store_true", help="no numbers close to zero")
    parser.add_argument("--tries", type=int, default=25, help="runs that shrinking may take")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    started = time.monotonic()
    shown = faulty = ran = 0
    with Oracle(given.forms.split(",")) as oracle:
        for seed in range(given.seed, given.seed + given.programs):
            if time.monotonic() - started > given.seconds:
                break
            ran += 1
            made = program(seed, large=True if given.large else None, calm=given.calm)
            broken = oracle.check(made)
            if not broken:
                continue
            oracle.count(broken)
            faulty += 1
            if shown < given.show:
                shown += 1
                small = oracle.shrunk(made, broken, given.tries)
                print(f"\nseed {seed}", flush=True)
                for b in broken[:4]:
                    print(f"  {b.text()}")
                print(small.text())
                for b in oracle.check(small)[:4]:
                    print(f"  # {b.text()}")
                sys.stdout.flush()
        print(f"\n{ran} programs from seed {given.seed}, {faulty} break a rule, "
              f"{time.monotonic() - started:.0f} s")
        print(oracle.summary())
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
