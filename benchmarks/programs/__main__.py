"""Run one program in this process: ``python -m benchmarks.programs NAME --library LIBRARY``.

Says how long importing, making the model, the first epoch and later ones took, and the longest
wait for one sample; for Lazyloom also what it counted. A program that is not done when the limit
is over is ended, with what it had reached. Exit status 124 then.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from typing import Any

from . import NAMES, Progress

#: by kind of program and library: the module that is passed to it
MODULES = {
    ("torch", "lazyloom"): "lazyloom_torch", ("torch", "torch"): "torch",
    ("numpy", "lazyloom"): "lazyloom_numpy", ("numpy", "numpy"): "numpy",
}  # fmt: skip
OVER = 124


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--library", choices=("lazyloom", "torch", "numpy"), default="lazyloom")
    parser.add_argument("--size", choices=("small", "full"), default="full")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="another value of an argument of the program's run()")  # fmt: skip
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--empty-cache", action="store_true",
                        help="Lazyloom's disk cache is an empty folder, removed at the end; else "
                        "it is the usual one, which LAZYLOOM_CACHE_DIR names")  # fmt: skip
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="everything, on one line")
    parser.add_argument("--each", action="store_true", help="seconds and value of every sample")
    return parser.parse_args()


def size_of(program: Any, options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of the program's ``run``."""
    size = dict(program.SIZES[options.size])
    for text in options.set:
        key, _, value = text.partition("=")
        if key not in size:
            sys.exit(f"error: {options.name} has no argument {key!r}; it has {', '.join(size)}")
        size[key] = type(size[key])(value)
    return size


class Report:
    """What is said at the end, whether the program came to its own end or not."""

    def __init__(self, options: argparse.Namespace, imported: float, progress: Progress) -> None:
        self.options = options
        self.imported = imported
        self.progress = progress
        self.started = time.perf_counter()
        # dup: what the program prints goes to standard error where the answer is JSON
        self.out = os.fdopen(os.dup(1), "w")
        if options.json:
            os.dup2(2, 1)

    def say(self, over: bool) -> None:
        found: dict[str, Any] = {"program": self.options.name, "library": self.options.library,
                                 "import": self.imported, **self.progress.summary(),
                                 "total": time.perf_counter() - self.started,
                                 "over": self.options.limit if over else None}  # fmt: skip
        if over:
            found["waiting"] = self.progress.waiting()
        if self.options.library == "lazyloom":
            found["stats"] = dict(importlib.import_module("lazyloom").stats())
        if self.options.json:
            print(json.dumps(found), file=self.out)
        else:
            self._in_words(found)
        self.out.flush()

    def _in_words(self, found: dict[str, Any]) -> None:
        def line(what: str, text: str) -> None:
            print(f"{what:24}{text}", file=self.out)

        line("program", f"{found['program']} by {found['library']}, size {self.options.size}")
        line("import", f"{found['import']:.3f} s")
        setup = found["setup"]
        line("model and data", "not made yet" if setup is None else f"{setup:.3f} s")
        for e, seconds in enumerate(found["epochs"]):
            count = found["samples"][e]
            line(f"epoch {e + 1}", f"{seconds:.3f} s, {count} samples, "
                 f"longest {found['longest'][e]:.3f} s, "
                 f"grown by {found['grown'][e] / 1e6:.0f} MB")  # fmt: skip
        line("total", f"{found['total']:.3f} s")
        if found["over"] is not None:
            line("over", f"{found['over']:g} s: ended; waited {found['waiting']:.1f} s for the "
                 "sample that was being computed")  # fmt: skip
        values = [v for epoch in found["values"] for v in epoch]
        if values:
            first, last = (" ".join(f"{x:.6g}" for x in v) for v in (values[0], values[-1]))
            line("values", f"first {first}; last {last}")
        if self.options.each:
            for e, epoch in enumerate(self.progress.epochs):
                for s, (seconds, value) in enumerate(zip(epoch.seconds, epoch.values)):
                    numbers = " ".join(f"{x:.6g}" for x in value)
                    line(f"  {e + 1}.{s + 1}", f"{1e3 * seconds:9.2f} ms  {numbers}")
        for key, value in found.get("stats", {}).items():
            if value:
                line(f"  {key}", f"{value:g}" if isinstance(value, float) else str(value))


def main() -> int:
    options = arguments()
    program = importlib.import_module(f"{__package__}.{options.name}")
    name = MODULES.get((program.KIND, options.library))
    if name is None:
        sys.exit(f"error: {options.name} is written for {program.KIND}; --library takes lazyloom "
                 f"or {program.KIND} here")  # fmt: skip
    size = size_of(program, options)
    for variable in ("NPROC", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(options.threads)
    cache = tempfile.mkdtemp(prefix="lazyloom-programs-") if options.empty_cache else None
    if cache:
        os.environ["LAZYLOOM_CACHE_DIR"] = cache
    started = time.perf_counter()
    module = importlib.import_module(name)
    imported = time.perf_counter() - started
    if name == "torch":
        module.set_num_threads(options.threads)
    progress = Progress()
    report = Report(options, imported, progress)
    done = threading.Event()

    def watch() -> None:
        if not done.wait(options.limit):
            # a thread that compiles cannot be asked to stop
            try:
                report.say(over=True)
            finally:
                if cache:
                    shutil.rmtree(cache, ignore_errors=True)
                os._exit(OVER)

    threading.Thread(target=watch, daemon=True).start()
    program.run(module, progress, **size)
    done.set()
    report.say(over=False)
    if cache:
        shutil.rmtree(cache, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
