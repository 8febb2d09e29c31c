"""Runs compiled user code in a supervised child process.

The child has its own session and process group, no inherited descriptors, a limit on its address
space, on processor time and on wall time, and its output is bounded. Whatever it does, the caller gets
a `Result`; a crash, a signal from outside, a time-out, exhausted memory, a panic and
a failing exit code are told apart.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

MEBIBYTE = 1 << 20
_GRACE = 0.25
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that a program does not get for what it did."""
_CHUNK = 1 << 16

# The shell sets the limits and is replaced by the program: a `preexec_fn` could deadlock a process
# with threads, which the language server is.
_LIMITER = 'ulimit -c 0; ulimit -v "$1"; ulimit -t "$2"; shift 2; exec "$@"'


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` of wall time (and, rounded up, of processor time), bytes of `memory` and of `output`."""

    seconds: float = 10.0
    memory: int = 2048 * MEBIBYTE
    output: int = 16 * MEBIBYTE


class Outcome(Enum):
    """How a run ended."""

    OK = "ok"
    EXIT = "exit"
    PANIC = "panic"
    CRASH = "crash"
    KILLED = "killed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    TOO_MUCH_OUTPUT = "too much output"
    CANCELLED = "cancelled"
    NOT_STARTED = "not started"


@dataclass(frozen=True, slots=True)
class Result:
    """What a run did. `code` is the exit code, or minus the signal's number."""

    outcome: Outcome
    code: int
    stdout: str
    stderr: str
    seconds: float
    limits: Limits

    @property
    def ok(self) -> bool:
        return self.outcome is Outcome.OK

    @property
    def sentence(self) -> str:
        """The outcome as one sentence for the user."""
        return _SENTENCES[self.outcome](self)


class Run:
    """One running child. `wait` may be called once, `cancel` from any thread at any time."""

    def __init__(self, command: Sequence[str], limits: Limits, environment: Mapping[str, str] | None) -> None:
        self.limits = limits
        self._cancelled = threading.Event()
        self._started = time.monotonic()
        self._failure = ""
        self._process: subprocess.Popen[bytes] | None = None
        words = ["/bin/sh", "-c", _LIMITER, "sh", str(limits.memory // 1024), str(int(limits.seconds) + 1)]
        try:
            self._process = subprocess.Popen(
                [*words, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                close_fds=True,
                env=dict(environment) if environment is not None else None,
            )
        except OSError as error:
            self._failure = str(error)

    @property
    def pid(self) -> int | None:
        """The child's process id, which is also its group's."""
        return self._process.pid if self._process is not None else None

    def cancel(self) -> None:
        """Ends the child and everything in its group."""
        self._cancelled.set()
        self._kill()

    def wait(self) -> Result:
        """Waits for the end, enforcing the limits."""
        process = self._process
        if process is None:
            return self._result(Outcome.NOT_STARTED, 127, b"", self._failure.encode())
        stopped, stdout, stderr = self._collect(process)
        self._kill()
        code = process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        outcome = Outcome.CANCELLED if self._cancelled.is_set() else stopped or _classify(code, stderr)
        return self._result(outcome, code, stdout, stderr)

    def _collect(self, process: subprocess.Popen[bytes]) -> tuple[Outcome | None, bytes, bytes]:
        """Reads both pipes until they close, the child ends, or a limit is met."""
        assert process.stdout is not None and process.stderr is not None
        buffers = {process.stdout: bytearray(), process.stderr: bytearray()}
        deadline = self._started + self.limits.seconds
        stopped: Outcome | None = None
        with selectors.DefaultSelector() as selector:
            for stream in buffers:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                now = time.monotonic()
                if now >= deadline:
                    stopped = Outcome.TIMEOUT if process.returncode is None else None
                    break
                for entry, _ in selector.select(min(deadline - now, _GRACE)):
                    stream = next(item for item in buffers if item is entry.fileobj)
                    data = stream.read(_CHUNK)
                    if data:
                        buffers[stream] += data
                    elif data is not None:
                        selector.unregister(stream)
                if sum(map(len, buffers.values())) > self.limits.output:
                    stopped = Outcome.TOO_MUCH_OUTPUT
                    break
                if process.poll() is not None:
                    deadline = min(deadline, time.monotonic() + _GRACE)
        if stopped is None and process.poll() is None:
            stopped = self._outlive(process, deadline)
        return stopped, bytes(buffers[process.stdout]), bytes(buffers[process.stderr])

    def _outlive(self, process: subprocess.Popen[bytes], deadline: float) -> Outcome | None:
        """The child closed its output but may still be running."""
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return Outcome.TIMEOUT
        return None

    def _kill(self) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def _result(self, outcome: Outcome, code: int, stdout: bytes, stderr: bytes) -> Result:
        seconds = time.monotonic() - self._started
        texts = (stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))
        return Result(outcome, code, *texts, seconds, self.limits)


def start(
    command: Sequence[str], limits: Limits | None = None, environment: Mapping[str, str] | None = None
) -> Run:
    """Starts a program; the handle waits for it or cancels it."""
    return Run(command, limits or Limits(), environment)


def run(
    command: Sequence[str], limits: Limits | None = None, environment: Mapping[str, str] | None = None
) -> Result:
    """Runs a program to its end or to a limit."""
    handle = start(command, limits, environment)
    try:
        return handle.wait()
    except BaseException:
        handle.cancel()
        raise


async def run_async(
    command: Sequence[str], limits: Limits | None = None, environment: Mapping[str, str] | None = None
) -> Result:
    """`run` for an event loop; cancelling the task ends the child."""
    import asyncio  # only an event loop's process needs it, and it is slow to load

    handle = start(command, limits, environment)
    try:
        return await asyncio.to_thread(handle.wait)
    except asyncio.CancelledError:
        handle.cancel()
        raise


def _classify(code: int, stderr: bytes) -> Outcome:
    if code == 0:
        return Outcome.OK
    if b"memory allocation of " in stderr and b" failed" in stderr and code == -signal.SIGABRT:
        return Outcome.OUT_OF_MEMORY
    if code == -signal.SIGXCPU:
        return Outcome.TIMEOUT
    if -code in _FROM_OUTSIDE:
        return Outcome.KILLED
    if b"panicked at" in stderr and code in (101, -signal.SIGABRT, -signal.SIGILL):
        return Outcome.PANIC
    return Outcome.CRASH if code < 0 else Outcome.EXIT


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _crash_sentence(result: Result) -> str:
    if "has overflowed its stack" in result.stderr:
        return "the program overflowed its stack"
    return f"the program crashed with {_signal_name(-result.code)}"


def _killed_sentence(result: Result) -> str:
    reason = " (the system does so when its memory runs out)" if result.code == -signal.SIGKILL else ""
    return f"the program was killed from outside with {_signal_name(-result.code)}{reason}"


def _panic_sentence(result: Result) -> str:
    lines = result.stderr.splitlines()
    at = next((number for number, line in enumerate(lines) if "panicked at" in line), None)
    if at is None:
        return "the program panicked"
    where = lines[at].partition("panicked at ")[2].rstrip(":")
    what = lines[at + 1].strip() if at + 1 < len(lines) else ""
    return f"the program panicked at {where}: {what}" if what else f"the program panicked at {where}"


_SENTENCES: dict[Outcome, Callable[[Result], str]] = {
    Outcome.OK: lambda result: "the program ended normally",
    Outcome.EXIT: lambda result: (
        f"the program ended with exit code {result.code}"
        + ("" if result.code else " before the derivative returned")
    ),
    Outcome.PANIC: _panic_sentence,
    Outcome.CRASH: _crash_sentence,
    Outcome.KILLED: _killed_sentence,
    Outcome.TIMEOUT: lambda result: f"the program was stopped after {result.limits.seconds:g} seconds",
    Outcome.OUT_OF_MEMORY: lambda result: (
        f"the program ran out of memory (limit {result.limits.memory // MEBIBYTE} MiB)"
    ),
    Outcome.TOO_MUCH_OUTPUT: lambda result: (
        f"the program was stopped after printing {result.limits.output // MEBIBYTE} MiB"
    ),
    Outcome.CANCELLED: lambda result: "the run was cancelled",
    Outcome.NOT_STARTED: lambda result: f"the program could not be started: {result.stderr}",
}
