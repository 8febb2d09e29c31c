"""How fast the language server answers, and beside it other servers on files of their own language.

    python bench/lsp.py [--quick] [--json FILE]

Prints one table and one line of JSON. Every figure is what a client sees on the wire: from the last byte
written to the answer read. Servers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
_BLOCK = 10
_PATIENCE = 300
"""Seconds after which a server that does not answer ends the benchmark."""


@dataclass(frozen=True)
class Peer:
    """A server, a text of its language and an edit that leaves the text valid."""

    name: str
    command: list[str]
    language: str
    suffix: str
    text: Callable[[int], str]
    hover_line: int
    hover_character: int
    options: Json = field(default_factory=dict)


def rust_text(lines: int) -> str:
    """`lines` lines of which every fiftieth starts an annotated function."""
    parts = ["#![feature(autodiff)]", "use std::autodiff::{autodiff_forward, autodiff_reverse};", ""]
    number = 0
    while len(parts) < lines:
        number += 1
        parts += [
            f"#[autodiff_reverse(df{number}, Duplicated, Active, Active)]",
            f"pub fn f{number}(x: &[f64], k: f64) -> f64 {{",
            "    let mut sum = 0.0;",
            "    for value in x {",
            "        sum += (value * k).sin() * value;",
            "    }",
            "    sum",
            "}",
            "",
        ]
        for filler in range(5):
            parts += [
                f"fn helper_{number}_{filler}(a: f64, b: f64) -> f64 {{",
                "    // a comment that says nothing",
                "    let c = a * b + 1.0;",
                '    let text = "a string";',
                "    if c > 0.0 { c } else { -c + text.len() as f64 }",
                "}",
                "",
            ]
    return "\n".join(parts[:lines]) + "\n"


def python_text(lines: int) -> str:
    parts = ["import math", ""]
    for number in itertools.count():
        if len(parts) >= lines:
            break
        parts += [
            f"def f{number}(x, k):",
            "    total = 0.0",
            "    for v in x:",
            "        total += math.sin(v * k)",
            "    return total",
            "",
        ]
    return "\n".join(parts[:lines]) + "\n"


def c_text(lines: int) -> str:
    parts = ["double sin(double);", ""]
    for number in itertools.count():
        if len(parts) >= lines:
            break
        parts += [
            f"double f{number}(const double *x, int n) {{",
            "  double s = 0;",
            "  for (int i = 0; i < n; ++i)",
            "    s += sin(x[i]);",
            "  return s;",
            "}",
            "",
        ]
    return "\n".join(parts[:lines]) + "\n"


class Client:
    """A bare JSON-RPC client."""

    def __init__(self, command: list[str]) -> None:
        self.started = time.perf_counter()
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._ids = itertools.count(1)

    def send(self, message: Json) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self) -> Json:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the server ended")
        message: Json = json.loads(stream.read(length))
        if "id" in message and "method" in message:
            items = message.get("params", {}).get("items", [])
            result = [None] * len(items) if message["method"] == "workspace/configuration" else None
            self.send({"id": message["id"], "result": result})
        return message

    def notify(self, method: str, params: Json) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Json | None) -> Any:
        identifier = next(self._ids)
        self.send({"id": identifier, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == identifier and "method" not in message:
                return message.get("result")

    def wait(self, method: str, version: int | None = None) -> Json:
        while True:
            message = self.read()
            if message.get("method") == method:
                got = message["params"].get("version")
                if version is None or got is None or got >= version:
                    return message

    def initialize(self, options: Json) -> float:
        """Seconds from the start of the process to the reply."""
        capabilities = {
            "general": {"positionEncodings": ["utf-16"]},
            "textDocument": {"publishDiagnostics": {"versionSupport": True}},
        }
        self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        elapsed = time.perf_counter() - self.started
        self.notify("initialized", {})
        return elapsed

    def memory(self) -> float:
        """Resident MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return float("nan")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def ferrodiff() -> Peer:
    return Peer(
        "ferrodiff",
        [sys.executable, "-m", "ferrodiff.server", "lsp"],
        "rust",
        ".rs",
        rust_text,
        3,
        20,
        {"diagnostics": {"debounce": 0}},
    )


def peers() -> list[Peer]:
    """The other servers that are installed."""
    found = []
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    if os.path.exists(ruff):
        found.append(Peer("ruff server", [ruff, "server"], "python", ".py", python_text, 0, 8))
    clangd = shutil.which("clangd")
    if clangd:
        found.append(Peer("clangd", [clangd, "--log=error"], "c", ".c", c_text, 2, 9))
    return found


