"""Editing: incremental equals from scratch, no text crashes, a keystroke is cheap, memory stays flat."""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrodiff.analysis.annotation import parse_by_grammar, parse_list
from ferrodiff.analysis.document import Document, FileAnalysis, analyse
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.analysis.syntax import parse
from ferrodiff.analysis.text import SourceText, Span

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.rs"))
SAMPLE = """#![feature(autodiff)]
use std::autodiff::{autodiff_forward as fw, autodiff_reverse};

/// A doc comment with `#[autodiff_reverse(x)]`.
#[fw(df, 2, Dual, /* k */ Const, Dual,)]
#[cfg_attr(all(), autodiff_reverse(dr, Duplicated, Active, Active))]
pub fn f<'a, T: Copy, const N: usize>(x: &'a [f64; N], k: f64) -> f64 where T: Sized { k * x[0] }

struct Größe { a: f64 }
impl Größe {
    #[autodiff_reverse(d_m, Duplicated, Active, Active)] // ferrodiff: allow(FD026)
    fn m(&self, y: f64) -> f64 {
        #[fw(inner, Dual, Dual)]
        fn g(x: f64) -> f64 { x * x }
        g(y) * self.a
    }
}
macro_rules! m { () => { #[fw(no, Dual)] fn f(x: f64) {} } }
const S: &str = r#"#[fw(no)] fn f() {}"#;
#[fw(df, Dual)] struct S2;
#[autodiff_reverse(df, Foo, 3)] fn bad(x: &f64) -> f64 { *x }
"""
PIECES = [
    "#[fw(", ")]", "(", ")", "{", "}", "[", "]", '"', "'", "r#\"", "\"#", "/*", "*/", "//", "\n", "#", "!", "<", ">",
    "Dual", "Const", "Active, ", ",", "fn ", "mod m {", "use std::autodiff::autodiff_forward as foo;", "foo", "\0", "é",
    "😀", "\ud800", "4", "0x", "impl T for U {", "#[autodiff_reverse(df, Active, Active)] fn q(x: f64) -> f64 { x }",
    "macro_rules! z {", "// ferrodiff: allow(FD005)\n", "#![", "\r\n", " as ",
]  # fmt: skip


def facts(analysis: FileAnalysis) -> dict[str, Any]:
    return {
        "functions": analysis.functions,
        "all": analysis.all_functions,
        "misplaced": analysis.misplaced,
        "imports": analysis.imports,
        "names": analysis.names,
        "inner": analysis.inner_attributes,
        "diagnostics": analysis.diagnostics,
    }


def exercise(text: str) -> None:
    """Everything the package says about a text."""
    analysis = analyse(text)
    facts(analysis)
    for function in analysis.functions:
        for annotation in function.annotations:
            assert derivative_signature(function, annotation).text
            assert 0 <= annotation.span.start <= annotation.span.end <= len(analysis.source)
    for diagnostic in analysis.diagnostics:
        assert diagnostic.message
        for span in [diagnostic.span, *[r.span for r in diagnostic.related]]:
            assert 0 <= span.start <= span.end <= len(analysis.source)
        for fix in diagnostic.fixes:
            for edit in fix.edits:
                assert 0 <= edit.span.start <= edit.span.end <= len(analysis.source)


edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(["", *PIECES])), min_size=1, max_size=8
)


@settings(max_examples=80, deadline=None)
@given(edits)
def test_incremental_equals_from_scratch(changes: list[tuple[float, int, str]]) -> None:
    document = Document(SAMPLE)
    for where, length, new_text in changes:
        start = int(where * len(document.source))
        document.edit(Span(start, start + length), new_text)
        scratch = analyse(document.source.text)
        assert scratch.source.data == document.source.data or not _encodable(document.source.data)
        if scratch.source.data == document.source.data:
            assert facts(document.analysis) == facts(scratch)
        document.analysis.diagnostics  # noqa: B018


