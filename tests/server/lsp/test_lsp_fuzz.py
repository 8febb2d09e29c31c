"""Random edits and requests over mutated Rust: the server must answer everything and stay in step.

Runs about ten seconds; `FERRODIFF_FUZZ_SECONDS` makes it longer.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SECONDS = float(os.environ.get("FERRODIFF_FUZZ_SECONDS", "10"))
SEED = """#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

/* é😋 */ #[autodiff_forward(df, 4, Dual, Const, Dual)]
#[autodiff_reverse(dg, Duplicated, Active,
    Active)]
pub fn f(x: &[f64], k: f64) -> f64 { x.iter().map(|v| v * k).sum() }

struct Model { w: Vec<f64> }
impl Model {
    #[autodiff_reverse(d_loss, Duplicated, Active, Active)]
    fn loss(&self, größe: f64) -> f64 { self.w[0] * größe }
}
fn main() { let r = df(&[1.0], &[1.0], &[1.0], &[1.0], &[1.0], 2.0); dg(&[1.0], &mut [0.0], 1.0, 1.0); }
"""
PIECES = [
    "#[autodiff_forward(",
    "#[autodiff_reverse(df, 2, ",
    "Dual, ",
    "Duplicated",
    ")]",
    "(",
    ")",
    "]",
    "{",
    "}",
    "fn h(x: f64) -> f64 {",
    "\n",
    "\r\n",
    "😋",
    "é",
    '"',
    "/*",
    "*/",
    "//",
    "'a",
    'r#"',
    "#",
    ",",
    "<",
    ">",
    "::",
    "\0",
    "\ufeff",
    "4294967296",
    "-1",
    "df(",
    "// ferrodiff: x = [1.0]",
    "impl T for U {",
    "trait T {",
    "\ud83d",
]
METHODS: list[tuple[str, Callable[[Any], dict[str, Any]]]] = [
    ("textDocument/hover", lambda at: {"position": at()}),
    ("textDocument/completion", lambda at: {"position": at()}),
    ("textDocument/signatureHelp", lambda at: {"position": at()}),
    ("textDocument/definition", lambda at: {"position": at()}),
    ("textDocument/references", lambda at: {"position": at(), "context": {"includeDeclaration": True}}),
    ("textDocument/documentHighlight", lambda at: {"position": at()}),
    ("textDocument/prepareRename", lambda at: {"position": at()}),
    ("textDocument/rename", lambda at: {"position": at(), "newName": "renamed"}),
    ("textDocument/documentSymbol", lambda at: {}),
    ("textDocument/codeLens", lambda at: {}),
    ("textDocument/foldingRange", lambda at: {}),
    ("textDocument/selectionRange", lambda at: {"positions": [at(), at()]}),
    ("textDocument/prepareCallHierarchy", lambda at: {"position": at()}),
    ("textDocument/semanticTokens/full", lambda at: {}),
    ("textDocument/semanticTokens/range", lambda at: {"range": {"start": at(), "end": at()}}),
    ("textDocument/inlayHint", lambda at: {"range": {"start": at(), "end": at()}}),
    (
        "textDocument/codeAction",
        lambda at: {"range": {"start": at(), "end": at()}, "context": {"diagnostics": []}},
    ),
    ("textDocument/diagnostic", lambda at: {}),
]
FEATURES = {"general": {"positionEncodings": ["utf-16"]}, "textDocument": {"diagnostic": {}}}


class Chaos:
    """A client that types nonsense and asks about it."""

    def __init__(self, server: Any, seed: int) -> None:
        self.server = server
        self.random = random.Random(seed)
        self.uri = f"file:///fuzz/{seed}.rs"
        self.version = 0
        self.lines = SEED.count("\n") + 1
        self.pending: list[int] = []

    def position(self) -> dict[str, int]:
        chance = self.random.random()
        if chance < 0.05:
            return {"line": self.random.randrange(2**31), "character": self.random.randrange(2**31)}
        return {"line": self.random.randrange(self.lines + 2), "character": self.random.randrange(80)}

    def step(self) -> None:
        chance = self.random.random()
        if self.version == 0 or chance < 0.02:
            self.version += 1
            self.server.open(self.uri, SEED, version=self.version)
            self.lines = SEED.count("\n") + 1
        elif chance < 0.5:
            self.edit()
        elif chance < 0.52:
            self.server.notify("textDocument/didClose", {"textDocument": {"uri": self.uri}})
        else:
            self.ask()

    def edit(self) -> None:
        self.version += self.random.choice((1, 1, 1, 1, 5, -1))
        self.version = max(self.version, 1)
        changes = []
        for _ in range(self.random.choice((1, 1, 1, 3))):
            start = self.position()
            end = dict(start) if self.random.random() < 0.6 else self.position()
            text = "".join(self.random.choices(PIECES, k=self.random.randrange(4)))
            changes.append({"range": {"start": start, "end": end}, "text": text})
        if self.random.random() < 0.03:
            changes.append({"text": SEED[: self.random.randrange(len(SEED))]})
        self.server.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": changes},
        )

    def ask(self) -> None:
        method, params = self.random.choice(METHODS)
        uri = self.uri if self.random.random() < 0.95 else "file:///unknown/\u00e9.rs"
        identifier = self.server.ask(method, {"textDocument": {"uri": uri}, **params(self.position)})
        self.pending.append(identifier)
        if self.random.random() < 0.05:
            self.server.notify("$/cancelRequest", {"id": identifier})

    def settle(self) -> None:
        for identifier in self.pending:
            answer = self.server.answer(identifier)
            code = answer.get("error", {}).get("code")
            # Cancelled and refused renames are proper answers; an internal error never is.
            assert code in (None, -32800, -32803, -32602), answer
        self.pending = []


def test_random_edits_and_requests(start_raw: Callable[..., Any]) -> None:
    server = start_raw()
    server.initialize(capabilities=FEATURES)
    deadline = time.monotonic() + SECONDS * 0.7
    rounds = 0
    while time.monotonic() < deadline:
        chaos = Chaos(server, rounds if rounds < 50 else random.randrange(2**32))
        for _ in range(60):
            chaos.step()
        chaos.settle()
        rounds += 1
    assert rounds > 0
    assert_unharmed(server)


def assert_unharmed(server: Any) -> None:
    """Nothing failed on the way, and a fresh file is analysed as ever."""
    server.open("file:///after.rs", SEED)
    symbols = server.request("textDocument/documentSymbol", {"textDocument": {"uri": "file:///after.rs"}})
    assert [symbol["name"] for symbol in symbols["result"]] == ["df", "dg", "d_loss"]
    log = b"".join(server.stderr).decode("utf-8", "replace")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture(scope="module")
def module_server() -> Any:
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    spec = spec_from_file_location("lsp_fuzz_conftest", Path(__file__).with_name("conftest.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    server = module.Raw()
    server.initialize(capabilities=FEATURES)
    yield server
    server.kill()


@settings(
    max_examples=max(20, int(SECONDS * 3)),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_text_and_any_position(module_server: Any, data: st.DataObject) -> None:
    text = data.draw(
        st.one_of(
            st.text(max_size=200),
            st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
            st.integers(0, len(SEED)).map(lambda cut: SEED[:cut]),
            st.integers(0, len(SEED)).map(lambda cut: SEED[cut:]),
        )
    )
    module_server.open("file:///drawn.rs", text)
    line = st.integers(0, 30)
    character = st.integers(0, 200)
    for method, params in METHODS:
        answer = module_server.request(
            method,
            {
                "textDocument": {"uri": "file:///drawn.rs"},
                **params(lambda: {"line": data.draw(line), "character": data.draw(character)}),
            },
        )
        assert answer.get("error", {}).get("code") in (None, -32803), (method, answer)
    assert not any(b"Traceback" in line for line in module_server.stderr)


def test_large_and_foreign_files(raw: Any) -> None:
    large = SEED * (2_000_000 // len(SEED.encode()))
    for uri, text, language in (
        ("file:///large.rs", large, "rust"),
        ("file:///one-line.rs", "x" * 1_000_000, "rust"),
        ("file:///nested.rs", "fn f() {" + "{" * 50_000, "rust"),
        ("file:///parens.rs", "#[autodiff_forward(df, " + "(" * 50_000, "rust"),
        ("file:///page.html", "<html>" * 1000, "html"),
        ("untitled:Untitled-1", SEED, "rust"),
        ("not a uri at all", SEED, "rust"),
    ):
        raw.open(uri, text, language)
        place = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 25}}
        answer = raw.request("textDocument/hover", place)
        assert "error" not in answer, (uri, answer)
        symbols = raw.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        assert "error" not in symbols
    assert_unharmed(raw)
