"""The runner's side of the workers: contenders take turns, round after round.

Every contender has a process of its own, so that nobody's thread pool, allocator or settings
touch another's, and one that dies takes only its own row along.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

from . import machine, peers
from .workload import Case, Contender, Workload

SCRIPT = Path(__file__).with_name("worker.py")
#: seconds after which a contender that makes its work, or does a turn, is given up
OPENING = 420.0
TURN = 300.0
#: rounds that are played however long they take
LEAST = 3


class Failed(Exception):
    """A contender could not do its part; says why."""


class Process:
    """A contender with one number of threads, in its process."""

    def __init__(
        self, workload: Workload, contender: Contender, threads: int | None, log: TextIO,
        cache: str,
    ) -> None:  # fmt: skip
        self.contender = contender
        self.threads = threads
        self.unit = 0.0
        # programs compiled for another number of threads, or by another build, must not be found
        own = {"LAZYLOOM_CACHE_DIR": os.path.join(cache, contender.peer, str(threads))}
        environment = {**os.environ, **own, **peers.variables(contender.peer, threads),
                       **contender.environment}  # fmt: skip
        self.child = subprocess.Popen(
            [peers.python_of(contender.peer), str(SCRIPT), workload.name, contender.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment,
        )  # fmt: skip
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put("")

    def ready(self) -> None:
        self._answer(120.0)

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(json.dumps(request) + "\n")
            self.child.stdin.flush()
        except OSError as error:
            raise Failed(f"its process ended with status {self.child.wait()}") from error
        return self._answer(seconds)

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            self.close()
            raise Failed(f"no answer within {seconds:.0f} s") from None
        if not line:
            raise Failed(f"its process ended with status {self.child.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def open(self, case: Case, quick: bool) -> None:
        request = {"do": "open", "case": case.name, "quick": quick}
        self.unit = self.ask(request, OPENING)["unit"]

    def turn(self, units: int) -> dict[str, Any]:
        return self.ask({"do": "turn", "units": units}, TURN)

    def close(self) -> None:
        if self.child.poll() is None:
            assert self.child.stdin is not None
            try:
                self.child.stdin.close()
                self.child.wait(5)
            except (OSError, subprocess.TimeoutExpired):
                self.child.kill()
                self.child.wait()


class Arena:
    """Runs the cases of one workload."""

    def __init__(
        self, workload: Workload, absent: dict[str, str], log: TextIO, quick: bool,
        cache: str,
    ) -> None:  # fmt: skip
        self.workload = workload
        self.absent = absent
        self.log = log
        self.quick = quick
        self.cache = cache
        self.running: dict[tuple[str, int | None], Process] = {}

    def close(self) -> None:
        for process in self.running.values():
            process.close()
        self.running.clear()

    def run(self, case: Case) -> tuple[dict[str, Any], dict[str, str]]:
        """What each contender's turns gave, and why the others gave nothing."""
        missing: dict[str, str] = {}
        wanted = []
        for contender in self.workload.contenders:
            if contender.only and case.name not in contender.only:
                continue
            if contender.peer in self.absent:
                missing[contender.name] = self.absent[contender.peer]
                continue
            reason = contender.needs()
            if reason:
                missing[contender.name] = reason
                continue
            wanted.append(contender)
        entered = self._open(case, wanted, missing)
        chosen = self._best_threads(case, entered, missing)
        return self._rounds(case, chosen, missing), missing

    def _counts(self, contender: Contender) -> list[int | None]:
        if contender.threads is not None:
            return [contender.threads]
        counts = peers.thread_counts(contender.peer, machine.cores())
        return counts if self.workload.try_threads and not self.quick else counts[-1:]

    def _open(
        self, case: Case, wanted: list[Contender], missing: dict[str, str]
    ) -> dict[str, list[Process]]:
        """Start and warm what is wanted, as many at a time as there are processors."""
        entered: dict[str, list[Process]] = {c.name: [] for c in wanted}

        def enter(contender: Contender, count: int | None) -> None:
            key = (contender.name, count)
            try:
                process = self.running.get(key)
                if process is None or process.child.poll() is not None:
                    process = Process(
                        self.workload, contender, count, self.log, self.cache)
                    self.running[key] = process
                    process.ready()
                process.open(case, self.quick)
                entered[contender.name].append(process)
            except Failed as failure:
                missing[contender.name] = f"failed: {failure}"

        with ThreadPoolExecutor(machine.cores()) as pool:
            for contender in wanted:
                for count in self._counts(contender):
                    pool.submit(enter, contender, count)
        for name, processes in entered.items():
            if processes:
                missing.pop(name, None)
        return entered

    def _units(self, case: Case, process: Process) -> int:
        if case.units is not None:
            return case.units
        seconds = min(case.seconds, 0.02) if self.quick else case.seconds
        return max(1, round(seconds / max(process.unit, 1e-9)))

    def _best_threads(
        self, case: Case, entered: dict[str, list[Process]], missing: dict[str, str]
    ) -> list[Process]:
        """For each contender the process with the number of threads that was fastest."""
        trials = [p for processes in entered.values() if len(processes) > 1 for p in processes]
        walls: dict[Process, list[float]] = {p: [] for p in trials}
        for _ in range(3):
            for process in trials:
                units = self._units(case, process)
                try:
                    walls[process].append(process.turn(units)["wall"] / units)
                except Failed as failure:
                    missing[process.contender.name] = f"failed: {failure}"
                    walls[process].append(float("inf"))
        chosen = []
        for processes in entered.values():
            if processes:
                chosen.append(min(processes, key=lambda p: sorted(walls.get(p, [0.0]))[
                    len(walls.get(p, [0.0])) // 2]))
        return chosen

    def _rounds(
        self, case: Case, chosen: list[Process], missing: dict[str, str]
    ) -> dict[str, Any]:
        samples: dict[str, Any] = {
            p.contender.name: {"threads": p.threads, "measures": {}, "note": p.contender.note}
            for p in chosen
        }
        # the first to take its turn changes from round to round
        rounds = 2 if self.quick else case.rounds
        ends = time.monotonic() + case.budget
        done = 0
        while chosen and done < rounds and (done < LEAST or time.monotonic() < ends):
            turn = done % len(chosen)
            for process in chosen[turn:] + chosen[:turn]:
                name = process.contender.name
                try:
                    answer = process.turn(self._units(case, process))
                except Failed as failure:
                    missing[name] = f"failed: {failure}"
                    samples.pop(name, None)
                    chosen = [p for p in chosen if p is not process]
                    continue
                measures = answer["measures"]
                samples[name].setdefault("forms", []).append(answer["form"])
                for measure, value in measures.items():
                    if value is not None:
                        samples[name]["measures"].setdefault(measure, []).append(value)
                ended = [m for m, value in measures.items() if value is None]
                if ended:
                    # another round would take as long again
                    samples[name]["ended"] = ended
                    chosen = [p for p in chosen if p is not process]
                # lets a pool that still spins come to rest
                time.sleep(0.002)
            done += 1
        return samples