def _encodable(data: bytes) -> bool:
    """Whether no character was cut by an edit."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@settings(max_examples=80, deadline=None)
@given(edits)
def test_mutated_text_never_raises(changes: list[tuple[float, int, str]]) -> None:
    text = SAMPLE
    for where, length, new_text in changes:
        start = int(where * len(text))
        text = text[:start] + new_text + text[start + length :]
    exercise(text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    exercise(text)
    exercise(f"#[autodiff_forward({text})] fn f(x: f64) -> f64 {{ x }}")
    parse_list(f"({text}")


LIST_PARTS = [
    "df",
    "r#fn",
    "true",
    "falsey",
    "4",
    "007",
    "1e5",
    "4u8",
    "2.5",
    ",",
    ",",
    " ",
    "\n",
    "_",
    "\u00a0",
    "é",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(LIST_PARTS), max_size=12), st.sampled_from([")", "", "]"]))
def test_plain_lists_are_read_as_the_grammar_reads_them(parts: list[str], end: str) -> None:
    text = "".join(["(", *parts, end])
    assert parse_list(text) == parse_by_grammar(text)


def test_truncated_at_every_character() -> None:
    for end in range(len(SAMPLE) + 1):
        exercise(SAMPLE[:end])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_clean(path: Path) -> None:
    analysis = analyse(path.read_text(encoding="utf-8"))
    assert analysis.functions
    assert not [d for d in analysis.diagnostics if d.severity.value == "error"]


@pytest.mark.parametrize(
    "text",
    [
        "#[autodiff_forward(df" + "(" * 20_000 + ")] fn f(x: f64) {}",
        "#[autodiff_forward(df, Dual)] fn f(x: " + "&" * 20_000 + "f64) {}",
        "#[autodiff_forward(df, Dual)] fn f(x: " + "Vec<" * 5_000 + "f64" + ">" * 5_000 + ") {}",
        "#[autodiff_forward(df, Dual)] fn f(x: " + "[" * 5_000 + "f64" + "]" * 5_000 + ") {}",
        "#[autodiff_forward(df, Dual)] fn f(x: " + "(" * 5_000 + "f64" + ",)" * 5_000 + ") {}",
        "mod m { " * 5_000 + "#[autodiff_forward(df, Dual)] fn f(x: f64) {}" + "}" * 5_000,
        "fn f() { " * 5_000 + "#[autodiff_forward(df, Dual)] fn f(x: f64) {}" + "}" * 5_000,
        "#[autodiff_forward(df, Dual)] fn f(x: f64) {" + "(" * 20_000 + ")" * 20_000 + "}",
        "#[cfg_attr(a, " * 3_000 + "autodiff_forward(df)" + ")]" * 3_000 + "fn f() {}",
        "/*" * 20_000 + " #[autodiff_forward(df)] fn f() {}",
        "use std::{" * 3_000 + "autodiff::*" + "}" * 3_000 + ";",
        "#[autodiff_forward(df, " + "9" * 10_000 + ", Dual)] fn f(x: f64) {}",
        "\0" * 10_000,
        "#[autodiff_forward(df, Dual)]" * 2_000 + "fn f(x: f64) {}",
    ],
    ids=range(14),
)
def test_deep_and_odd_texts(text: str) -> None:
    assert sys.getrecursionlimit() <= 1000
    exercise(text)


def large_file(annotated: int = 200) -> str:
    """10,000 lines, 200 annotations."""
    body = " {\n    let mut s = 0.0;\n    for i in 0..x.len() {\n        s += (x[i] * k).sin();\n    }\n    s\n}\n\n"
    parts = ["#![feature(autodiff)]\nuse std::autodiff::autodiff_forward;\nfn main() {}\n"]
    for i in range(annotated):
        parts.append(
            f"/// Doc\n#[autodiff_forward(df{i}, Dual, Const, Dual)]\npub fn f{i}(x: &[f64], k: f64) -> f64{body}"
        )
        parts += [f"pub fn g{i}_{j}(x: &[f64], k: f64) -> f64{body}" for j in range(5)]
    return "".join(parts)


def test_a_keystroke_is_cheap() -> None:
    """As ratios to parsing the file once, so that the test holds on a busy machine."""
    text = large_file()
    start = time.process_time()
    parse(text.encode())
    parsing = time.process_time() - start
    start = time.process_time()
    document = Document(text)
    assert len(document.analysis.functions) == 200
    assert not document.analysis.diagnostics
    assert time.process_time() - start < 8 * parsing
    times = []
    for number in range(40):
        offset = document.source.data.find(b"let mut s", number * len(document.source) // 50) + 9
        start = time.process_time()
        document.edit(Span(offset, offset), "x")
        assert not document.analysis.diagnostics
        times.append(time.process_time() - start)
    assert statistics.median(times) < 0.6 * parsing


def test_memory_stays_flat() -> None:
    document = Document(large_file(20))
    place = document.source.data.find(b"Dual, Const") + 4

    def many(count: int) -> None:
        for number in range(count):
            document.edit(Span(place, place), "x")
            document.analysis.diagnostics  # noqa: B018
            document.edit(Span(place, place + 1), "")
            if number % 7 == 0:
                document.analysis.functions  # noqa: B018

    many(50)
    tracemalloc.start()
    many(20)
    before = tracemalloc.get_traced_memory()[0]
    many(400)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 400_000


def test_edits_outside_the_text_are_clamped() -> None:
    document = Document("fn f() {}")
    document.edit(Span(-5, 100_000), "")
    document.edit(Span(50, 3), "fn g() {}")
    assert document.source.text == "fn g() {}"


@given(st.text(max_size=60), st.integers(0, 80), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
@settings(deadline=None)
def test_positions_and_offsets_are_inverse(text: str, offset: int, encoding: str) -> None:
    source = SourceText(text)
    offset = min(offset, len(source))
    while 0 < offset < len(source) and source.data[offset] & 0xC0 == 0x80:
        offset -= 1
    line, character = source.position(offset, encoding)
    back = source.offset(line, character, encoding)
    # between \r and \n there is no position of its own
    assert back == offset or source.data[back : back + 2] == b"\r\n"


@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 10), st.text(max_size=10))
@settings(deadline=None)
def test_line_starts_move_with_edits(text: str, start: int, length: int, new_text: str) -> None:
    source = SourceText(text)
    start = min(start, len(source))
    span = Span(start, min(start + length, len(source)))
    assert source.line_starts
    edited = source.edited(span, new_text)
    assert edited.line_starts == SourceText(edited.data).line_starts


@pytest.mark.parametrize(
    "text",
    [
        "#[autodiff_forward(df, Du\nfn f(x: f64) -> f64 { x }\nfn g() {}",
        "#[autodiff_forward(\nfn f(x: f64) -> f64 { x }",
        "#[autodiff_forward(df, Dual]\nfn f(x: f64) -> f64 { x }",
        "fn g() {}\n#[std::autodiff::autodiff_reverse(df, Dual, Dual]\nfn f(x: f64) -> f64 { x }",
    ],
)
def test_unclosed_lists_are_reported(text: str) -> None:
    found = analyse(f"use std::autodiff::*;\n{text}").diagnostics
    assert [d.code for d in found] == ["FD016"]
    assert found[0].message == "the argument list is not closed"


@pytest.mark.parametrize(
    "text", ["fn f(x: f64) -> f64 { x ", "fn f(x: f6", "fn f(", "pub fn", "fn f(x: f64) -> "]
)
def test_half_typed_functions_are_left_alone(text: str) -> None:
    found = analyse(f"use std::autodiff::*;\n#[autodiff_forward(df, Dual, Dual)]\n{text}").diagnostics
    assert not [d for d in found if d.code == "FD001"]


@pytest.mark.parametrize("text", ["// {}\nfn f( {{", "/* {} */ fn f( {{", 'const S: &str = "{}"; fn f( {{'])
def test_unclosed_lists_in_text_are_text(text: str) -> None:
    assert not analyse(text.format("#[autodiff_forward(df, ")).diagnostics
