"""Frames of the base protocol on byte streams, tolerant of everything a broken client can send."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

logger = logging.getLogger(__name__)

LARGEST_BODY = 256 << 20
_LONGEST_HEADER = 1 << 16
_CHUNK = 1 << 16


def frames(stream: BinaryIO) -> Iterator[bytes]:
    """The bodies of well-formed frames until the stream ends.

    Lines that are no header are skipped, a frame without a usable ``Content-Length`` is dropped, and a
    body over `LARGEST_BODY` bytes is read past. A stream that ends inside a frame ends the iteration.
    """
    length: int | None = None
    while True:
        line = stream.readline(_LONGEST_HEADER)
        if not line:
            return
        if line.strip():
            found = _content_length(line)
            length = found if found is not None else length
            continue
        if length is None:
            continue
        wanted, length = length, None
        if wanted > LARGEST_BODY:
            logger.error("a message of %d bytes was skipped", wanted)
            if not _skip(stream, wanted):
                return
            continue
        body = stream.read(wanted)
        if len(body) < wanted:
            return
        yield body


def _content_length(line: bytes) -> int | None:
    name, colon, value = line.partition(b":")
    if not colon or name.strip().lower() != b"content-length":
        if not colon or name.strip().lower() != b"content-type":
            logger.warning("not a header: %r", line[:80])
        return None
    digits = value.strip()
    if not digits.isdigit() or len(digits) > 15:
        logger.warning("not a length: %r", line[:80])
        return None
    return int(digits)


def _skip(stream: BinaryIO, count: int) -> bool:
    while count > 0:
        data = stream.read(min(count, _CHUNK))
        if not data:
            return False
        count -= len(data)
    return True


def frame(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class ReaderThread(threading.Thread):
    """Reads frames and hands each to `deliver`, then calls `ended`; both run in this thread.

    A thread of its own, so that no pool that other work shares can keep the server from hearing.
    """

    def __init__(self, stream: BinaryIO, deliver: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        super().__init__(name="ferrodiff-reader", daemon=True)
        self._stream = stream
        self._deliver = deliver
        self._ended = ended

    def run(self) -> None:
        try:
            for body in frames(self._stream):
                self._deliver(body)
        except (OSError, ValueError, RuntimeError) as error:
            logger.warning("the client's stream broke: %s", error)
        finally:
            self._ended()
