"""A relay between jaxlib's client of the coordination service and the service.

The client asks the service to tell it of errors, and ends the process when it hears of one: when
the process with the service ends, for instance. A callback in Python cannot prevent that, as
jaxlib 0.10 cannot convert the error for it and ends the process for that reason. Behind the relay
the client never hears of the end of the service; it goes on waiting, and what became of the other
processes is learnt from the channel.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from typing import Any, Final

_SIZE: Final = 1 << 16


class Relay:
    """Passes on bytes between connections to :attr:`port` on this host, and a service.

    Attributes:
        port: where it listens.
    """

    def __init__(self, host: str, port: int) -> None:
        self._service: Final = (host, port)
        self._listener: Final = socket.create_server(("127.0.0.1", 0))
        self.port: Final[int] = self._listener.getsockname()[1]
        self._selector: Final = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        threading.Thread(target=self._run, name="lazyloom-relay", daemon=True).start()

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fd not in self._selector.get_map():
                    # its counterpart, an event before, closed it
                    continue
                if key.data is None:
                    self._accept()
                else:
                    self._pass_on(key.fileobj, key.data)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            service = socket.create_connection(self._service, timeout=10)
        except OSError:
            client.close()
            return
        service.settimeout(None)
        for a, b, of_service in ((client, service, False), (service, client, True)):
            with contextlib.suppress(OSError):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(a, selectors.EVENT_READ, (b, of_service))

    def _pass_on(self, source: Any, data: tuple[socket.socket, bool]) -> None:
        target, of_service = data
        try:
            received = source.recv(_SIZE)
        except OSError:
            received = b""
        if received:
            with contextlib.suppress(OSError):
                target.sendall(received)
            return
        self._selector.unregister(source)
        source.close()
        # the client's connection stays open when the service's ends
        if not of_service:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(target)
            target.close()
