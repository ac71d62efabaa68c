"""Previews: the programs that pending values would run, without running them."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ArgumentError, LoomError, reraised
from ..program.program import Program
from ..trace import graph
from ..trace.graph import FAILED, PENDING, Component, Node, Value
from . import collect


def programs_of(values: Iterable[Value]) -> tuple[list[Program], set[int]]:
    """The programs that evaluating these pending values would run, in order; runs none of them.

    Also returns the numbers of the programs that compute one of the values. Raises ArgumentError
    if none of the values is pending, and the error of a value that can only fail.
    """
    with graph.trace.lock:
        graph.drain()
        requested: set[Node] = set()
        components: dict[Component, None] = {}
        for value in values:
            c = graph.find(value.node) if value.node.state == PENDING else None
            if c is not None:
                requested.add(value.node)
                components[c] = None
        if not requested:
            raise ArgumentError(
                "program_of: none of the given values is pending; ask before they are read")
        programs: list[Program] = []
        computing: set[int] = set()
        seen: set[Component] = set()
        failed: dict[Node, LoomError] = {}
        preview = collect.Preview()
        for component in components:
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
                        if not requested.isdisjoint(runnable):
                            computing.add(len(programs))
                        programs.append(preview.program(runnable))
        if not computing:
            raise reraised(next(e for n, e in failed.items() if n in requested))
        return programs, computing


def _runnable(nodes: list[Node], failed: dict[Node, LoomError]) -> list[Node]:
    """The nodes that need nothing that has failed; the others are added to ``failed``."""
    runnable: list[Node] = []
    for n in nodes:
        errors = (m.error if m.state == FAILED else failed.get(m)
                  for m in n.inputs if isinstance(m, Node))
        error = next((e for e in errors if e is not None), None)
        if error is None:
            runnable.append(n)
        else:
            failed[n] = error
    return runnable
