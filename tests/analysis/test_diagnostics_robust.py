"""Diagnostics never fail on any text, come out the same edit by edit, and leave correct programs alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrodiff.analysis.diagnostics import Severity, codes
from ferrodiff.analysis.document import Document, analyse
from ferrodiff.analysis.text import Span

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted([*ROOT.glob("examples/*.rs"), *ROOT.glob("tests/e2e/programs/*.rs")])
RICH = """\
// ferrodiff: allow(FD035)
#![feature(autodiff)]
use std::autodiff::{autodiff_forward as fwd, autodiff_reverse};

/// doc
#[fwd(df, 4, Dual, Const, Dualv, DualOnly)] // größe
#[autodiff_reverse(dr, Active, Const, Duplicated, Active)]
#[autodiff(old, Reverse, 2, Active, Const, Frob(3), None)]
#[inline(always)]
pub unsafe fn f<'a, T: Copy, const N: usize>(x: f64, (n, _): (usize, T), w: &'a mut [f64]) -> f64 { x }
struct S;
impl Model for S {
    #[cfg_attr(not(x), autodiff_forward(dm, 0, Dualv, Dual, DualvOnly, Dualv))]
    fn m(&self, bself_0: &[u32], f: &dyn Fn(f64) -> f64) -> f32 { 0.0 }
}
fn g() {
    #[autodiff_reverse(dr, 5000000000, ,)]
    let x = |y: f64| y;
    #[autodiff_reverse(h::q, 2.5, "Dual", -1)]
    async fn h(q: &f64) -> () {}
}
mod inner { #[autodiff_forward] extern "C" { #[autodiff_forward(a, Const)] fn c(x: f64, ...); } }
fn main() {}
"""
FRAGMENTS = (
    *("#[autodiff_forward(", "#[autodiff_reverse(df, Active, Active)]\n", "cfg_attr(a, autodiff_forward(b))"),
    *(")]", "(", ")", "[", "]", "{", "}", ",", "'", '"', "//", "/*", "*/", "#", "::", "#![", "\0", "é", "\n"),
    *(" Dual", " 4u8", " None", " -1", "self", "&mut ", " -> ()", " -> !", "impl ", "trait T {", "r#", "fn "),
    *("use std::autodiff::*;\n", "// ferrodiff: allow(FD001"),
)


def test_cut_off_anywhere() -> None:
    data = RICH.encode()
    for end in range(len(data) + 1):
        analyse(data[:end].decode("utf-8", "replace")).diagnostics  # noqa: B018


def test_the_rich_file_is_rich() -> None:
    assert len({d.code for d in analyse(RICH).diagnostics}) >= 12


_EDIT = st.tuples(st.integers(0, len(RICH)), st.integers(0, 30), st.sampled_from(FRAGMENTS))


@settings(max_examples=60, deadline=None)
@given(st.lists(_EDIT, min_size=1, max_size=6))
def test_edited_like_from_scratch(edits: list[tuple[int, int, str]]) -> None:
    document = Document(RICH)
    for at, length, new in edits:
        text = document.source.text
        start = len(text[:at].encode())
        document.edit(Span(start, start + len(text[at : at + length].encode())), new)
        assert document.analysis.diagnostics == analyse(document.source.text).diagnostics


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=3)), max_size=40))
def test_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    analysis = analyse(text)
    size = len(analysis.source)
    known = codes()
    for diagnostic in analysis.diagnostics:
        assert diagnostic.code in known and diagnostic.message
        spans = [diagnostic.span, *[r.span for r in diagnostic.related]]
        spans += [edit.span for fix in diagnostic.fixes for edit in fix.edits]
        assert all(0 <= span.start <= span.end <= size for span in spans)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_that_work_have_no_errors(path: Path) -> None:
    text = path.read_text("utf-8")
    analysis = analyse(text)
    errors = [d for d in analysis.diagnostics if d.severity is Severity.ERROR]
    assert not errors, [(d.code, d.message, analysis.source.slice(d.span)) for d in errors]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_without_imports_every_annotation_is_reported(path: Path) -> None:
    text = re.sub(r"use (std|core)::autodiff::[^;]*;", "", path.read_text("utf-8"))
    analysis = analyse(text)
    bare = [
        annotation
        for function in analysis.functions
        for annotation in function.annotations
        if "::" not in annotation.path
    ]
    missing = [d for d in analysis.diagnostics if d.code == "FD009"]
    assert len(missing) == len(bare) or "::*" in text
