"""Starts the server quickly and on clean streams."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from ferrodiff.server.lsp.codecache import CodeCache

_SETTLE_SECONDS = 0.5
_FORMAT = "%(levelname)s %(name)s: %(message)s"


def serve(tcp: int | None, host: str, log: str | None) -> int:
    """Builds the server and serves one client; returns the exit code."""
    _start_log(log)
    # Thousands of objects are made that live as long as the process: collecting among them is wasted time.
    gc.disable()
    from ferrodiff.server.lsp.codecache import CodeCache, written_code

    cache = CodeCache()
    with _without("ssl"), written_code(cache):
        import asyncio

        from ferrodiff.server.lsp.app import FerrodiffServer

    server = FerrodiffServer()
    server.register_all()
    incoming, outgoing = _standard_streams() if tcp is None else _accept(host, tcp)
    # When the client is busy with what it was told first.
    server.on_initialized.append(lambda: _later(lambda: _settle(cache)))
    code = asyncio.run(server.converse(incoming, outgoing))
    cache.finish()
    return code


@contextlib.contextmanager
def _without(module: str) -> Iterator[None]:
    """While this is open `module` cannot be imported: asyncio loads TLS, and does without where it is missing."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


def _later(work: Callable[[], None]) -> None:
    import asyncio

    asyncio.get_running_loop().call_later(_SETTLE_SECONDS, work)


def _settle(cache: CodeCache) -> None:
    """After the first exchange: give memory back and let the collector run again."""
    cache.finish()
    gc.collect()
    gc.freeze()
    gc.enable()


def _standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Private duplicates of stdin and stdout; a stray `print` anywhere goes to stderr afterwards."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return incoming, outgoing


def _start_log(file: str | None) -> None:
    level = os.environ.get("FERRODIFF_LOG", "WARNING").upper()
    known = logging.getLevelNamesMapping().get(level, logging.WARNING)
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        try:
            handler = logging.FileHandler(file, encoding="utf-8")
        except OSError as error:
            print(f"ferrodiff: cannot write the log: {error}", file=sys.stderr)
    logging.basicConfig(handlers=[handler], level=known, format=_FORMAT)


def _accept(host: str, port: int) -> tuple[BinaryIO, BinaryIO]:
    import socket

    with socket.create_server((host, port)) as listener:
        print(f"ferrodiff: listening on {host}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
        connection, _ = listener.accept()
    return connection.makefile("rb"), connection.makefile("wb")
