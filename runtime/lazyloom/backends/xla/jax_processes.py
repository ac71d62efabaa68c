"""What is private to JAX and jaxlib about several processes: coordination service and its client.

JAX's own client of XLA becomes one of several processes: whatever else the program does with JAX
then works on the same arrays. ``jax.distributed.initialize`` would do the same, but it takes
SIGTERM for itself, ends the process when another one ends, and has no say in how long it waits; so
the state that it would fill is filled here, before JAX starts its client.
"""

from __future__ import annotations

import ctypes
import json
from typing import Any

from ...jaxprs.tracing import load, x64
from . import jax_compat

#: seconds between signs of life that jaxlib asks for; ours are asked for more often, and name ranks
_NEVER = 10_000_000


class Service:
    """jaxlib's coordination service, which runs in the process of rank 0.

    It ends with the process: where it is taken apart earlier, it tells its clients, and jaxlib ends
    their processes. Raises OSError if the port is in use.
    """

    def __init__(self, address: str, world: int, timeout: float) -> None:
        load()
        from jaxlib import _jax

        try:
            self._service: Any = _jax.get_distributed_runtime_service(
                address, world, heartbeat_timeout=_NEVER, cluster_register_timeout=_ceil(timeout),
                shutdown_timeout=_ceil(timeout))
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._service))

    def shutdown(self) -> None:
        """End the service, after all clients have left it."""
        self._service.shutdown()


class Coordination:
    """A client of the coordination service: a store of texts by key, shared by all processes."""

    def __init__(self, address: str, rank: int, timeout: float) -> None:
        load()
        from jaxlib import _jax

        # A callback for errors of the service is of no use: jaxlib 0.10 cannot convert the error
        # for a function in Python, and ends the process. The address is that of a relay instead,
        # through which the client hears of none (lazyloom.distributed.relay).
        self._client: Any = _jax.get_distributed_runtime_client(
            address, rank, init_timeout=_ceil(timeout), shutdown_timeout=_ceil(timeout),
            heartbeat_timeout=_NEVER, shutdown_on_destruction=False, use_compression=False)
        self._client.connect()

    def join(self, rank: int, world: int, waiting: Any, running: Any) -> str:
        """Start JAX's client of XLA as one of several processes; returns what devices there are.

        Every process does this at the same time. For the functions see :func:`jax_compat.join`.
        """
        from jax._src import distributed

        state = distributed.global_state
        state.client = self._client
        state.process_id = rank
        state.num_processes = world
        jax_compat.join(waiting, running)
        import jax

        with x64():
            jax_compat.client()
            return json.dumps([str(d) for d in jax.devices()])

    def set(self, key: str, value: str, overwrite: bool = True) -> None:
        """Set the text of a key."""
        self._client.key_value_set(key, value, allow_overwrite=overwrite)

    def get(self, key: str, timeout: float) -> str | None:
        """Return the text of a key, once it is set; None if it is not within ``timeout`` seconds.
        """
        try:
            if timeout <= 0:
                return str(self._client.key_value_try_get(key))
            return str(self._client.blocking_key_value_get(key, max(1, int(timeout * 1e3))))
        except Exception as error:
            text = str(error)
            if "DEADLINE_EXCEEDED" in text or "NOT_FOUND" in text:
                return None
            raise

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 at first, and return the sum."""
        return int(self._client.key_value_increment(key, amount))

    def delete(self, key: str) -> None:
        """Remove a key."""
        self._client.key_value_delete(key)

    def shutdown(self) -> None:
        """Leave the service; every process does this at the same time."""
        self._client.shutdown()

    def keep_client(self) -> None:
        """Let XLA's client outlive the interpreter.

        After a failure its threads may wait in a collective for a process that is stopped, and the
        client's end waits for its threads.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(jax_compat.client()))


def started() -> bool:
    """Return True if XLA's client has been started already, as one process."""
    return jax_compat.started()


def _ceil(seconds: float) -> int:
    return max(1, int(seconds) + 1)
