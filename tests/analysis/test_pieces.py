"""How a file is cut into pieces, and what is left out of a piece before it is parsed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrodiff.analysis.document import Document, FileAnalysis, analyse
from ferrodiff.analysis.pieces import Cut
from ferrodiff.analysis.skeleton import visible
from ferrodiff.analysis.text import Span


def pieces(text: str) -> list[str]:
    return [piece.text.decode() for _, piece in Cut.of(text.encode()).pieces()]


@pytest.mark.parametrize(
    "items",
    [
        ["fn f() {}\n", "fn g() {}\n"],
        ["use a::{b, c};\n", "const X: f64 = if true { 1.0 } else { 2.0 };\n", "fn g() {}"],
        ["fn f() {} // behind\n\n", "// before\n/// doc\n#[a({b})]\n#[c]\npub\nunsafe\nfn g() {}\n"],
        ["#!/usr/bin/env ferrodiff\n// licence\n#![feature(autodiff)]\n\nuse a::b;\n", "use c::d;\n"],
        ["mod m {\nfn a() {}\npub fn b() {}\n}\n", "fn c() {}\n"],
        ["m!(\nfn a() {}\nfn b() {}\n);\n", "fn c() {}\n"],
        ["fn f<\n#[a]\nconst N: usize = { 3 },\n>(\n#[b]\nx: A<{ N }>,\n)\nwhere\nA<{ N }>: B,\n{\n}\n", "fn g() {}"],
        ["const S: &str = \"\nfn no() {}\n\";\n", "fn g() {}\n"],
        ['const S: &str = r#"\nfn no() {}"\n"#;\n', "fn g<'a>() { '\"'; '{'; b'\\''; }\n", "fn h() {}"],
        ["/* a /* b */\nfn no() {}\n*/ fn f() {}\n", "fn g() {}"],
        ["extern \"C\"\n{\nfn a();\n}\n", "pub(crate)\nfn g() {}"],
        ["vec! { a }\n", "crate::m! { b }\n", "macro_rules! n {\n() => {}\n}\n", "fn f() {}"],
        ["fn f(x: f64) -> f64\n// why\n{ x }\n", "fn g() {}"],
        ["unsafe\nimpl A for B {}\n", "unsafe impl C for D {}\n", "auto trait E {}\n"],
    ],
)  # fmt: skip
def test_items_are_pieces(items: list[str]) -> None:
    assert pieces("".join(items)) == items


@pytest.mark.parametrize(
    "items",
    [
        ["fn f() {\n", "fn g() {}\n", "fn h() {}\n"],
        ["fn f((x: f64) {}\n", "fn g() {}\n", "fn h() {}\n"],
        ["fn f() {}}\n", "fn g() {}\n"],
        ["impl A {\n    fn a() {\n    fn b() {}\n}\n", "fn g() {}\n"],
        ["fn f(x: f64) -> f64\n\n", "fn g() {}\n"],
        ["const X: f64 = 1.0\n", "/// doc\n#[a]\nfn g() {}\n"],
        ["struct A(f64)\n", "#[a]\nfn g() {}\n"],
        ['fn f() { let s = "a; }\n', 'fn g() { "b"; }\n', "fn h() {}"],
        ['fn f() { let s = r#"a; }\n', 'fn g() { "b"; }\n', "fn h() {}"],
        ["fn f() {} /* a\n", "fn g() { /* b */ }\n", "fn h() {}"],
        ["fn f() { m(1, [2 }\n", "fn g() {}\n"],
        ["#[a(b, c]\nfn f(x: f64) {}\n", "fn g() {}\n"],
    ],
)
def test_what_is_not_closed_stays_in_its_item(items: list[str]) -> None:
    assert pieces("".join(items)) == items


def kept(text: str, word: str) -> str:
    data = text.encode()
    ((_, piece),) = Cut.of(data).pieces()
    shown = visible(data, piece.braces, [data.index(word.encode())] if word else [])
    return "".join(text[i] if any(a <= i < b for a, b in shown) else " " for i in range(len(text)))


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("fn f() { g() }", "", "fn f() {     }"),
        ("impl A { fn a() { b } fn c() { d } }", "", "impl A {                           }"),
        ("impl A { fn a() { b } fn c() { d } }", "fn c", "impl A { fn a() {   } fn c() {   } }"),
        ("impl A { fn a() { b } fn c() { d } }", "d", "impl A { fn a() {   } fn c() { d } }"),
        ("fn f(x: A<{ 1 }>) -> B<{ 2 }, C> { x }", "", "fn f(x: A<{ 1 }>) -> B<{ 2 }, C> {   }"),
        ("fn f<const N: usize = { 1 }>() { x }", "", "fn f<const N: usize = { 1 }>() {   }"),
        ("fn f(x: [u8; if A { 1 } else { 2 }]) { x }", "", "fn f(x: [u8; if A { 1 } else { 2 }]) {   }"),
        ("#[a(\"(\", ')', {b})] /* ( */ fn f() { x }", "", "#[a(\"(\", ')', {b})] /* ( */ fn f() {   }"),
        ("fn f() -> A<{ 1 } /* , */ > { x }", "", "fn f() -> A<{ 1 } /* , */ > {   }"),
        ("fn f() where A: B, { x }", "", "fn f() where A: B, {   }"),
        ("fn f() { x ", "", "fn f() { x "),
        ("fn f() { '{'; \"}\"; /* } */ }", "", "fn f() {                   }"),
    ],
)
def test_blocks_without_anything_wanted_are_left_out(text: str, word: str, expected: str) -> None:
    assert kept(text, word) == expected


PARTS = [
    "fn f() {\n", "}\n", "{", "}", "(", ")", "[", "]", "\nfn g() {}\n", "\npub ", "\n#[a]\n", "/*", "*/", "//", "\n",
    '"', "'", "r#\"", "\"#", ";", "\n/// d\n", "\nmod m {\n", "x", " ", "\nm! {", "'a", "'{'", "\nconst X: A = ", "é",
    "\n#!", "#!", "\\", "\nunsafe\n", ", >",
]  # fmt: skip
texts = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


def described(cut: Cut) -> list[tuple[int, bytes, tuple[int, ...]]]:
    return [(start, piece.text, piece.braces) for start, piece in cut.pieces()]


@settings(max_examples=300, deadline=None)
@given(texts, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), texts), min_size=1, max_size=5))
def test_edited_is_cut_as_from_scratch(text: str, changes: list[tuple[float, int, str]]) -> None:
    data = text.encode()
    cut = Cut.of(data)
    for where, length, new in changes:
        start = int(where * len(data))
        span = Span(start, min(start + length, len(data)))
        data = data[:start] + new.encode() + data[span.end :]
        cut = cut.edited(data, span, start + len(new.encode()))
        assert described(cut) == described(Cut.of(data))


@settings(max_examples=200, deadline=None)
@given(texts)
def test_pieces_make_up_the_text(text: str) -> None:
    found = Cut.of(text.encode()).pieces()
    assert b"".join(piece.text for _, piece in found) == text.encode()
    assert all(b - a == len(piece.text) for ((a, piece), (b, _)) in pairwise(found))


FUNCTION = '#[autodiff_forward(d{0}, Dual, Dual)]\nfn {0}(x: f64) -> f64 {{ let s = "a"; x }}\n\n'
BROKEN = [
    "fn broken() {\n",
    "fn broken((x: f64) {}\n",
    'const S: &str = "abc;\n',
    "/* comment\n",
    "}}\n",
    "impl X for {\n",
]


def names(analysis: FileAnalysis) -> list[str]:
    return [a.name or "" for f in analysis.functions for a in f.annotations]


@pytest.mark.parametrize("broken", BROKEN)
def test_an_error_hides_no_annotation_of_other_items(broken: str) -> None:
    text = "".join(
        ["use std::autodiff::*;\n", *map(FUNCTION.format, "abc"), broken, *map(FUNCTION.format, "efg")]
    )
    assert names(analyse(text)) == ["da", "db", "dc", "de", "df", "dg"]


def test_an_error_in_a_body_hides_nothing_in_its_impl() -> None:
    text = """impl A {
    #[autodiff_forward(da, Dual)]
    fn a(x: f64) { let = ; match ) ] }
    #[autodiff_forward(db, Dual)]
    fn b(x: f64) {}
}
"""
    assert names(analyse(text)) == ["da", "db"]


def test_only_the_edited_item_is_read_again() -> None:
    text = "".join(["fn broken((x: f64) {\n}\n\n", *map(FUNCTION.format, "abcdefgh")])
    document = Document(text)
    before = [placed.chunk for placed in document.analysis.chunks]
    at = text.index("fn e") + 3
    document.edit(Span(at, at), "x")
    after = [placed.chunk for placed in document.analysis.chunks]
    assert len(before) == len(after) == 9
    assert [a is b for a, b in zip(before, after, strict=True)].count(False) == 1


def test_functions_without_autodiff_have_names_all_the_same() -> None:
    text = "/// a\n// b\npub(crate) unsafe fn f<'a>() { { } }\n\nconst fn g() -> A<{ 1 }> {}\n#[cfg(x)]\nfn h() {}\nfn r#i() {}\n"
    analysis = analyse(text)
    assert [(n.name, text[n.span.start : n.span.end]) for n in analysis.names] == [
        ("f", "f"),
        ("g", "g"),
        ("i", "r#i"),
    ]
    assert [f.name for f in analysis.all_functions] == ["f", "g", "h", "r#i"]
