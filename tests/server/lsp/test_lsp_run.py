"""Running derivatives from the editor: results, failures in words, cancellation, caching."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ferrodiff.server.lsp.jobs import descendants

pytestmark = [
    pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc"),
    pytest.mark.timeout(600),
]

TEXT = """use std::autodiff::{autodiff_forward, autodiff_reverse};

// ferrodiff: x = [0.5, 1.0], k = 3.0
#[autodiff_forward(df, 2, Dual, Const, Dual)]
fn f(x: &[f64], k: f64) -> f64 { x.iter().map(|v| v * v * k).sum() }

// ferrodiff: x = 2.0
#[autodiff_forward(panics, Dual, Dual)]
fn p(x: f64) -> f64 {
    if x > 1.0 { panic!("too large: {x}") }
    x
}

#[autodiff_forward(hangs, Dual, Dual)]
fn h(x: f64) -> f64 {
    let mut y = x;
    while y < 1e300 { y = y * 0.999 + 0.001; }
    y
}

#[autodiff_forward(eats, Dual, Dual)]
fn e(x: f64) -> f64 {
    let mut kept = Vec::new();
    for _ in 0..1_000_000 { kept.push(vec![x; 100_000]); }
    kept.iter().map(|part| part[0]).sum()
}

#[autodiff_forward(crashes, Dual, Dual)]
fn c(x: f64) -> f64 {
    if x > 0.0 { unsafe { std::ptr::null_mut::<u64>().write_volatile(1) } }
    x
}
"""
BROKEN = """use std::autodiff::autodiff_forward;
#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 {
    let y: f64 = "text";
    x * y
}
"""
EDITOR = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "textDocument": {"diagnostic": {}, "hover": {"contentFormat": ["markdown"]}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture
def server(start_raw: Callable[..., Any], folder: Path) -> Any:
    """A server with its own cache folder, so that every run of the tests compiles."""
    started = start_raw(environment={"FERRODIFF_CACHE_DIR": str(folder / "cache")})
    options = {"run": {"timeLimit": 3, "memoryLimit": 512}}
    started.initialize(capabilities=EDITOR, initializationOptions=options)
    return started


def command(server: Any, name: str, uri: str, derivative: str, **more: Any) -> int:
    arguments = [{"uri": uri, "derivative": derivative}]
    identifier: int = server.ask(
        "workspace/executeCommand", {"command": name, "arguments": arguments, **more}
    )
    return identifier


def hover(server: Any, uri: str, text: str, needle: str) -> str:
    line = next(number for number, content in enumerate(text.split("\n")) if needle in content)
    character = text.split("\n")[line].index(needle) + 1
    answer = server.request(
        "textDocument/hover",
        {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}},
    )
    value: str = answer["result"]["contents"]["value"]
    return value


def diagnostics(server: Any, uri: str) -> list[dict[str, Any]]:
    report = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    items: list[dict[str, Any]] = report["result"]["items"]
    return items


def test_run_and_check_an_unsaved_file(server: Any, folder: Path) -> None:
    uri = (folder / "unsaved.rs").as_uri()
    server.open(uri, TEXT)
    answer = server.answer(command(server, "ferrodiff.run", uri, "df", workDoneToken="mine"))["result"]
    assert answer["ok"], answer
    assert answer["values"] == [
        {"name": "value", "value": "3.75"},
        {"name": "tangent[0]", "value": "3.0"},
        {"name": "tangent[1]", "value": "6.0"},
    ]
    steps = [m["params"]["value"]["kind"] for m in server.notifications if m["method"] == "$/progress"]
    assert steps[0] == "begin" and steps[-1] == "end"
    shown = hover(server, uri, TEXT, "df, 2")
    assert "**Run of `df`**" in shown and "| tangent[1] | `6.0` |" in shown
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 6, "character": 0}}
    hints = server.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})["result"]
    assert any(hint["label"].startswith("= value 3.75") for hint in hints)

    server.notifications.clear()
    again = server.answer(command(server, "ferrodiff.run", uri, "df"))["result"]
    assert again == answer
    # It is answered from memory: nothing is begun.
    assert not [m for m in server.notifications if m["method"] == "$/progress"]

    checked = server.answer(command(server, "ferrodiff.checkGradient", uri, "df"))["result"]
    assert checked["ok"] and checked["message"].startswith("passed")
    lenses = server.request("textDocument/codeLens", {"textDocument": {"uri": uri}})["result"]
    assert any(lens["command"]["title"] == "Check gradient ✓" for lens in lenses)

    # An edit of the function makes its results old.
    changed = TEXT.replace("v * v * k", "v * k")
    server.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": changed}]},
    )
    assert "before the last edit" in hover(server, uri, changed, "df, 2")
    again = server.answer(command(server, "ferrodiff.run", uri, "df"))["result"]
    assert again["values"][0] == {"name": "value", "value": "4.5"}


@pytest.mark.parametrize(
    "derivative,words",
    [
        ("panics", "panicked"),
        ("hangs", "stopped after 3 seconds"),
        ("eats", "memory"),
        ("crashes", "SIGSEGV"),
    ],
)
def test_failures_have_words_and_a_place(server: Any, folder: Path, derivative: str, words: str) -> None:
    uri = (folder / "failures.rs").as_uri()
    server.open(uri, TEXT)
    answer = server.answer(command(server, "ferrodiff.run", uri, derivative))["result"]
    assert not answer["ok"] and words in answer["message"], answer
    lines = [item["range"]["start"]["line"] for item in diagnostics(server, uri) if item.get("code") == "run"]
    wanted = next(n for n, line in enumerate(TEXT.split("\n")) if f"({derivative}," in line)
    assert wanted in lines
    if derivative == "panics":
        assert wanted + 2 in lines
    # The server is as well as before.
    assert server.answer(command(server, "ferrodiff.run", uri, "df"))["result"]["ok"]


def test_compiler_errors_are_shown_where_they_belong(server: Any, folder: Path) -> None:
    uri = (folder / "broken.rs").as_uri()
    server.open(uri, BROKEN)
    answer = server.answer(command(server, "ferrodiff.run", uri, "df"))["result"]
    assert not answer["ok"]
    found = [item for item in diagnostics(server, uri) if item.get("code") == "E0308"]
    assert [item["range"]["start"]["line"] for item in found] == [3], answer
    fixed = BROKEN.replace('"text"', "3.0")
    server.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": fixed}]},
    )
    assert [item for item in diagnostics(server, uri) if item.get("code") == "E0308"] == []


def test_what_cannot_be_differentiated_is_shown_on_its_line(server: Any, folder: Path) -> None:
    text = BROKEN.replace('"text"', "x * 2.0").replace("x * y", "f64::from_bits(y.to_bits() * 3)")
    uri = (folder / "bits.rs").as_uri()
    server.open(uri, text)
    answer = server.answer(command(server, "ferrodiff.run", uri, "df"))["result"]
    assert not answer["ok"] and "changed by integer arithmetic" in answer["message"]
    (found,) = [item for item in diagnostics(server, uri) if "integer arithmetic" in item["message"]]
    assert found["range"]["start"] == {"line": 4, "character": 4} and "help: " in found["message"]


def test_cancelling_stops_the_program(server: Any, folder: Path) -> None:
    uri = (folder / "cancel.rs").as_uri()
    server.open(uri, TEXT)
    for way in ("progress", "request"):
        identifier = command(server, "ferrodiff.run", uri, "hangs", workDoneToken=f"token-{way}")
        server.notification("$/progress")
        if way == "progress":
            server.notify("window/workDoneProgress/cancel", {"token": f"token-{way}"})
            assert server.answer(identifier)["result"]["message"] == "cancelled"
        else:
            server.notify("$/cancelRequest", {"id": identifier})
            assert server.answer(identifier)["error"]["code"] == -32800
    assert server.answer(command(server, "ferrodiff.run", uri, "df"))["result"]["ok"]


def test_killed_ten_times_in_a_row(server: Any, folder: Path) -> None:
    """Whoever kills the process that compiles and runs gets a message, and the next run works."""
    uri = (folder / "killed.rs").as_uri()
    server.open(uri, TEXT)
    for number in range(10):
        identifier = command(server, "ferrodiff.run", uri, "hangs", workDoneToken=f"kill-{number}")
        deadline = time.monotonic() + 240
        while not (family := descendants(server.process.pid)):
            assert time.monotonic() < deadline
        os.kill(family[-1] if number % 2 else family[0], signal.SIGKILL)
        answer = server.answer(identifier)["result"]
        assert not answer["ok"] and answer["message"], answer
        deadline = time.monotonic() + 240
        while descendants(server.process.pid):
            assert time.monotonic() < deadline
    assert server.answer(command(server, "ferrodiff.run", uri, "df"))["result"]["ok"]


def test_showing_ir(server: Any, folder: Path) -> None:
    uri = (folder / "ir.rs").as_uri()
    server.open(uri, TEXT)
    answer = server.answer(command(server, "ferrodiff.showIr", uri, "df"))["result"]
    assert answer["ok"], answer
    assert "define" in answer["text"] and answer["uri"].startswith("ferrodiff:/ir/df")
    content = server.request("ferrodiff/content", {"uri": answer["uri"]})["result"]
    assert content["text"] == answer["text"]


def test_nothing_runs_where_it_must_not(start_raw: Callable[..., Any], folder: Path) -> None:
    server = start_raw()
    server.initialize(capabilities=EDITOR, initializationOptions={"run": {"enable": False}})
    uri = (folder / "untrusted.rs").as_uri()
    server.open(uri, TEXT)
    answer = server.answer(command(server, "ferrodiff.run", uri, "df"))
    assert "ferrodiff.run.enable" in answer["error"]["message"]
