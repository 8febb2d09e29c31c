"""Proposed annotations, explanations, and other ways to write an annotation."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ferrodiff.analysis.diagnostics.core import Fix
from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.explain import explain
from ferrodiff.analysis.fixes import alternatives, rust_analyzer_stub
from ferrodiff.analysis.inference import annotate, count_floats, propose
from ferrodiff.analysis.model import Activity, Mode

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


UNUSED = [
    "x /* y */",
    'let s = "y"; x',
    "x.y",
    "// y\n    x",
    "fn g(y: f64) -> f64 { y }\n    g(x)",
    "let y = x; x",
]
USED = [
    'println!("{y}"); x',
    'println!("{:1$}", x, y); x',
    'format!("{y:>8.3}"); x',
    "assert!(y > 0.0); x",
    "(|| y * x)()",
    "P { y }.total() * x",
    "{ x + { y } }",
]


@pytest.mark.parametrize("body", UNUSED)
def test_names_that_are_no_uses(body: str) -> None:
    assert "y" in inactive(f"fn f(x: f64, y: f64) -> f64 {{\n    {body}\n}}")


@pytest.mark.parametrize("body", USED)
def test_names_that_are_uses(body: str) -> None:
    assert "y" not in inactive(f"fn f(x: f64, y: f64) -> f64 {{\n    {body}\n}}")


def inactive(text: str) -> set[str]:
    """The parameters that the first proposal leaves out."""
    analysis = analyse(text)
    function = next(f for f in analysis.all_functions if f.name == "f")
    first = propose(function, analysis=analysis)[0]
    return {
        str(p.name)
        for p, c in zip(function.parameters, first.choices, strict=False)
        if c.activity is Activity.CONST
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("struct P { n: usize }\nfn f(p: &P, x: f64) -> f64 { x * p.n as f64 }", {"p"}),
        ("struct P { n: f64 }\nfn f(p: &P, x: f64) -> f64 { x * p.n }", set()),
        ("struct P(u8);\nimpl P { fn f(&self, x: f64) -> f64 { x * self.0 as f64 } }", {"self"}),
        ("fn f<F: Fn(f64) -> f64>(g: F, x: f64) -> f64 { g(x) }", {"g"}),
        ("fn f<F>(g: &F, x: f64) -> f64 where F: FnMut(f64) -> f64 { g(x) }", {"g"}),
        ("fn f(g: Box<dyn Fn(f64) -> f64>, x: f64) -> f64 { g(x) }", {"g"}),
        ("fn f(g: &dyn Fn(f64) -> f64, x: f64) -> f64 { g(x) }", {"g"}),
        ("fn f<T: Copy>(a: T, x: f64) -> f64 { g(a, x) }", set()),
    ],
)
def test_what_the_file_says_about_types(text: str, expected: set[str]) -> None:
    assert inactive(text) == expected


@pytest.mark.parametrize(
    ("text", "outputs_read"),
    [
        ("fn f(x: f64, o: &mut [f64; 2]) { o[0] = x; (*o)[1] = 2.0 * x; }", False),
        ("fn f(x: f64, o: &mut [f64; 2]) { o[0] += x; }", True),
        ("fn f(x: f64, o: &mut [f64; 2]) { o.fill(x); o[o.len() - 1] = x; }", False),
        ("fn f(x: f64, o: &mut [f64; 2]) { o[0] = x; o[1] = o[0]; }", True),
        ("fn f(x: f64, o: &mut [f64; 2]) { g(x, o); }", True),
    ],
)
def test_outputs_are_told_from_memory_that_is_also_read(text: str, outputs_read: bool) -> None:
    analysis = analyse(text)
    reason = propose(analysis.all_functions[0], analysis=analysis)[0].reason
    assert reason.startswith("3 floats in" if outputs_read else "1 float in")


BATCHES = [
    ("fn f(a: f64, b: f64) -> f64 { a * b }", "#[autodiff_forward(df, 2, Dual, Dual, Dual)]"),
    ("fn f(x: &[f64; 2], o: &mut [f64; 3]) { *o = [x[0]; 3]; }", "#[autodiff_reverse(df, 3, Duplicated, Duplicated)]"),
    ("fn f(x: &[f64], o: &mut [f64]) { o[0] = x[0]; }", "#[autodiff_forward(df, 4, Dualv, Dualv)]"),
    ("type Real = f64;\nfn f(a: Real, b: Real) -> Real { a * b }", "#[autodiff_forward(df, 2, Dual, Dual, Dual)]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BATCHES)
def test_batches_where_one_call_does_for_several(text: str, expected: str) -> None:
    analysis = analyse(text)
    assert expected in [p.text for p in propose(analysis.all_functions[0], analysis=analysis)]


@pytest.mark.parametrize(
    "text",
    [
        "fn f(x: f64) -> f64 { x }",
        "fn f(x: Unknown, y: Unknown) -> f64 { x * y }",
        "fn f(x: &[f64; 40]) -> f64 { x[0] }",
        "fn f(x: f64, bx_1: f64) -> f64 { x * bx_1 }",
    ],
)
def test_no_batches_for_nothing_or_on_a_guess(text: str) -> None:
    analysis = analyse(text)
    found = propose(analysis.all_functions[0], analysis=analysis)
    assert found and all(p.width == 1 for p in found)


def test_names_and_shadows_do_not_clash_with_what_is_there() -> None:
    analysis = analyse("fn df() {}\nfn f(x: f64) -> f64 { x }\nfn g(x: f64, dret: f64) -> f64 { x * dret }")
    _, f, g = analysis.all_functions
    assert {p.name for p in propose(f, analysis=analysis)} == {"df_fwd", "df_rev"}
    assert {p.mode for p in propose(g, analysis=analysis)} == {Mode.FORWARD}
    analysis = analyse("mod m {\n    fn df() {}\n    fn f(x: f64) -> f64 { x }\n}\nimpl S { fn df() {} }\n")
    inner = next(f for f in analysis.all_functions if f.name == "f")
    assert {p.name for p in propose(inner, analysis=analysis)} == {"df_fwd", "df_rev"}


@pytest.mark.parametrize(
    ("function", "possible"),
    [
        ("fn f(x: &mut f64) -> &mut f64 { x }", False),
        ("fn f(x: &[f64]) -> Option<&f64> { x.first() }", False),
        ("fn f<'a>(x: &'a f64) -> &'a f64 { x }", True),
        ("impl S { fn f(&self, x: &f64) -> &f64 { &self.x } }", True),
    ],
)
def test_a_shadow_must_not_make_a_lifetime_ambiguous(function: str, possible: bool) -> None:
    analysis = analyse(function)
    assert bool(propose(analysis.all_functions[0], analysis=analysis)) is possible


def test_values_that_own_memory_are_differentiated_forward_first() -> None:
    analysis = analyse("fn f(x: Vec<f64>) -> f64 { x[0] }")
    first = propose(analysis.all_functions[0], analysis=analysis)[0]
    assert first.mode is Mode.FORWARD and "owns its memory" in first.reason


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is the oracle")
def test_rustc_expands_every_proposal(tmp_path: Path) -> None:
    texts = [
        *[text for text, _ in BATCHES],
        "fn f(x: f64) -> [f64; 3] { [x; 3] }",
        "fn f<'a, T: Copy>(x: &'a [T], y: T) -> T { y }",
        "fn f(x: *const f64, n: usize, out: *mut f64) { unsafe { *out = *x.add(n) } }",
        "fn f<'a>(x: &'a mut f64) -> &'a mut f64 { x }",
        "fn f<'a>(x: &'a [f64; 2]) -> &'a f64 { &x[0] }",
        "fn f(x: f64, dret: f64) -> f64 { x * dret }",
        "fn r#loop(r#type: f64) -> f64 { r#type }",
    ]
    parts: list[str] = []
    for text in texts:
        analysis = analyse(text)
        function = analysis.all_functions[0]
        for proposal in propose(function, analysis=analysis):
            after = applied(text, annotate(function, proposal, analysis.source))
            parts.append(f"mod m{len(parts)} {{\n{IMPORTS}{after}\n}}")
    assert len(parts) > 20
    file = tmp_path / "proposals.rs"
    file.write_text("#![feature(autodiff)]\n#![allow(unused)]\n" + "\n".join(parts) + "\nfn main() {}\n")
    command = ["rustc", "-Zunpretty=expanded", "--edition", "2024", str(file)]
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "RUSTC_BOOTSTRAP": "1"},
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("rustc_autodiff(") >= len(parts)


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
    assert "`bx_0` holds 4 tangents of length `x.len()`, lane k at `[k*x.len()..(k+1)*x.len()]`" in first
    assert "`4*x.len()` elements" in first
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
    assert (
        "#[cfg_attr(not(rust_analyzer), std::autodiff::autodiff_forward(df, Dual, Dual))]\npub fn f" in after
    )
    assert "pub fn df(x: f64, bx_0: f64) -> (f64, f64) { unimplemented!() }" in after
    assert not analyse(after).diagnostics
