"""Where processes meet: from environment variables, an address, a file or a store."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlparse

from .errors import DistStoreError

_KEY: Final = "lazyloom/address"


@dataclass(frozen=True)
class Place:
    """Where processes meet, and which of how many this one is."""

    host: str
    port: int
    world_size: int
    rank: int


def found(init_method: str | None, store: Any, world_size: int, rank: int,
          seconds: float) -> Place:  # fmt: skip
    """The place that the arguments of ``init_process_group`` mean.

    Raises ValueError if a part of it is not said, DistStoreError if rank 0 does not say it in time.
    """
    if store is not None:
        _check(world_size, rank, "store")
        return _by_store(store, world_size, rank)
    url = urlparse(init_method or "env://")
    asked = {name: values[0] for name, values in parse_qs(url.query).items()}
    size = int(asked.get("world_size", world_size))
    own = int(asked.get("rank", rank))
    if url.scheme == "env":
        own = own if own >= 0 else int(_variable("RANK"))
        size = size if size >= 0 else int(_variable("WORLD_SIZE"))
        place = Place(_variable("MASTER_ADDR"), _port(), size, own)
    elif url.scheme == "tcp":
        if not url.hostname or url.port is None:
            raise ValueError(
                f"Error initializing torch.distributed using {init_method}: expected "
                "tcp://host:port")
        place = Place(url.hostname, url.port, size, own)
    elif url.scheme == "file":
        _check(size, own, "file://")
        return _by_file(os.path.join(url.netloc + url.path), size, own, seconds)
    else:
        raise RuntimeError(
            f"No rendezvous handler for {url.scheme}://; expected env://, tcp://host:port or "
            "file://path")
    _check(place.world_size, place.rank, f"{url.scheme}://")
    return place


def _check(world_size: int, rank: int, method: str) -> None:
    for name, value in (("world_size", world_size), ("rank", rank)):
        if value < 0:
            raise ValueError(
                f"Error initializing torch.distributed using {method} rendezvous: {name} is not "
                "said; give it to init_process_group")
    if world_size < 1 or rank >= world_size:
        raise ValueError(
            f"init_process_group: rank is {rank} and world_size {world_size}, expected a rank of 0 "
            "to world_size - 1")


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set; start the program with python -m lazyloom run or "
            "torchrun, which set it")
    return value


def _port() -> int:
    """The port of ``MASTER_PORT``, or the next one where torchrun keeps a store of its own there.
    """
    port = int(_variable("MASTER_PORT"))
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return port
    return port + 1 if port < 65535 else port - 1


def _own_place(world_size: int, host: str) -> Place:
    """A free port of this machine, for rank 0."""
    with socket.create_server(("", 0)) as probe:
        return Place(host, probe.getsockname()[1], world_size, 0)


def _by_store(store: Any, world_size: int, rank: int) -> Place:
    if rank == 0:
        place = _own_place(world_size, getattr(store, "host", "127.0.0.1"))
        store.set(_KEY, f"{place.host}:{place.port}")
        return place
    host, _, port = store.get(_KEY).decode().rpartition(":")
    return Place(host, int(port), world_size, rank)


def _by_file(path: str, world_size: int, rank: int, seconds: float) -> Place:
    if rank == 0:
        place = _own_place(world_size, "127.0.0.1" if world_size == 1 else _reachable())
        folder, name = os.path.split(os.path.abspath(path))
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=name, delete=False) as new:
            new.write(f"{place.host}:{place.port}")
        os.replace(new.name, path)  # whole, whenever others look
        return place
    end = time.monotonic() + seconds
    while True:
        try:
            with open(path) as file:
                host, _, port = file.read().rpartition(":")
            if port:
                return Place(host, int(port), world_size, rank)
        except FileNotFoundError:
            pass
        if time.monotonic() > end:
            raise DistStoreError(
                f"rank 0 did not write its address into {path} in {seconds:g} s: is it started, "
                "and does it see the same file?")
        time.sleep(0.02)


def _reachable() -> str:
    """An address of this machine for other processes."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