def percentile(values: list[float], fraction: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


class Session:
    """One file in one server."""

    def __init__(self, peer: Peer, lines: int) -> None:
        self.peer = peer
        self.text = peer.text(lines)
        self.lines = lines
        self.version = 1
        self.uri = f"file:///bench/file{peer.suffix}"
        self.client = Client(peer.command)
        self.start = self.client.initialize(peer.options)

    def open(self) -> float:
        before = time.perf_counter()
        self.client.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": self.uri,
                    "languageId": self.peer.language,
                    "version": 1,
                    "text": self.text,
                }
            },
        )
        self.client.wait("textDocument/publishDiagnostics")
        return time.perf_counter() - before

    def edit(self, wait: bool = True) -> float:
        """Types a blank line in the middle, then takes it away, and so on."""
        self.version += 1
        line = self.lines // 2
        removing = self.version % 2 == 1
        end = {"line": line + 1 if removing else line, "character": 0}
        change = {
            "range": {"start": {"line": line, "character": 0}, "end": end},
            "text": "" if removing else "\n",
        }
        before = time.perf_counter()
        self.client.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": [change]},
        )
        if wait:
            self.client.wait("textDocument/publishDiagnostics", self.version)
        return time.perf_counter() - before

    def hover(self) -> float:
        before = time.perf_counter()
        self.client.request(
            "textDocument/hover",
            {
                "textDocument": {"uri": self.uri},
                "position": {"line": self.peer.hover_line, "character": self.peer.hover_character},
            },
        )
        return time.perf_counter() - before


def measure(peer: Peer, repeats: int) -> Json:
    """Figures in milliseconds that every peer has."""
    signal.alarm(_PATIENCE)
    starts, firsts = [], []
    # Writes what interpreters and servers keep for the next start.
    warm = Session(peer, 10)
    warm.open()
    time.sleep(1.0)
    warm.client.stop()
    for _ in range(max(3, repeats // 20)):
        session = Session(peer, 1000)
        starts.append(session.start)
        firsts.append(session.open())
        session.client.stop()
    session = Session(peer, 1000)
    session.open()
    edits = [session.edit() for _ in range(repeats)]
    hovers = [session.hover() for _ in range(repeats)]
    session.client.stop()
    large = Session(peer, 10_000)
    first_large = large.open()
    large_edits = [large.edit() for _ in range(max(20, repeats // 4))]
    large_hovers = [large.hover() for _ in range(max(20, repeats // 4))]
    memory = large.client.memory()
    large.client.stop()
    return {
        "start to initialize reply": statistics.median(starts) * 1e3,
        "first diagnostics, 1,000 lines": statistics.median(firsts) * 1e3,
        "edit to diagnostics p95, 1,000 lines": percentile(edits, 0.95) * 1e3,
        "hover p95, 1,000 lines": percentile(hovers, 0.95) * 1e3,
        "first diagnostics, 10,000 lines": first_large * 1e3,
        "edit to diagnostics p95, 10,000 lines": percentile(large_edits, 0.95) * 1e3,
        "hover p95, 10,000 lines": percentile(large_hovers, 0.95) * 1e3,
        "memory with 10,000 lines (MiB)": memory,
    }


def endurance(edits: int) -> Json:
    """Memory while typing: resident MiB after a tenth, a half and all of the edits."""
    signal.alarm(_PATIENCE)
    session = Session(ferrodiff(), 1000)
    session.open()
    result: Json = {}
    marks = {edits // 10: "a tenth", edits // 2: "half", edits: "all"}
    for number in range(1, edits + 1):
        session.edit(wait=number % _BLOCK == 0 or number in marks)
        if number in marks:
            session.hover()
            result[f"memory after {number:,} edits (MiB)"] = session.client.memory()
    session.client.stop()
    return result


LIMITS = {
    "start to initialize reply": 350,
    "first diagnostics, 1,000 lines": 100,
    "edit to diagnostics p95, 1,000 lines": 20,
    "hover p95, 1,000 lines": 5,
    "hover p95, 10,000 lines": 30,
    "memory after 10,000 edits (MiB)": 120,
}


def table(figures: dict[str, Json]) -> str:
    rows = list(dict.fromkeys(key for values in figures.values() for key in values))
    width = max(len(row) for row in rows)
    lines = [
        f"{'(ms unless said otherwise)':<{width}}  {'goal':>6}" + "".join(f"  {name:>12}" for name in figures)
    ]
    for row in rows:
        cells = "".join(
            f"  {values[row]:>12.1f}" if row in values else f"  {'-':>12}" for values in figures.values()
        )
        goal = f"{LIMITS[row]:>6}" if row in LIMITS else f"{'':>6}"
        lines.append(f"{row:<{width}}  {goal}{cells}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions, 2,000 edits instead of 10,000"
    )
    parser.add_argument("--alone", action="store_true", help="leave the other servers out")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to a file")
    options = parser.parse_args()
    repeats = 40 if options.quick else 200
    figures = {}
    for peer in [ferrodiff(), *([] if options.alone else peers())]:
        try:
            figures[peer.name] = measure(peer, repeats)
        except (EOFError, OSError) as error:
            print(f"{peer.name}: left out: {error}", file=sys.stderr)
    if "ferrodiff" in figures:
        figures["ferrodiff"].update(endurance(2_000 if options.quick else 10_000))
    print(table(figures))
    text = json.dumps({"lsp": figures})
    print(text)
    if options.json:
        Path(options.json).write_text(text + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
