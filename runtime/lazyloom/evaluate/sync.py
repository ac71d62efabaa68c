"""Syncs: dispatching pending work without reading it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from threading import get_ident

from ..backends.selection import backend
from ..interrupts import reraise_from_handler
from ..trace import graph
from ..trace.graph import PENDING, Component, Value
from ..trace.matching.match import matching
from ..trace.source import user_site
from .evaluate import evaluate, evaluate_component
from .failures import read_error
from .matching import ending_of
from .reading import held_back, materialize


def sync_older(sequence: int) -> None:
    """Dispatch the pending work that this thread began up to an op's number.

    Leaves other threads' work alone: how far they are would decide what is one program.
    """
    me = get_ident()
    if me in held_back:
        return
    older: list[Component] = []
    with graph.trace.lock:
        graph.drain()
        for component in _components(sequence):
            if component.thread == me:
                for n in component.nodes:
                    if n.state == PENDING:
                        if n.seq <= sequence:
                            older.append(component)
                        break
    for component in older:
        evaluate_component(component, "sync")


def _components(sequence: int) -> list[Component]:
    """The components of pending work, oldest first; the caller holds the lock.

    Settles matches that do not end here, if they began up to that number.
    """
    for match in list(matching.matches):
        if match.nodes[0].seq <= sequence and ending_of(match) is None:
            match.settle()
    return graph.oldest_first()


def sync(values: Iterable[Value] | None, wait: bool, reason: str = "sync") -> None:
    """Dispatch the pending work of some values, or all pending work; wait for it if ``wait``."""
    if held_back and not wait and get_ident() in held_back:
        return
    site = user_site()
    if values is None:
        while True:
            with graph.trace.lock:
                graph.drain()
                components = _components(graph.trace.sequence)
            if not components:
                if wait:
                    backend().wait_for_all()
                return
            for component in components:
                evaluate_component(component, reason, site)
    else:
        graph.check_process()
        chosen = list(values)
        for value in chosen:
            if value.node.state == PENDING:
                evaluate(value.node, reason, site)
        if wait:
            for value in chosen:
                buffer = materialize(value, reason, site)
                if buffer.array is not None:
                    started = time.perf_counter()
                    try:
                        backend().wait(buffer.array)
                    except Exception as error:
                        reraise_from_handler(error)
                        raise read_error(value, buffer, error) from error
                    if buffer.origin is not None:
                        buffer.origin.waited(time.perf_counter() - started)
