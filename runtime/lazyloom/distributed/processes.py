"""The processes that run together: how they begin, and how they end."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import sys
import time
from typing import Any, Final

from ..backends.selection import backend
from ..errors import ArgumentError, DistributedError
from ..hooks import hooks
from .channel import Channel, Lines, connect, gather, listen
from .relay import Relay
from .together import Together

#: seconds for which rank 0, which passes messages on, waits for the others when it ends
_LAST: Final = 5.0


class _Processes:
    """What is so after :func:`init`."""

    def __init__(self, arguments: tuple[Any, ...], rank: int, world: int) -> None:
        self.arguments: Final = arguments
        self.rank: Final = rank
        self.world: Final = world
        self.together: Together | None = None
        self.coordination: Any = None
        self.service: Any = None


_current: _Processes | None = None
#: XLA's client was started as one of several processes, which cannot be undone
_joined = False


def _number(name: str, given: Any) -> int | None:
    if given is not None:
        return int(given)
    text = os.environ.get(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f"init: {name} is {text!r}, expected an integer") from None


def _arguments(
    address: str | None, world_size: int | None, rank: int | None
) -> tuple[str, int, int, int]:
    """Host, port, world size and rank, from arguments or the environment."""
    world = _number("WORLD_SIZE", world_size)
    me = _number("RANK", rank)
    if world is None and me is None and address is None:
        return "", 0, 1, 0
    world = 1 if world is None else world
    if world < 1:
        raise ArgumentError(f"init: the world size is {world}, expected 1 or more")
    if me is None and world > 1:
        raise ArgumentError(
            f"init: the rank of this process among {world} is not given; set RANK, or pass rank")
    me = me or 0
    if not 0 <= me < world:
        raise ArgumentError(
            f"init: the rank is {me}, expected 0 to {world - 1} in a world of {world}")
    if world == 1:
        return "", 0, 1, 0
    if address is not None:
        host, colon, text = address.rpartition(":")
        if not colon or not text.isdigit():
            raise ArgumentError(
                f"init: the address is {address!r}, expected 'host:port' of rank 0")
        return host.strip("[]"), int(text), world, me
    place = os.environ.get("MASTER_ADDR")
    port = _number("MASTER_PORT", None)
    if not place or port is None:
        raise ArgumentError(
            "init: where rank 0 is to be found is not given; set MASTER_ADDR and MASTER_PORT, or "
            "pass address='host:port'")
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        # torchrun itself listens at the port
        port = port + 1 if port < 65535 else port - 1
    return place, port, world, me


def init(
    address: str | None = None, world_size: int | None = None, rank: int | None = None, *,
    timeout: float = 300.0, silence: float = 15.0,
) -> None:
    """Make this process one of several that run collectives together.

    Every process calls it, before anything is computed. Arguments that are not given come from the
    environment as torchrun sets it; where that says nothing either, the process is alone.

    Args:
        address: "host:port" of rank 0; MASTER_ADDR and MASTER_PORT.
        world_size: how many processes there are; WORLD_SIZE.
        rank: the number of this one, from 0; RANK.
        timeout: seconds for which a process waits for others: here, and where a program with
            collectives is about to run for the first time.
        silence: seconds after which a process that gives no sign of life counts as stopped.

    Raises:
        ArgumentError: an argument is missing or makes no sense.
        DistributedError: the processes did not come together, for the reason that it names; or
            XLA has been started already.
    """
    global _current
    host, port, world, me = _arguments(address, world_size, rank)
    given = (host, port, world, me)
    if _current is not None:
        if _current.arguments == given:
            return
        raise DistributedError(
            f"init: this process is rank {_current.rank} of {_current.world} already; call "
            "shutdown() first")
    if world == 1:
        _current = _Processes(given, 0, 1)
        return
    from ..backends.xla import jax_processes

    if backend().name != "xla":
        raise DistributedError(
            f"init: several processes run together on the backend xla, and {backend().name} is in "
            "use; unset LAZYLOOM_BACKEND")
    if _joined or jax_processes.started():
        raise DistributedError(
            "init: XLA has been started in this process, which cannot join others any more; call "
            "init() first, before anything is computed, and only once in a process")
    _current = _meet(given, host, port, world, me, timeout, silence)


def _meet(
    given: tuple[Any, ...], host: str, port: int, world: int, me: int, timeout: float,
    silence: float,
) -> _Processes:
    global _joined
    from ..backends.xla import jax_processes

    deadline = time.monotonic() + timeout
    current = _Processes(given, me, world)
    peers: dict[int, Lines]
    if me == 0:
        listener = listen(host, port)
        own = listener.getsockname()[0]
        peers = gather(listener, world, deadline, timeout)
        current.service, coordinator = _service(own, world, timeout)
        for lines in peers.values():
            lines.socket.settimeout(None)
            lines.send({"port": coordinator, "timeout": timeout, "silence": silence})
    else:
        lines, said = connect(host, port, me, world, deadline, timeout)
        lines.socket.settimeout(None)
        peers = {0: lines}
        coordinator = said["port"]
        silence = said["silence"]
    together = current.together = Together(me, world, timeout)
    channel = together.channel = Channel(
        me, world, peers, silence, together.on_message, together.on_end, together.state)
    channel.start()
    try:
        relay = Relay(host, coordinator)
        current.coordination = jax_processes.Coordination(
            f"127.0.0.1:{relay.port}", me, timeout)
        everybody = tuple(range(world))
        together.barrier(everybody, timeout)
        _joined = True
        current.coordination.join(me, world, together.wait, together.run)
        together.barrier(everybody, timeout)
    except DistributedError:
        channel.close()
        raise
    except Exception as error:
        raise together.fail(
            f"init: rank {me} could not begin: {type(error).__name__}: {error}") from error
    hooks.together = together
    # the last to be called, also where the connections were ended before
    atexit.register(_leave_if_stuck, together, current.coordination)
    atexit.register(_at_exit)
    return current


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _service(host: str, world: int, timeout: float) -> tuple[Any, int]:
    """The coordination service at a free port."""
    from ..backends.xla import jax_processes

    why: OSError | None = None
    for _ in range(10):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
            port: int = probe.getsockname()[1]
        try:
            return jax_processes.Service(f"{_bracketed(host)}:{port}", world, timeout), port
        except OSError as error:
            why = error
    raise DistributedError(f"init: rank 0 could not start the coordination service: {why}")


def is_initialized() -> bool:
    """Return True after :func:`init`, also where the process is alone."""
    return _current is not None


def rank() -> int:
    """The number of this process; 0 where it is alone."""
    return 0 if _current is None else _current.rank


def world_size() -> int:
    """How many processes there are; 1 where this one is alone."""
    return 1 if _current is None else _current.world


def together() -> Together | None:
    """The processes that run collectives with this one; None where it is alone."""
    return None if _current is None else _current.together


def coordination() -> Any:
    """The client of the coordination service; None where the process is alone."""
    return None if _current is None else _current.coordination


def shutdown() -> None:
    """End the connections to the other processes, when all of them have come here.

    What was computed can be read afterwards; :func:`init` cannot be called again in this process if
    there were others.
    """
    global _current
    current, _current = _current, None
    if current is None or current.together is None:
        return
    together = current.together
    channel = together.channel
    assert channel is not None
    clean = False
    try:
        if together.failure is None:
            together.finish()
            together.barrier(tuple(range(current.world)), None)
            channel.goodbye()
            current.coordination.shutdown()
            clean = True
    finally:
        _close(current, clean)


def _close(current: _Processes, clean: bool) -> None:
    atexit.unregister(_at_exit)
    together = current.together
    assert together is not None and together.channel is not None
    channel = together.channel
    if current.rank == 0:
        deadline = time.monotonic() + (_LAST if together.failure is None else 0.5)
        while len(channel.ended) < current.world - 1 and time.monotonic() < deadline:
            time.sleep(0.005)
    channel.close()
    if current.service is not None and clean:
        with contextlib.suppress(Exception):
            current.service.shutdown()


def _at_exit() -> None:
    """Tell the others that this process ends, if :func:`shutdown` was not called."""
    global _current
    current, _current = _current, None
    if current is None or current.together is None:
        return
    assert current.together.channel is not None
    current.together.channel.goodbye()
    _close(current, False)


def _leave_if_stuck(together: Together, coordination: Any) -> None:
    """End the process at once, with status 1, if a thread of it is inside XLA or a failure unheard.

    A thread is there while it waits or compiles.
    """
    if together.failure is not None:
        coordination.keep_client()
    if together.unheard or together.stuck():
        # a thread would come back from XLA while the interpreter is taken apart, and end in SIGABRT
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
