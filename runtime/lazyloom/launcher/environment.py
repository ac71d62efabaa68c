"""What each process is told by environment variables, which are torchrun's."""

from __future__ import annotations

import os
import socket


class LaunchError(Exception):
    """A launch that cannot begin; the message says why, and what to do."""


def environments(
    processes: int, nodes: int, node: int, address: str, port: int
) -> dict[int, dict[str, str]]:
    """The environment of each process that this machine starts, by rank."""
    found = {}
    for local in range(processes):
        rank = node * processes + local
        found[rank] = {
            **os.environ,
            "RANK": str(rank), "WORLD_SIZE": str(nodes * processes),
            "LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(processes),
            "GROUP_RANK": str(node), "GROUP_WORLD_SIZE": str(nodes),
            "ROLE_NAME": "default", "ROLE_RANK": str(rank),
            "ROLE_WORLD_SIZE": str(nodes * processes),
            "MASTER_ADDR": address, "MASTER_PORT": str(port),
            # torchrun's launcher keeps a store at that port; here it is rank 0's own
            "TORCHELASTIC_USE_AGENT_STORE": "False",
            "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
        }
        if processes > 1:
            # each would use all cores
            found[rank].setdefault(
                "OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
            if rank:
                # all compile the same, and one says so
                found[rank].setdefault("LAZYLOOM_LOG", "0")
    return found


def own_address(address: str) -> bool:
    """Whether this machine has that address."""
    try:
        with _bound(address, 0):
            return True
    except OSError:
        return False


def free_port(address: str, port: int) -> int:
    """The port if it is free at an address of this machine; for 0 one that is.

    Raises LaunchError if it is in use, or not ours to use.
    """
    try:
        with _bound(address, port) as found:
            return int(found.getsockname()[1])
    except OSError as error:
        raise LaunchError(
            f"port {port} of {address} cannot be used ({error.strerror or error}): another program "
            "may be listening there; name another --master-port, or leave it out, and a free one "
            "is found") from None


def _bound(address: str, port: int) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    made = socket.socket(family, kind, protocol)
    try:
        # ports that were just left do not count as in use
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
    except OSError:
        made.close()
        raise
    return made
