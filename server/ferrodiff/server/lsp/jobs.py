"""Child processes for heavy work: rustc, LLVM and user code never run in the server.

A job has its own session. Ending it ends every process it started, also those that moved into a session
of their own (the run worker's programs do).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_GRACE_SECONDS = 0.3
LARGEST_OUTPUT = 64 << 20


@dataclass(frozen=True, slots=True)
class Finished:
    """How a job ended. `code` is negative for a signal."""

    code: int
    stdout: str
    stderr: str
    cancelled: bool = False
    timed_out: bool = False


async def run_job(
    arguments: Sequence[str],
    text: bytes = b"",
    *,
    program: Sequence[str] = (sys.executable, "-m", "ferrodiff.server"),
    timeout: float,
    cancelled: asyncio.Event | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Runs ``ferrodiff ARGUMENTS`` until it ends, `timeout` seconds pass or `cancelled` is set.

    `text` is its standard input. A cancelled task ends the child too. Of its output the first
    `LARGEST_OUTPUT` bytes are kept.
    """
    process = await asyncio.create_subprocess_exec(
        *program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        close_fds=True,
        limit=1 << 16,
        env={**os.environ, "NO_COLOR": "1", **(environment or {})},
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    reading = asyncio.gather(_read(process.stdout), _read(process.stderr), _feed(process.stdin, text))
    stop = asyncio.ensure_future(cancelled.wait()) if cancelled is not None else None
    try:
        waiting: set[asyncio.Future[object]] = {asyncio.ensure_future(_settled(reading))}
        if stop is not None:
            waiting.add(stop)  # type: ignore[arg-type]
        done, _ = await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        was_cancelled = stop is not None and stop in done
        if not done or was_cancelled:
            await _end(process)
        out, err, _ = await reading
        await process.wait()
        return Finished(process.returncode or 0, _text(out), _text(err), was_cancelled, not done)
    except BaseException:
        await asyncio.shield(_end(process))
        raise
    finally:
        if stop is not None:
            stop.cancel()
        reading.cancel()


async def _settled(reading: asyncio.Future[tuple[bytes, bytes, None]]) -> None:
    with contextlib.suppress(Exception):
        await asyncio.shield(reading)


async def _read(stream: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while chunk := await stream.read(1 << 16):
        if len(data) < LARGEST_OUTPUT:
            data += chunk
    return bytes(data)


async def _feed(stream: asyncio.StreamWriter, text: bytes) -> None:
    """A child that ends without reading everything is no error here."""
    with contextlib.suppress(OSError):
        stream.write(text)
        await stream.drain()
    stream.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Interrupts the job so that it can clean up, then kills what is left of it and its descendants."""
    family = descendants(process.pid)
    _signal(process.pid, signal.SIGINT)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
    for pid in [process.pid, *family, *descendants(process.pid)]:
        _signal(pid, signal.SIGKILL)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), 5.0)


def _signal(pid: int, number: int) -> None:
    """Signals the process and, if it leads one, its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    """The processes that `pid` started, directly or not; empty where `/proc` does not exist."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and (parent := _parent(name)) is not None:
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.append(child)
            waiting.append(child)
    return found


def _parent(name: str) -> int | None:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            # The command's name may hold spaces and parentheses; fields start after the last one.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
