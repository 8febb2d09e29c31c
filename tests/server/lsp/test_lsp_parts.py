"""Parts that need no client: settings, frames, positions, half-typed text, mentions, the code cache."""

from __future__ import annotations

import io
import marshal
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.mentions import call_around, mentions
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp.codecache import CodeCache, written_code
from ferrodiff.server.lsp.convert import path_of, uri_of
from ferrodiff.server.lsp.halftyped import closed_at
from ferrodiff.server.lsp.index import rust_files
from ferrodiff.server.lsp.markup import plain
from ferrodiff.server.lsp.rename import objection
from ferrodiff.server.lsp.settings import Settings, parse_settings
from ferrodiff.server.lsp.transport import frame, frames
from ferrodiff.server.lsp.virtual import Virtual, parse_virtual

# -- settings ------------------------------------------------------------------------------------------


def test_settings_nested_dotted_and_wrapped() -> None:
    wanted = Settings(diagnostics_debounce=50, run_time_limit=2.5)
    for raw in (
        {"diagnostics": {"debounce": 50}, "run": {"timeLimit": 2.5}},
        {"diagnostics.debounce": 50, "run.timeLimit": 2.5},
        {"ferrodiff": {"diagnostics": {"debounce": 50}, "run": {"timeLimit": 2.5}}},
        {"ferrodiff.diagnostics.debounce": 50, "ferrodiff.run.timeLimit": 2.5},
    ):
        assert parse_settings(raw) == (wanted, ())
    assert parse_settings(None) == (Settings(), ()) and parse_settings({}) == (Settings(), ())


@pytest.mark.parametrize(
    "raw,message",
    [
        ({"diagnostics": {"debounce": "fast"}}, "must be a number of milliseconds, not a string"),
        ({"diagnostics": {"debounce": -1}}, "between 0 and 10000"),
        ({"run": {"memoryLimit": True}}, "must be a number of MiB, not a boolean"),
        ({"diagnostics": {"enable": 1}}, "must be true or false"),
        ({"diagnostics": {"severity": {"FD001": "loud"}}}, "must be one of error, warning"),
        ({"diagnostics": {"severity": []}}, "must be an object"),
        ({"run": {"timelimit": 3}}, "did you mean `ferrodiff.run.timeLimit`?"),
        ([], "must be an object, not a list"),
    ],
)
def test_bad_settings_are_reported_and_ignored(raw: Any, message: str) -> None:
    found, problems = parse_settings(raw)
    assert found == Settings() and len(problems) == 1 and message in problems[0].message


def test_one_bad_value_leaves_the_others() -> None:
    found, problems = parse_settings(
        {"hints": {"shadows": False}, "index": {"files": "all"}, "server": {"path": "x"}}
    )
    assert found == Settings(hints_shadows=False) and [p.key for p in problems] == ["index.files"]


# -- frames --------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=50), max_size=5), st.binary(max_size=30))
def test_frames_survive_what_stands_before_them(bodies: list[bytes], noise: bytes) -> None:
    clean = noise.replace(b":", b"") + b"\r\n\r\n"
    assert list(frames(io.BytesIO(clean + b"".join(map(frame, bodies))))) == bodies


@given(st.binary(max_size=300))
def test_frames_of_any_bytes_end(data: bytes) -> None:
    list(frames(io.BytesIO(data)))


# -- places --------------------------------------------------------------------------------------------


def test_uris(tmp_path: Path) -> None:
    for name in ("a b.rs", "ü#?.rs", "100%.rs", "c:d.rs"):
        path = tmp_path / name
        assert path_of(uri_of(path)) == path
    assert path_of("untitled:Untitled-1") is None and path_of("file://host/x") is None
    assert path_of("http://[") is None and path_of("file:///a%00b") is None
    assert str(path_of("file:///c%3A/x.rs")) == "c:/x.rs"


def test_virtual_uris() -> None:
    for virtual in (
        Virtual("ir", "file:///a b/ü.rs", "df", "optimized"),
        Virtual("expansion", "file:///x?y#z.rs"),
    ):
        assert parse_virtual(virtual.uri) == virtual
    # VS Code decodes a query and escapes it again, its separators too.
    shown = "ferrodiff:/ir/df.optimized.ll?file%3Dfile:///a%20b/c.rs%26derivative%3Ddf%26stage%3Doptimized"
    again = parse_virtual(shown)
    assert again is not None
    assert again.plain == Virtual("ir", "file:///a%20b/c.rs", "df", "optimized").plain
    for bad in ("ferrodiff:/what/x.rs?file=a", "ferrodiff:/ir/x.ll", "file:///a.rs", "http://["):
        assert parse_virtual(bad) is None


def test_half_typed_annotations_are_closed() -> None:
    text = "#[autodiff_forward(df, Du\npub fn f(x: f64) -> f64 { x }\n"
    found = closed_at(analyse(text), text.index("Du") + 2)
    assert found is not None and found[0].functions[0].annotations[0].name == "df"
    for other in ("fn f() { g(", "#[autodiff_forward(df)]\nfn f() { g(", "// nothing", "#[derive("):
        assert closed_at(analyse(other), len(other)) is None


def test_names_that_cannot_be_taken() -> None:
    assert objection("gradient", frozenset()) is None and objection("größe", frozenset()) is None
    for name in ("", "_", "1x", "a-b", "fn", "self", "f\n"):
        assert objection(name, frozenset()) is not None, name
    assert "already" in (objection("f", frozenset({"f"})) or "")


