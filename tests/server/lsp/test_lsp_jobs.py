"""Child processes: limits, cancellation that reaches grandchildren, and five kinds of failure in words."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from typing import Any

import pytest

from ferrodiff.analysis.document import analyse
from ferrodiff.server.lsp.jobs import Finished, descendants, run_job
from ferrodiff.server.lsp.messages import findings_of, printed_messages
from ferrodiff.server.lsp.outcomes import record_of, shown_values
from ferrodiff.server.lsp.results import ResultStore, content_key, is_fresh

PROGRAM = (sys.executable, "-c")
TEXT = """// ferrodiff: x = 2.0
#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 {
    x * x
}
"""


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def gone(pid: int) -> bool:
    deadline = time.monotonic() + 240
    while alive(pid) and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    return not alive(pid)


async def test_output_and_input() -> None:
    script = "import sys; print(sys.stdin.read().upper()); print('e', file=sys.stderr); sys.exit(3)"
    finished = await run_job([script], b"text", timeout=60, program=PROGRAM)
    assert finished == Finished(3, "TEXT\n", "e\n")


async def test_unread_input_is_no_error() -> None:
    finished = await run_job(["print(1)"], b"x" * 1_000_000, timeout=60, program=PROGRAM)
    assert finished.code == 0 and finished.stdout == "1\n"


# A child that starts a grandchild in a session of its own and says its number.
FAMILY = (
    "import subprocess, sys, time, signal\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
    "open(sys.argv[1], 'w').write(str(p.pid))\n"
    "time.sleep(600)\n"
)


async def grandchild(file: Any) -> int:
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if file.exists() and (text := file.read_text()):
            return int(text)
        await asyncio.sleep(0.01)
    raise AssertionError("no grandchild")


async def test_cancelling_ends_the_whole_family(tmp_path: Any) -> None:
    cancelled = asyncio.Event()
    file = tmp_path / "pid"
    job = asyncio.ensure_future(
        run_job([FAMILY, str(file)], timeout=600, cancelled=cancelled, program=PROGRAM)
    )
    pid = await grandchild(file)
    assert alive(pid) and pid in descendants(os.getpid())
    cancelled.set()
    finished = await asyncio.wait_for(job, 30)
    assert finished.cancelled and await gone(pid)


async def test_a_cancelled_task_ends_the_whole_family(tmp_path: Any) -> None:
    file = tmp_path / "pid"
    job = asyncio.ensure_future(run_job([FAMILY, str(file)], timeout=600, program=PROGRAM))
    pid = await grandchild(file)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await gone(pid)


async def test_time_limit(tmp_path: Any) -> None:
    file = tmp_path / "pid"
    finished = await run_job([FAMILY, str(file)], timeout=1.0, program=PROGRAM)
    assert finished.timed_out and not finished.cancelled
    if file.exists():
        assert await gone(int(file.read_text()))


async def test_killed_ten_times() -> None:
    for _ in range(10):
        script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        finished = await run_job([script], timeout=60, program=PROGRAM)
        assert finished.code == -signal.SIGKILL
        record = outcome(finished)
        assert "killed by signal 9" in record.headline and record.findings[0].line == 1
    assert (await run_job(["print('fine')"], timeout=60, program=PROGRAM)).stdout == "fine\n"


# -- words ---------------------------------------------------------------------------------------------


def outcome(finished: Finished, kind: str = "run") -> Any:
    analysis = analyse(TEXT)
    names = frozenset({"/tmp/a.rs", "a.rs"})
    return record_of(kind, "df", finished, analysis.source, analysis.functions[0], names, 10.0)


def run_json(**changes: Any) -> str:
    data: dict[str, Any] = {
        "derivative": "df",
        "width": 1,
        "outcome": "ok",
        "message": "the program ended normally",
        "inputs": [{"name": "x", "expression": "2.0", "origin": "file"}],
        "values": [
            {"name": "x", "role": "input", "lane": 0, "text": "2.0"},
            {"name": "x", "role": "gradient", "lane": 0, "text": "4.0"},
            {"name": "return", "role": "primal", "lane": 0, "text": "4.0"},
        ],
        "stderr": "",
    }
    return json.dumps({**data, **changes})


def test_a_run_in_words() -> None:
    record = outcome(Finished(0, run_json(), ""))
    assert record.ok and record.headline == "value = 4.0, gradient x = 4.0"
    assert "| gradient x | `4.0` |" in record.details and "at `x = 2.0`" in record.details
    assert record.findings == ()


def test_lanes_are_numbered() -> None:
    values = [{"name": "return", "role": "tangent", "lane": k, "text": f"{k}.0"} for k in range(2)]
    assert shown_values({"width": 2, "values": values}) == [("tangent[0]", "0.0"), ("tangent[1]", "1.0")]


def test_five_failures_have_five_messages() -> None:
    sentences = {
        "panic": "the program panicked at /tmp/a.rs:4:5: no",
        "crash": "the program crashed with SIGSEGV",
        "timeout": "the program was stopped after 10 seconds",
        "out of memory": "the program ran out of memory (limit 64 MiB)",
    }
    headlines = {}
    for name, text in sentences.items():
        record = outcome(Finished(1, run_json(outcome=name, message=text, values=[]), ""))
        assert not record.ok and record.findings
        headlines[name] = record.headline
    headlines["signal"] = outcome(Finished(-9, "", "")).headline
    headlines["hang"] = outcome(Finished(-9, "", "", timed_out=True)).headline
    assert len(set(headlines.values())) == len(headlines)
    assert outcome(Finished(-2, "", "", cancelled=True)).findings == ()


def test_a_panic_is_shown_where_it_happened() -> None:
    text = "the program panicked at /tmp/a.rs:4:5: no"
    record = outcome(Finished(1, run_json(outcome="panic", message=text, values=[]), ""))
    assert [finding.line for finding in record.findings] == [1, 3]


def test_compiler_messages_are_put_on_their_lines() -> None:
    stderr = (
        "error[E0308]: mismatched types\n --> /tmp/a.rs:4:5\n  |\n4 |     x * x\n  |     ^^^^^\n"
        "  = note: expected `f64`\n\nerror: cannot differentiate `asm!`\n --> /other/lib.rs:7:1\n"
        "  = help: move it out\n\nwarning: unused\n --> /tmp/a.rs:1:1\n\n"
        "error: aborting due to 2 previous errors\n"
    )
    record = outcome(Finished(1, "", stderr))
    assert [(f.line, f.column, f.code) for f in record.findings] == [(3, 4, "E0308"), (1, None, None)]
    assert "expected `f64`" in record.findings[0].message
    assert "/other/lib.rs:7" in record.findings[1].message and "move it out" in record.findings[1].message
    assert record.headline == "mismatched types"


def test_a_failed_check() -> None:
    data = {"passed": False, "message": "failed: worst is d/dx", "curve": [{"step": 1e-3, "error": 0.5}]}
    record = outcome(Finished(1, json.dumps(data), ""), "check")
    assert record.findings[0].message == "failed: worst is d/dx" and "| 1e-03 | 5.0e-01 |" in record.details


def test_printed_messages_of_nothing() -> None:
    assert printed_messages("") == [] and printed_messages("no message here\n --> a:1:1") == []
    source = analyse("").source
    assert (
        findings_of(printed_messages("error: x\n --> a.rs:99:1"), source, frozenset({"a.rs"}), 0)[0].line == 0
    )


# -- results -------------------------------------------------------------------------------------------


def test_results_follow_their_lines() -> None:
    store = ResultStore()
    record = outcome(Finished(1, "", "error: no\n --> /tmp/a.rs:4:5\n"))
    store.put("file:///tmp/a.rs", record, None)
    assert [f.line for f in store.findings("file:///tmp/a.rs", analyse(TEXT))] == [3]
    moved = analyse("\n\n// a\n" + TEXT)
    assert [f.line for f in store.findings("file:///tmp/a.rs", moved)] == [6]
    edited = analyse(TEXT.replace("x * x", "x + x"))
    assert store.findings("file:///tmp/a.rs", edited) == []
    assert store.findings("file:///tmp/b.rs", analyse(TEXT)) == []


def test_freshness() -> None:
    record = outcome(Finished(0, run_json(), ""))
    analysis = analyse(TEXT)
    assert is_fresh(record, analysis.source, analysis.functions[0])
    for old, new in (("x * x", "x"), ("x = 2.0", "x = 3.0"), ("Active)", "Const)")):
        other = analyse(TEXT.replace(old, new))
        assert not is_fresh(record, other.source, other.functions[0]), old


def test_content_keys() -> None:
    key = content_key("run", "df", TEXT, ("10",))
    assert key is not None and key == content_key("run", "df", TEXT, ("10",))
    others = {
        content_key("check", "df", TEXT, ("10",)),
        content_key("run", "dg", TEXT, ("10",)),
        content_key("run", "df", TEXT + " ", ("10",)),
        content_key("run", "df", TEXT, ("20",)),
    }
    assert len(others) == 4 and key not in others
    assert content_key("run", "df", "mod other;\n" + TEXT, ()) is None
    assert content_key("run", "df", TEXT + 'const A: &str = include_str!("a");', ()) is None
