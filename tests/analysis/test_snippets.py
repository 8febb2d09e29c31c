"""Generated examples and gradient tests, compiled and run by rustc against hand-written derivatives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ferrodiff.analysis.document import analyse
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.analysis.snippets import NoSnippet, call_example, gradient_test, shape_of

# Annotation, primal, and the derivative's body as a person would write it.
CASES = [
    ("#[autodiff_reverse(d1, Active, Active)]", "fn f1(x: f64) -> f64 { x * x }", "(x * x, 2.0 * x * dret)"),
    (
        "#[autodiff_reverse(d2, Duplicated, Active, Active)]",
        "fn f2(w: &[f64], k: f64) -> f64 { k * w.iter().map(|v| v * v).sum::<f64>() }",
        "for (d, v) in dw_0.iter_mut().zip(w) { *d += dret * 2.0 * k * v; } (f2(w, k), dret * f2(w, 1.0))",
    ),
    (
        "#[autodiff_forward(d3, Dual, Dual, Dual)]",
        "fn f3(u: f64, v: f64) -> f64 { u * v }",
        "(u * v, bu_0 * v + u * bv_0)",
    ),
    (
        "#[autodiff_forward(d4, 2, Dual, Const, Dual)]",
        "fn f4(x: &[f64; 3], n: usize) -> f64 { x[n] * x[0] }",
        "let t = |b: &[f64; 3]| b[n] * x[0] + x[n] * b[0]; [x[n] * x[0], t(bx_0), t(bx_1)]",
    ),
    (
        "#[autodiff_forward(d5, Dual, Dual)]",
        "fn f5(x: &[f64], out: &mut [f64]) { for (o, v) in out.iter_mut().zip(x) { *o = v * v; } }",
        "f5(x, out); for i in 0..x.len() { bout_0[i] = 2.0 * x[i] * bx_0[i]; }",
    ),
    (
        "#[autodiff_reverse(d6, Duplicated, Duplicated)]",
        "fn f6(x: &[f64], out: &mut f64) { *out = x.iter().sum(); }",
        "f6(x, out); for d in dx_0.iter_mut() { *d += *dout_0; } *dout_0 = 0.0;",
    ),
    (
        "#[autodiff_reverse(d7, Duplicated, ActiveOnly)]",
        "fn f7(x: &Vec<f32>) -> f32 { x.iter().sum() }",
        "for d in dx_0.iter_mut() { *d += dret; }",
    ),
    (
        "#[autodiff_reverse(d8, DuplicatedOnly, Active)]",
        "fn f8(x: &f64) -> f64 { x * 3.0 }",
        "*dx_0 += 3.0 * dret; x * 3.0",
    ),
    ("#[autodiff_forward(d9, Dual, DualOnly)]", "fn f9(x: f32) -> f32 { x * 0.5 }", "bx_0 * 0.5"),
    (
        "#[autodiff_reverse(d10, Active, Active, Active)]",
        "fn f10(u: f64, a: [f64; 2]) -> f64 { u * a[0] + a[1] }",
        "(f10(u, a), dret * a[0], [dret * u, dret])",
    ),
]


@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
def test_examples_and_tests_compile_and_pass(tmp_path: Path) -> None:
    parts = ["#![allow(unused)]", "struct Model { a: f64 }"]
    for attribute, primal, body in CASES:
        analysis = analyse(f"{attribute}\n{primal}\n")
        (function,) = analysis.functions
        (annotation,) = function.annotations
        signature = derivative_signature(function, annotation).text
        parts += [primal, f"{signature} {{ {body} }}"]
        parts.append(gradient_test(analysis.source, function, annotation))
        example = call_example(analysis.source, function, annotation)
        parts.append(f"fn {annotation.name}_example() {{\n{example}\n}}")
    file = tmp_path / "all.rs"
    file.write_text("\n".join(parts), "utf-8")
    program = tmp_path / "all"
    built = subprocess.run(
        ["rustc", "--test", "--edition", "2021", "-Cdebuginfo=0", str(file), "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program), "-q"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{len(CASES)} passed" in done.stdout, done.stdout


def test_a_wrong_derivative_fails_its_test(tmp_path: Path) -> None:
    """What the generated test is for."""
    analysis = analyse("#[autodiff_reverse(d, Duplicated, Active)]\nfn f(x: &[f64]) -> f64 { x[0] * x[1] }\n")
    text = gradient_test(analysis.source, analysis.functions[0], analysis.functions[0].annotations[0])
    assert "matches_finite_differences" in text and "1.0 / (1.0 + i as f64)" in text


def test_a_method_call() -> None:
    analysis = analyse(
        "struct M { a: f64 }\nimpl M {\n#[autodiff_reverse(d, Duplicated, Active, Active)]\n"
        "fn f(&self, x: f64) -> f64 { self.a * x }\n}\n"
    )
    (function,) = analysis.functions
    text = call_example(analysis.source, function, function.annotations[0])
    assert "let (value, dx) = model.d(&mut dself_0, x, seed);" in text and "M { a: 0.5 }" in text


@pytest.mark.parametrize(
    "attribute,primal",
    [
        ("#[autodiff_reverse(d, Duplicated, Active)]", "fn f(x: &Thing) -> f64 { x.a }"),
        ("#[autodiff_reverse(d, Const, Const)]", "fn f(x: f64) -> f64 { x }"),
        ("#[autodiff_forward(d, 2, Dualv, Dual)]", "fn f(x: &[f64]) -> f64 { x[0] }"),
        ("#[autodiff_reverse(d)]", "fn f(x: f64) -> f64 { x }"),
        ("#[autodiff_reverse]", "fn f(x: f64) -> f64 { x }"),
        ("#[autodiff_reverse(d, Active, Active)]", "fn f((a, b): (f64, f64)) -> f64 { a }"),
        ("#[autodiff_reverse(d, Active, Active)]", "fn f(x: f64) -> Complex { x }"),
    ],
)
def test_what_cannot_be_tested_is_refused(attribute: str, primal: str) -> None:
    analysis = analyse(f"{attribute}\n{primal}\n")
    (function,) = analysis.functions
    with pytest.raises(NoSnippet):
        gradient_test(analysis.source, function, function.annotations[0])


def test_shapes() -> None:
    shape = shape_of("&mut [f64]")
    assert shape is not None and (shape.kind, shape.mutable, shape.element) == ("slice", True, "f64")
    shape = shape_of("&'a [f32; 3]")
    assert shape is not None and (shape.kind, shape.length, shape.by_reference) == ("array", "3", True)
    assert shape_of("Vec<f64>") is not None and shape_of("&[u8]") is None and shape_of("[f64; N]") is None


def test_a_call_with_structs_lifetimes_and_lengths() -> None:
    """Gradients start at zero whatever holds them, and lengths that are parameters get a number."""
    text = """
struct P { x: f64, y: Vec<f64> }
#[autodiff_reverse(dn, Duplicated, Active)]
fn n(p: &P) -> f64 { p.x }
#[autodiff_reverse(dl, Duplicated, Active)]
fn l<'a, const N: usize>(x: &'a mut [f64; N]) -> f64 { x[0] }
"""
    analysis = analyse(text)
    first, second = [call_example(analysis.source, f, f.annotations[0]) for f in analysis.functions]
    assert "let mut dp_0 = P { x: 0.0, y: vec![0.0, 0.0, 0.0] }; // gradient of p" in first
    assert second.splitlines() == [
        "let mut x = [0.5, 1.25, 0.75];",
        "let mut dx_0 = [1.0; 3]; // seed for x; consumed by the call",
        "let seed = 1.0; // scales the gradient",
        "let value = dl(&mut x, &mut dx_0, seed);",
    ]
