"""Previews: the programs that pending values would run, without a run."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ArgumentError, LoomError, reraised
from ..program.program import Program
from ..trace import graph
from ..trace.graph import FAILED, PENDING, Component, Node, Value
from . import collect


def programs_of(values: Iterable[Value]) -> tuple[list[Program], set[int]]:
    """The programs that evaluating these pending values would run, in order; runs none of them.

    Also the numbers of those that compute one of the values. Raises ArgumentError if none of the
    values is pending, and the error of one that can only fail.
    """
    with graph.trace.lock:
        graph.drain()
        asked: set[Node] = set()
        found: dict[Component, None] = {}
        for value in values:
            c = graph.find(value.node) if value.node.state == PENDING else None
            if c is not None:
                asked.add(value.node)
                found[c] = None
        if not asked:
            raise ArgumentError(
                "program_of: none of the given values is pending; ask before they are read")
        programs: list[Program] = []
        computing: set[int] = set()
        seen: set[Component] = set()
        failed: dict[Node, LoomError] = {}
        preview = collect.Preview()
        for component in found:
            for together in collect.in_dependency_order(component):
                if together[0] in seen:
                    continue
                seen.update(together)
                nodes = [n for c in together for n in collect.pending_in(c)]
                if len(together) > 1:
                    nodes.sort(key=graph.by_sequence)
                for group in collect.groups(nodes):
                    runnable = _runnable(group, failed)
                    if runnable:
                        if not asked.isdisjoint(runnable):
                            computing.add(len(programs))
                        programs.append(preview.program(runnable))
        if not computing:
            raise reraised(next(e for n, e in failed.items() if n in asked))
        return programs, computing


def _runnable(nodes: list[Node], failed: dict[Node, LoomError]) -> list[Node]:
    """Those of the nodes that need nothing that has failed; the others are added to ``failed``."""
    found: list[Node] = []
    for n in nodes:
        errors = (m.error if m.state == FAILED else failed.get(m)
                  for m in n.inputs if isinstance(m, Node))
        error = next((e for e in errors if e is not None), None)
        if error is None:
            found.append(n)
        else:
            failed[n] = error
    return found
