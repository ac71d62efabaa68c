"""What processes print: passed on in whole lines, with a tag where asked, the last ones kept."""

from __future__ import annotations

import os
from collections import deque
from typing import Final

#: lines of a dead process's stderr that are said again, and the bytes of one of them
_KEPT: Final = 20
_LONGEST: Final = 2000
#: bytes that are read at once
_CHUNK: Final = 1 << 16


class Forwarded:
    """One stream of a process, passed on: the reading end of its pipe, and where its lines go.

    Attributes:
        reading: the file descriptor of the pipe; -1 once it is closed.
    """

    def __init__(self, reading: int, to: int, tag: str) -> None:
        self.reading = reading
        self._to = to
        self._tag = tag.encode()
        self._begun = b""
        self._last: deque[bytes] = deque(maxlen=_KEPT)
        os.set_blocking(reading, False)

    @property
    def waiting(self) -> bool:
        """Whether a line was begun that has no end yet."""
        return bool(self._begun)

    def pump(self) -> bool:
        """Pass on what has come, whole lines; whether the stream goes on."""
        if self.reading < 0:
            return False
        try:
            found = os.read(self.reading, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            found = b""
        if not found:
            self.flush()
            self.close()
            return False
        # a bar of progress ends its lines by going back to where they begin
        text = self._begun + found
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        whole, self._begun = text[:end], text[end:]
        return self._pass_on(whole)

    def drain(self) -> None:
        """Pass on what a process that is gone has left in the pipe.

        Others whom it started may keep the pipe open: so no end of the stream is waited for.
        """
        while self.reading >= 0:
            try:
                found = os.read(self.reading, _CHUNK)
            except OSError:
                break
            if not found:
                break
            self._begun += found
        self.flush()

    def flush(self) -> None:
        """Pass on the begun line as it is."""
        begun, self._begun = self._begun, b""
        self._pass_on(begun if begun.endswith((b"\n", b"\r")) or not self._tag else
                      begun + b"\n" if begun else b"")

    def last_lines(self) -> list[str]:
        """The last lines that came."""
        return [line[:_LONGEST].decode(errors="replace") for line in self._last]

    def close(self) -> None:
        if self.reading >= 0:
            os.close(self.reading)
            self.reading = -1

    def _pass_on(self, text: bytes) -> bool:
        if not text:
            return True
        lines = text.splitlines(keepends=True)
        self._last.extend(line.rstrip(b"\r\n") for line in lines if line.strip())
        if self._tag:
            text = b"".join(self._tag + line for line in lines)
        try:
            while text:
                text = text[os.write(self._to, text):]
        except OSError:
            # nobody reads on: let the process learn that as it would without the launcher
            self.close()
            return False
        return True
