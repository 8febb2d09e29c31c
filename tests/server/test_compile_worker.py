"""The run worker tells every way a program can end apart, and survives all of them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time

import pytest

from ferrodiff.server import worker
from ferrodiff.server.worker import Limits, Outcome

SHORT = Limits(seconds=0.5)


def shell(script: str, limits: Limits | None = None) -> worker.Result:
    return worker.run(["/bin/sh", "-c", script], limits)


def test_normal_end_keeps_both_streams() -> None:
    result = shell("echo out; echo err >&2")
    assert (result.outcome, result.stdout, result.stderr) == (Outcome.OK, "out\n", "err\n")
    assert result.ok


@pytest.mark.parametrize(
    ("script", "outcome", "words"),
    [
        ("exit 3", Outcome.EXIT, "exit code 3"),
        ("kill -SEGV $$", Outcome.CRASH, "SIGSEGV"),
        ("kill -KILL $$", Outcome.KILLED, "killed from outside with SIGKILL"),
        ("kill -TERM $$", Outcome.KILLED, "killed from outside with SIGTERM"),
        ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", Outcome.OUT_OF_MEMORY, "2048 MiB"),
        (
            "printf 'thread main panicked at a.rs:3:5:\\nboom\\n' >&2; exit 101",
            Outcome.PANIC,
            "at a.rs:3:5: boom",
        ),
        (
            "echo 'thread main panicked at a.rs:1:1:' >&2; kill -ABRT $$",
            Outcome.PANIC,
            "panicked at a.rs:1:1",
        ),
        (
            "echo 'thread main has overflowed its stack' >&2; kill -ABRT $$",
            Outcome.CRASH,
            "overflowed its stack",
        ),
    ],
)
def test_outcomes_are_distinct(script: str, outcome: Outcome, words: str) -> None:
    result = shell(script)
    assert result.outcome is outcome
    assert words in result.sentence


def test_endless_loop_is_stopped() -> None:
    result = shell("while :; do :; done", SHORT)
    assert result.outcome is Outcome.TIMEOUT
    assert "0.5 seconds" in result.sentence


def test_sleeping_with_closed_output_is_stopped() -> None:
    assert shell("exec >&- 2>&-; sleep 20", SHORT).outcome is Outcome.TIMEOUT


def test_the_whole_group_is_ended() -> None:
    result = shell("sleep 600 & echo $!; sleep 600", Limits(seconds=3))
    child = int(result.stdout)
    with pytest.raises((ProcessLookupError, FileNotFoundError)):
        while not _is_zombie(child):  # it has been told to end; the test's own limit is the limit
            os.kill(child, 0)
            time.sleep(0.02)
        raise ProcessLookupError


def _is_zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().split(")")[1].split()[0] == "Z"


def test_a_background_child_does_not_delay_the_result() -> None:
    result = shell("sleep 600 & exit 0", Limits(seconds=600))
    assert result.ok


def test_output_is_bounded() -> None:
    assert shell("yes", Limits(seconds=10, output=100_000)).outcome is Outcome.TOO_MUCH_OUTPUT


def test_memory_is_limited() -> None:
    script = "x = bytearray(1 << 30)"
    result = worker.run([sys.executable, "-c", script], Limits(memory=256 * worker.MEBIBYTE))
    assert not result.ok
    assert "MemoryError" in result.stderr


def test_missing_program() -> None:
    assert worker.run(["/nonexistent/program"]).outcome in (Outcome.EXIT, Outcome.NOT_STARTED)


def test_no_descriptors_are_inherited() -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        result = shell(f"if test -e /proc/self/fd/{write}; then echo leaked; fi")
    finally:
        os.close(read)
        os.close(write)
    assert result.stdout == ""


def test_cancel_from_another_thread() -> None:
    handle = worker.start(["/bin/sleep", "20"])
    threading.Timer(0.1, handle.cancel).start()
    assert handle.wait().outcome is Outcome.CANCELLED


def test_ten_kills_in_a_row() -> None:
    for _ in range(10):
        handle = worker.start(["/bin/sleep", "20"])
        assert handle.pid is not None
        os.kill(handle.pid, signal.SIGKILL)
        assert handle.wait().outcome is Outcome.KILLED
    assert shell("echo alive").stdout == "alive\n"


async def test_cancelling_the_task_ends_the_child() -> None:
    task = asyncio.create_task(worker.run_async(["/bin/sleep", "600"]))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