def test_plain_text() -> None:
    assert (
        plain("**a** `b`\n\n```rust\nfn f()\n```\n| x | y |\n|---|---|\n| 1 | 2 |")
        == "a b\n\nfn f()\n| x | y |\n| 1 | 2 |"
    )


# -- mentions ------------------------------------------------------------------------------------------


def used(text: str, name: str = "df") -> list[str]:
    source = SourceText(text)

    def functions() -> list[Span]:
        return [f.item_text_span for f in analyse(text).all_functions]

    return [source.slice(Span(m.span.start, m.span.end + 4)) for m in mentions(source, [name], functions)]


@pytest.mark.parametrize(
    "text,count",
    [
        ("fn g() { df(1.0); }", 1),
        ("fn g() { a::df(1.0); self.df(2.0); b.df::<f64>(3.0) }", 3),
        ("fn g() { let h = df; map(df) }", 2),
        ("use crate::df; use crate::{a, df as d};", 2),
        ("fn g() { r#df(1.0) }", 1),
        ('// df(1)\n/* df(2) /* df */ df */ fn g() { "df(3)"; r#"df"#; \'d\'; b"df" }', 0),
        ("fn df() {} struct df; mod df {}", 0),
        ("fn g(x: S) { x.df; df!(1); S { df: 1 } ; 'df: loop {} }", 0),
        ("fn g() { let df = 1; df + 1; } fn h() { df(1) }", 1),
        ("fn g(df: f64) -> f64 { df } fn h() { df(1.0) }", 1),
        ("fn g() { adf(1); df2(1); df_(1); édf(1); dfé(2) }", 0),
        ("fn g<'df>(x: &'df f64) {} fn h() { df('a', \"b\") }", 1),
        ("fn g() { x.df. ; df(", 1),
    ],
)
def test_mentions(text: str, count: int) -> None:
    assert len(used(text)) == count, used(text)


def test_arguments_of_a_call() -> None:
    text = "df(a, (b, c), \"d,)\", ',', [1; 2], |x, y| x, /* e, */ f(g, h), )"
    source = SourceText(text)
    (mention,) = mentions(source, ["df"])
    assert mention.call is not None and mention.call.close == len(text) - 1
    shown = [source.slice(span) for span in mention.call.arguments]
    # A closure's own commas are the one thing tokens cannot tell apart.
    assert shown[:5] == ["a", "(b, c)", '"d,)"', "','", "[1; 2]"] and shown[-1] == "f(g, h)"


def test_the_call_around_a_caret() -> None:
    for text, name, index in (
        ("df(|", "df", 0),
        ("x = df(1, |", "df", 1),
        ("df(1, g(2), |)", "df", 2),
        ("df(1, g(2, |", "g", 1),
        ("df((1, |", "df", 0),
        ("df::<f64>(1, |)", "df", 1),
        ("df([1, 2, |", "df", 0),
    ):
        source = SourceText(text.replace("|", ""))
        found = call_around(source, text.index("|"))
        assert found is not None and (found.name, found.call.index_at(text.index("|"))) == (name, index), text
    for text in ("df(1); |", "fn f(|", "if (|", "df(1) |", 'df("|")', "df(1 // |", "|"):
        assert call_around(SourceText(text.replace("|", "")), text.index("|")) is None, text


@settings(deadline=None)
@given(st.text(alphabet="df(){}[],;.:'\"/*r#\n é|<>", max_size=60), st.integers(0, 70))
def test_any_text_has_mentions_and_calls(text: str, offset: int) -> None:
    source = SourceText(text)
    mentions(source, ["df", "d"])
    call_around(source, min(offset, len(source)))


# -- files ---------------------------------------------------------------------------------------------


def test_rust_files(tmp_path: Path) -> None:
    for name in ("a.rs", "src/b.rs", "target/c.rs", ".git/d.rs", "src/e.txt", "node_modules/f.rs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "src" / "loop").symlink_to(tmp_path)
    found = [path.relative_to(tmp_path).as_posix() for path in rust_files([tmp_path], 100)]
    assert found == ["a.rs", "src/b.rs"]
    assert len(rust_files([tmp_path], 1)) == 1 and rust_files([tmp_path / "none"], 5) == []


def test_the_code_of_dataclasses_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "code.bin"

    def made(cache: CodeCache) -> None:
        with written_code(cache):

            @dataclass(frozen=True, slots=True, order=True)
            class Pair:
                left: int
                right: list[int] = field(default_factory=list)

        assert repr(Pair(1)) == f"{Pair.__qualname__}(left=1, right=[])" and Pair(1) < Pair(2)
        with pytest.raises(FrozenInstanceError):
            Pair(1).left = 2  # type: ignore[misc]
        cache.finish()

    made(CodeCache(path))
    kept = path.read_bytes()
    made(CodeCache(path))
    assert path.read_bytes() == kept and [file.name for file in path.parent.iterdir()] == ["code.bin"]
    for damage in (b"", b"nonsense", marshal.dumps([1]), marshal.dumps({"x": 1}), b"\0" * 100):
        path.write_bytes(damage)
        made(CodeCache(path))
    made(CodeCache(Path("/proc/none/code.bin")))
