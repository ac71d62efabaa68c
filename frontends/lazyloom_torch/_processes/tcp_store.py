"""A key-value store over TCP: one process holds it, others ask."""

from __future__ import annotations

import socket
import struct
import threading
import time
from datetime import timedelta
from typing import Any, Final

from .errors import DistNetworkError, DistStoreError
from .stores import HashStore, Store, as_bytes, seconds_of

#: what can be asked, by number
_ASK, _SET, _ADD, _DELETE, _COMPARE, _APPEND, _COUNT, _LIST = range(8)
#: seconds that an answer may take beyond what was to be waited for
_SLACK: Final = 10.0
#: the most bytes of one message
_LARGEST: Final = 1 << 30


def _send(connection: socket.socket, parts: list[bytes]) -> None:
    lengths = struct.pack(f"<I{len(parts)}Q", len(parts), *map(len, parts))
    connection.sendall(lengths + b"".join(parts))


def _receive(connection: socket.socket) -> list[bytes]:
    (count,) = struct.unpack("<I", _exactly(connection, 4))
    if count > _LARGEST // 8:
        raise ConnectionError("what came is no message of a store")
    lengths = struct.unpack(f"<{count}Q", _exactly(connection, 8 * count))
    if sum(lengths) > _LARGEST:
        raise ConnectionError("what came is no message of a store")
    return [_exactly(connection, n) for n in lengths]


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        more = connection.recv(min(size - len(found), 1 << 20))
        if not more:
            raise ConnectionError("the other process has closed the connection")
        found += more
    return bytes(found)


class _Server:
    """Holds the data, and answers each connection in a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        try:
            self._listening = socket.create_server((host, port), backlog=512)
        except OSError as error:
            raise DistNetworkError(
                f"The server socket has failed to listen on {host}:{port}: {error.strerror}; "
                "another program may use that port: name another, or 0 for a free one") from error
        self.port: int = self._listening.getsockname()[1]
        self.data = HashStore()
        threading.Thread(target=self._accept, name="TCPStore", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return  # it was closed
            threading.Thread(
                target=self._serve, args=(connection,), name="TCPStore", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                try:
                    _send(connection, self._answer(_receive(connection)))
                except (OSError, ValueError, struct.error):
                    return

    def _answer(self, asked: list[bytes]) -> list[bytes]:
        what, key, data = asked[0][0], asked[1].decode(), self.data
        if what == _ASK:
            found = data._ask(key, float(asked[2]))
            return [] if found is None else [found]
        if what == _SET:
            data.set(key, asked[2])
        elif what == _ADD:
            return [str(data.add(key, int(asked[2]))).encode()]
        elif what == _DELETE:
            return [str(int(data.delete_key(key))).encode()]
        elif what == _COMPARE:
            return [data.compare_set(key, asked[2], asked[3])]
        elif what == _APPEND:
            data.append(key, asked[2])
        elif what == _COUNT:
            return [str(data.num_keys()).encode()]
        elif what == _LIST:
            return [k.encode() for k in data.list_keys()]
        return []

    def close(self) -> None:
        self._listening.close()


class TCPStore(Store):
    """A store that one process, the master, holds and serves from threads of its own.

    Args:
        host_name: the master's machine.
        port: where it listens; 0 for a free port, which :attr:`port` then is.
        world_size: how many processes will connect; None for any number.
        is_master: whether this process holds it.
        timeout: how long to wait for the master, for the other processes and for keys.
        wait_for_workers: whether the master waits until ``world_size`` processes have connected.

    Raises DistNetworkError if the port cannot be used or the master does not come,
    DistStoreError if processes do not.
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True,  # noqa: B008
        multi_tenant: bool = False, master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:
        super().__init__()
        seconds_of(timeout, "TCPStore")
        self._timeout = timeout
        if master_listen_fd is not None:
            raise NotImplementedError(
                "TCPStore: master_listen_fd is not supported; give a port, or 0 for a free one")
        self._server = _Server("", port) if is_master else None
        self.host = host_name
        self.port = port if self._server is None else self._server.port
        self._lock = threading.Lock()
        self._connection = self._connect(timeout.total_seconds())
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._join(world_size, timeout.total_seconds())

    def _connect(self, limit: float) -> socket.socket:
        end = time.monotonic() + limit
        host = "127.0.0.1" if self._server is not None else self.host
        while True:
            try:
                made = socket.create_connection(
                    (host, self.port), max(0.1, end - time.monotonic()))
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return made
            except OSError as error:
                if time.monotonic() >= end:
                    raise DistNetworkError(
                        f"The client socket has failed to connect to {self.host}:{self.port} in "
                        f"{limit:g} s ({error}): is the master started, and does it listen there?"
                    ) from error
                time.sleep(0.05)

    def _join(self, world_size: int, limit: float) -> None:
        """Count this process; the master waits until all have come."""
        come = self.add("init/", 1)
        if come == world_size:
            self.set("init/all", b"1")
        if self._server is not None and self._ask("init/all", limit) is None:
            raise DistStoreError(
                f"Timed out after {limit:g} seconds waiting for clients. "
                f"{self.add('init/', 0)}/{world_size} clients joined.")

    def _request(self, what: int, key: str, *more: bytes, waits: float = 0.0) -> list[bytes]:
        with self._lock:
            self._connection.settimeout(waits + _SLACK)
            try:
                _send(self._connection, [bytes([what]), key.encode(), *more])
                return _receive(self._connection)
            except OSError as error:
                raise DistNetworkError(
                    f"the store at {self.host}:{self.port} does not answer ({error}): its process "
                    "has ended, or cannot be reached") from error

    def _ask(self, key: str, seconds: float) -> bytes | None:
        found = self._request(_ASK, key, repr(float(seconds)).encode(), waits=seconds)
        return found[0] if found else None

    def set(self, key: str, value: str | bytes) -> None:
        self._request(_SET, key, as_bytes(value))

    def add(self, key: str, amount: int) -> int:
        return int(self._request(_ADD, key, str(int(amount)).encode())[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Put bytes at the end of a key's value."""
        self._request(_APPEND, key, as_bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """As :meth:`HashStore.compare_set`."""
        return self._request(_COMPARE, key, as_bytes(expected), as_bytes(desired))[0]

    def delete_key(self, key: str) -> bool:
        return self._request(_DELETE, key)[0] == b"1"

    def num_keys(self) -> int:
        return int(self._request(_COUNT, "")[0])

    def list_keys(self) -> list[str]:
        return [k.decode() for k in self._request(_LIST, "")]

    def clone(self) -> TCPStore:
        """Another connection to the same store."""
        return TCPStore(self.host, self.port, None, False, self._timeout)

    def __del__(self) -> None:
        for end in (self.__dict__.get("_connection"), self.__dict__.get("_server")):
            if end is not None:
                end.close()

    def __repr__(self) -> str:
        return f"TCPStore({self.host}:{self.port})"


def holds(store: Any) -> bool:
    """Whether this process holds the data of a store."""
    return isinstance(store, TCPStore) and store._server is not None
