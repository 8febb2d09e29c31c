"""Starts the server quickly and on clean streams."""

from __future__ import annotations

import gc
import logging
import os
import sys
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer
    from ferrodiff.server.lsp.codecache import CodeCache

_SETTLE_SECONDS = 0.5
_FORMAT = "%(levelname)s %(name)s: %(message)s"


def serve(tcp: int | None, host: str, log: str | None) -> int:
    """Builds the server and serves one client; returns the exit code."""
    _start_log(log)
    # Thousands of objects are made that live as long as the process: collecting among them is wasted time.
    gc.disable()
    from ferrodiff.server.lsp.codecache import CodeCache, generated_code

    cache = CodeCache()
    with generated_code(cache):
        server = build()
        incoming, outgoing = _standard_streams() if tcp is None else _accept(host, tcp)
        import asyncio

        # Soon after the first reply, when the client is busy with it.
        server.on_initialize.append(lambda: _later(cache))
        return asyncio.run(server.converse(incoming, outgoing))


def build() -> FerrodiffServer:
    """A server with every feature registered."""
    from ferrodiff.server.lsp.app import FerrodiffServer
    from ferrodiff.server.lsp.features import register_all

    server = FerrodiffServer()
    register_all(server)
    return server


def _later(cache: CodeCache) -> None:
    import asyncio

    asyncio.get_running_loop().call_later(_SETTLE_SECONDS, _settle, cache)


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
    logging.getLogger("pygls").setLevel(max(known, logging.ERROR) if known >= logging.WARNING else known)
    logging.basicConfig(handlers=[handler], level=known, format=_FORMAT)


def _accept(host: str, port: int) -> tuple[BinaryIO, BinaryIO]:
    import socket

    with socket.create_server((host, port)) as listener:
        print(f"ferrodiff: listening on {host}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
        connection, _ = listener.accept()
    return connection.makefile("rb"), connection.makefile("wb")
