"""Proposed annotations, explanations, and other ways to write an annotation."""

from __future__ import annotations

import pytest

from ferrodiff.analysis.diagnostics.core import Fix
from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.explain import explain
from ferrodiff.analysis.fixes import alternatives, rust_analyzer_stub
from ferrodiff.analysis.inference import annotate, count_floats, propose
from ferrodiff.analysis.model import Mode

IMPORTS = "use std::autodiff::*;\n"


def applied(text: str, fix: Fix) -> str:
    data = text.encode()
    for edit in sorted(fix.edits, key=lambda e: e.span.start, reverse=True):
        data = data[: edit.span.start] + edit.new_text.encode() + data[edit.span.end :]
    return data.decode()


@pytest.mark.parametrize(
    ("function", "mode", "expected"),
    [
        ("fn f(x: f64) -> f64 { x * x }", Mode.FORWARD, "#[autodiff_forward(df, Dual, Dual)]"),
        ("fn f(x: &[f64]) -> f64 { x[0] }", Mode.REVERSE, "#[autodiff_reverse(df, Duplicated, Active)]"),
        ("fn f(x: f64, out: &mut [f64]) { out[0] = x; }", Mode.FORWARD, "#[autodiff_forward(df, Dual, Dual)]"),
        ("fn f(a: f64, b: f64, n: usize) -> f64 { a * b + n as f64 }", Mode.REVERSE,
         "#[autodiff_reverse(df, Active, Active, Const, Active)]"),
        ("fn f(x: &[f64], idx: &[u32], y: f64) -> f64 { x[idx[0] as usize] }", Mode.REVERSE,
         "#[autodiff_reverse(df, Duplicated, Const, Const, Active)]"),
        ("fn r#loop(t: f64) -> [f64; 3] { [t, t, t] }", Mode.FORWARD, "#[autodiff_forward(dloop, Dual, Dual)]"),
        ("fn f(w: &[f32; 8], x: &[f32; 2], y: &mut [f32; 2]) { y[0] = w[0] * x[0]; }", Mode.REVERSE,
         "#[autodiff_reverse(df, Duplicated, Duplicated, Duplicated)]"),
    ],
)  # fmt: skip
def test_proposals(function: str, mode: Mode, expected: str) -> None:
    analysis = analyse(IMPORTS + function)
    first = propose(analysis.all_functions[0], analysis.source)[0]
    assert (first.mode, first.text) == (mode, expected)
    assert first.reason
    assert all(choice.reason for choice in first.choices)


@pytest.mark.parametrize(
    "function",
    [
        "fn f() {}",
        "fn f(n: usize) -> usize { n }",
        "fn f(x: f64) {}",
        "async fn f(x: f64) -> f64 { x }",
        "fn f((a, b): (f64, f64)) -> f64 { a }",
        "fn f(x: f64) -> ! { loop {} }",
        'extern "C" { fn f(x: f64) -> f64; }',
    ],
)
def test_no_proposals(function: str) -> None:
    analysis = analyse(function)
    assert not [p for f in analysis.all_functions for p in propose(f, analysis.source)]


def test_proposals_are_valid_annotations() -> None:
    text = (
        IMPORTS
        + "impl S {\n    fn m(&self, x: &[f64], k: f64, out: &mut [f64]) -> f64 { out[0] = x[0] * self.a; k }\n}\n"
    )
    analysis = analyse(text)
    (function,) = analysis.all_functions
    for proposal in propose(function, analysis.source):
        after = applied(text, annotate(function, proposal, analysis.source))
        assert f"    {proposal.text}\n    fn m" in after
        assert not [d for d in analyse(after).diagnostics if d.severity.value == "error"]


def test_unused_parameters_are_named_as_such() -> None:
    analysis = analyse("fn f(x: f64, y: f64) -> f64 { x }")
    choices = propose(analysis.all_functions[0], analysis.source)[0].choices
    assert choices[1].reason == "the body does not use it"


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("f64", 1),
        ("[f32; 4]", 4),
        ("(f64, [f64; 2], u8)", 3),
        ("&[f64]", 1000),
        ("usize", 0),
        ("Vec<f64>", 1000),
    ],
)
def test_counting_floats(written: str, count: int) -> None:
    assert count_floats(written) == count


def places(text: str) -> list[str]:
    (function,) = analyse(text).functions
    return [" ".join(e.sentences) for e in explain(function, function.annotations[0])]


def test_a_long_shadow_is_explained_with_its_numbers() -> None:
    first, second = places("#[autodiff_forward(df, 4, Dualv, Dualv)] fn f(x: &[f64], out: &mut [f64]) {}")
    assert "`bx_0` holds 4 tangents of length x.len(), lane k at [k*x.len()..(k+1)*x.len()]" in first
    assert "4*x.len() elements" in first
    assert "holds the tangent of what was written" in second


def test_gradients_are_found_in_the_returned_tuple() -> None:
    x, n, y, result = places(
        "#[autodiff_reverse(df, Active, Const, Active, Active)] fn f(x: f64, n: u8, y: f64) -> f64 { x * y }"
    )
    assert "item 2 of the returned tuple" in x
    assert "not differentiated" in n
    assert "item 3 of the returned tuple" in y
    assert "`dret`" in result


def test_who_zeroes_what() -> None:
    (x, out) = places("#[autodiff_reverse(df, Duplicated, Duplicated)] fn f(x: &[f64], out: &mut f64) {}")
    assert "The caller zeroes `dx_0`" in x
    assert "is set to 0" in out


def test_incomplete_annotations_are_explained_too() -> None:
    assert len(places("#[autodiff_reverse(df)] fn f(x: &[f64]) -> f64 { x[0] }")) == 2


def test_n_shadows_and_one_long_shadow() -> None:
    text = "#[autodiff_forward(df, 4, Dual, Const, Dual)] fn f(x: &[f64], k: f64) -> f64 { x[0] * k }"
    (function,) = analyse(text).functions
    fix = next(f for f in alternatives(function, function.annotations[0]) if "Dualv" in f.title)
    there = applied(text, fix)
    assert "(df, 4, Dualv, Const, Dual)" in there
    (function,) = analyse(there).functions
    back = next(f for f in alternatives(function, function.annotations[0]) if "(`Dual`)" in f.title)
    assert applied(there, back) == text


def test_the_other_mode() -> None:
    text = IMPORTS + "#[autodiff_forward(df, Dual, Const, Dual)] fn f(x: &[f64], k: f64) -> f64 { x[0] * k }"
    (function,) = analyse(text).functions
    fix = next(f for f in alternatives(function, function.annotations[0]) if "autodiff_reverse" in f.title)
    after = applied(text, fix)
    assert "#[autodiff_reverse(df, Duplicated, Const, Active)]" in after
    assert not analyse(after).diagnostics


def test_the_stub_for_rust_analyzer() -> None:
    text = IMPORTS + "#[autodiff_forward(df, Dual, Dual)]\npub fn f(x: f64) -> f64 { x }\n"
    (function,) = analyse(text).functions
    fix = rust_analyzer_stub(function, function.annotations[0])
    assert fix is not None
    after = applied(text, fix)
    assert "#[cfg_attr(not(rust_analyzer), autodiff_forward(df, Dual, Dual))]\npub fn f" in after
    assert "pub fn df(x: f64, bx_0: f64) -> (f64, f64) { unimplemented!() }" in after
    assert not analyse(after).diagnostics
