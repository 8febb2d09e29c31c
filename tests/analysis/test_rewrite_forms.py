"""Rewritten files type-check on stable rustc, in every edition, for many forms of functions."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ferrodiff.analysis.rewrite import rewrite

RUSTC = shutil.which("rustc")
needs_rustc = pytest.mark.skipif(RUSTC is None, reason="rustc is not installed")

TYPES = """
pub mod types {
    pub type Real = f64;
    pub struct Opaque;
    #[derive(Clone, Copy)]
    pub struct Point { pub x: f64, pub y: f64 }
    pub struct Wrapper(pub f64);
    pub struct Model { pub w: [f64; 4] }
    pub struct Borrowed<'a> { pub x: &'a [f64] }
}
"""

FREE = [
    ("forward(df, Dual, Dual)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, Dual, DualOnly)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, Dual, Const)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, Const, Dual, Dual)", "fn f(k: i32, t: f32) -> f32 { t * k as f32 }"),
    ("forward(df, Dual, Dual)", "fn f(u: &[f64], out: &mut [f64]) { out[0] = u[0] }"),
    ("forward(df, Const)", "fn f(t: f32) -> () {}"),
    ("forward(df)", "fn f() {}"),
    ("forward(df, Const)", "fn f() -> Opaque { Opaque }"),
    ("forward(df, Dual, Dual)", "fn f(w: &[f64; 3]) -> f64 { w[0] }"),
    ("forward(df, Dual, Dual)", "fn f(w: [f64; 3]) -> f64 { w[0] }"),
    ("forward(df, Dual, Dual)", "fn f(p: Point) -> f64 { p.x }"),
    ("forward(df, Dual, Dual)", "fn f(p: (f32, f32)) -> f32 { p.0 }"),
    ("forward(df, Dual, Dual)", "fn f(b: &Box<f64>) -> f64 { **b }"),
    ("forward(df, Dual, Dual)", "fn f(v: &Vec<f64>) -> f64 { v[0] }"),
    ("forward(df, Dual, Dual)", "fn f(v: Vec<f64>) -> f64 { v[0] }"),
    ("forward(df, 2, Dual)", "fn f(v: &mut Vec<f64>) { v.push(1.0) }"),
    ("reverse(df, 2, Duplicated)", "fn f(v: &mut Vec<f64>) { v.push(1.0) }"),
    ("forward(df, Dual, Dual)", "fn f(v: Box<[f64]>) -> Box<[f64]> { v }"),
    ("forward(df, Dual)", "fn f(q: *mut f64) { unsafe { *q = 0.0 } }"),
    ("forward(df, Dual, Dual)", "fn f(q: *const f64) -> f64 { unsafe { *q } }"),
    ("forward(df, DualOnly, Dual)", "fn f(u: &f64, out: &mut f64) { *out = *u }"),
    ("forward(df, Dual, DualOnly)", "fn f(w: &[f64; 2]) -> (f64, f64) { (w[0], w[1]) }"),
    ("forward(df, Dual, Const)", "fn f(w: &[f64; 2]) -> (f64, f64) { (w[0], w[1]) }"),
    ("forward(df, Dual, Dual)", "fn f(t: f64) -> Real { t }"),
    ("forward(df, Dual, Const)", "fn f(t: f64) -> Real { t }"),
    ("forward(df, 1, Dual, Dual)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, 2, Dual, Dual)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, 2, Dual, DualOnly)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, 3, Dual, Const, Dual)", "fn f(w: &[f32], k: f32) -> f32 { w[0] * k }"),
    ("forward(df, 2, Dual, Dual)", "fn f(u: &[f64], out: &mut [f64]) { out[0] = u[0] }"),
    ("forward(df, 4, Dualv, Dualv)", "fn f(u: &[f64], out: &mut [f64]) { out[0] = u[0] }"),
    ("forward(df, 2, Dualv, Const, Dual)", "fn f(u: &[f64], k: f64) -> f64 { u[0] * k }"),
    ("forward(df, Dual, Dualv)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, 4, Dual, DualvOnly)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, 4, DualvOnly)", "fn f(out: &mut [f64]) { out[0] = 0.0 }"),
    ("forward(df, 3, Dual, Const)", "fn f(t: f64) -> f64 { t }"),
    ("forward(df, 16, Dual, Dual)", "fn f(t: f64) -> [f64; 5] { [t; 5] }"),
    ("reverse(df, Active, Active)", "fn f(t: f64) -> f64 { t }"),
    ("reverse(df, Active, Active, Active)", "fn f(u: f32, v: f32) -> f64 { (u * v) as f64 }"),
    ("reverse(df, Active, ActiveOnly)", "fn f(t: f64) -> f64 { t }"),
    ("reverse(df, Active, Active, ActiveOnly)", "fn f(u: f64, v: f64) -> f64 { u * v }"),
    ("reverse(df, Active, Const)", "fn f(t: f64) -> f64 { t }"),
    ("reverse(df, Const, Const)", "fn f(t: f64) -> f64 { t }"),
    ("reverse(df, Duplicated, Active)", "fn f(w: &[f64]) -> f64 { w[0] }"),
    ("reverse(df, Duplicated, ActiveOnly)", "fn f(w: &[f64]) -> f64 { w[0] }"),
    ("reverse(df, Duplicated, Const)", "fn f(w: &f64) -> f64 { *w }"),
    ("reverse(df, Duplicated, Duplicated)", "fn f(w: &[f64; 4], out: &mut f64) { *out = w[0] }"),
    ("reverse(df, Active, Duplicated)", "fn f(t: f64, out: &mut f64) { *out = t }"),
    ("reverse(df, Active, Active, Duplicated)", "fn f(u: f64, v: f64, out: &mut f64) { *out = u * v }"),
    ("reverse(df, Active, Duplicated)", "fn f(t: f64, out: &mut f64) -> () { *out = t }"),
    ("reverse(df, Duplicated)", "fn f(out: &mut f64) -> () { *out = 1.0 }"),
    ("reverse(df, Duplicated, Active, Active)", "fn f(w: &[f32], t: f32) -> f32 { w[0] * t }"),
    ("reverse(df, Duplicated, Active)", "fn f(q: *const f32) -> f32 { unsafe { *q } }"),
    ("reverse(df, Duplicated, Active)", "fn f(q: *mut f32) -> f32 { unsafe { *q } }"),
    ("reverse(df, DuplicatedOnly, Duplicated)", "fn f(w: &mut [f64], out: &mut f64) { *out = w[0] }"),
    ("reverse(df, Duplicated, Active)", "fn f(v: &Vec<f64>) -> f64 { v[0] }"),
    ("reverse(df, Duplicated, Active)", "fn f(b: &Box<f32>) -> f32 { **b }"),
    ("reverse(df, Duplicated, Active)", "fn f(m: &[[f64; 3]; 3]) -> f64 { m[0][0] }"),
    ("reverse(df, Duplicated, Active)", "fn f(m: &[&[f64]]) -> f64 { m[0][0] }"),
    ("reverse(df, 2, Duplicated, Active)", "fn f(m: &mut [&[f64]]) -> f64 { m[0][0] }"),
    ("reverse(df, Const, Active, Active)", "fn f(g: fn(f32) -> f32, t: f32) -> f32 { g(t) }"),
    ("reverse(df, Active, Active)", "fn f(t: f64) -> (f64, f64) { (t, t) }"),
    ("reverse(df, Active, Active)", "fn f(t: f64) -> Wrapper { Wrapper(t) }"),
    ("reverse(df, ActiveOnly, Active)", "fn f(t: f64) -> f64 { t }"),
    (
        "reverse(df, 2, Duplicated, Const, Duplicated)",
        "fn f(w: &[f64; 3], k: &[f64; 3], out: &mut [f64; 2]) { out[0] = w[0] * k[0] }",
    ),
    ("reverse(df, 2, Duplicated, Active)", "fn f(w: &[f64]) -> f64 { w[0] }"),
    ("reverse(df, 2, Active, Active)", "fn f(t: f64) -> f64 { t }"),
    (
        "reverse(df, Duplicated, Active)",
        "fn f<T: Copy + std::ops::Mul<Output = T>>(x: &T) -> T { *x * *x }",
    ),
    ("reverse(df, Duplicated, Active)", "fn f<T, const N: usize>(x: &[T; N]) -> T where T: Copy { x[0] }"),
    ("forward(df, Dual, Const)", "fn f<T: Copy>(x: &T) -> T { *x }"),
    ("forward(df, Dual, Dual)", "fn f<'a>(x: &'a f64) -> &'a f64 { x }"),
    ("reverse(df, Duplicated, Active)", "fn f<'a>(x: &'a f64) -> f64 { *x }"),
    ("forward(df, Dual, Dual)", "fn f<'a>(x: &'a [f64]) -> f64 { x[0] }"),
    (
        "forward(df, Dual, Const, Dual)",
        "fn f<'a, 'b: 'a>(x: Borrowed<'a>, y: &'b f64) -> f64 { x.x[0] * *y }",
    ),
    ("reverse(df, Active, Active)", 'pub extern "C" fn f(t: f64) -> f64 { t }'),
    ("reverse(df, DuplicatedOnly)", 'extern "C" fn f(w: &mut f64) { *w = 1.0 }'),
    ("reverse(df, Active, Active)", "unsafe fn f(t: f64) -> f64 { t }"),
    ("forward(df, Dual, Dual)", "const fn f(t: f64) -> f64 { t }"),
    ("forward(df, Dual, Dual)", "pub(crate) const unsafe fn f(t: f64) -> f64 { t }"),
    ("reverse(df, Active, Active)", "fn f(mut t: f64) -> f64 { t *= t; t }"),
    ("forward(df, 2, Dual, Dual)", "fn f(mut t: f64) -> f64 { t *= t; t }"),
    ("forward(df, Dual, Dual)", "fn f(r#type: f64) -> f64 { r#type }"),
    ("forward(df, Dual, Dual)", "fn f(_t: f64) -> f64 { _t }"),
    ("forward(df, Dual, Dual)", "fn r#match(f: f64) -> f64 { f }"),
    ("forward(df, Dual, Dual)", "fn f(f: f64) -> f64 { f }"),
    ("forward(df, Dual, Const, Dual)", "fn f(x: f64, g: impl Fn(f64) -> f64) -> f64 { g(x) }"),
    ("forward(df, Dual, Const, Dual)", "fn f<G>(x: f64, g: G) -> f64 where G: Fn(f64) -> f64 { g(x) }"),
    ("forward(df, Dual, Const, Dual)", "fn f(x: f64, g: &dyn Fn(f64) -> f64) -> f64 { g(x) }"),
    ("forward(df, Dual, Dual)", "fn f(x: f64) -> Vec<f64> { vec![x] }"),
    ("forward(df, 3, Dual, Dual)", "fn f(x: f64) -> String { x.to_string() }"),
    ("forward(r#box, Dual, Dual)", "fn f(x: f64) -> Option<f64> { Some(x) }"),
    ("reverse(df, Duplicated, Active)", "pub(crate) fn f(w: &[f64]) -> f64 { w[0] }"),
    (
        "forward(df, " + "Dual, " * 14 + "Dual)",
        "fn f(" + ", ".join(f"a{i}: f64" for i in range(14)) + ") -> f64 { a0 + a13 }",
    ),
]

METHODS = [
    ("reverse(df, Const, Active, Active)", "fn f(&self, t: f64) -> f64 { t * self.w[0] }"),
    ("reverse(df, Duplicated, Const, Active)", "fn f(&self, t: f64) -> f64 { t * self.w[0] }"),
    ("reverse(df, Duplicated, Duplicated)", "fn f(&mut self, out: &mut f64) { *out = self.w[0] }"),
    ("forward(df, Dual, Dual, Dual)", "fn f(&self, t: f64) -> f64 { t * self.w[0] }"),
    ("forward(df, 3, Dual, Dual)", "fn f(self) -> f64 { self.w[0] }"),
    ("reverse(df, Duplicated, Active)", "fn f(self: &Model) -> f64 { self.w[0] }"),
    ("forward(df, Dual, Dual)", "fn f(self: Box<Self>) -> f64 { self.w[0] }"),
    ("forward(df, Dual, Dual)", "fn f(x: f64) -> Self { Model { w: [x; 4] } }"),
    ("forward(df, Dual, Dual)", "fn f<'s>(&'s mut self) -> &'s mut f64 { &mut self.w[0] }"),
    ("forward(df, Dual, Dual)", "fn f<const K: usize>(&self) -> f64 { self.w[K] }"),
]

WHOLE = """
pub mod traits {
    use super::types::*;
    pub trait Energy {
        #[ATTR_forward(energy_jvp, Dual, Const, Dual)]
        fn energy(&self, k: f64) -> f64;
        #[ATTR_reverse(twice_vjp, Duplicated, Active)]
        fn twice(&self) -> f64 { 2.0 * self.energy(1.0) }
        #[ATTR_forward(make_jvp, Dual, Const)]
        fn make(x: f64) -> Self where Self: Sized;
    }
    impl Energy for Point {
        fn energy(&self, k: f64) -> f64 { self.x * k }
        fn make(x: f64) -> Self { Point { x, y: x } }
    }
    pub trait Both { fn f(&self) -> f64; fn df(&self, b: &Self) -> (f64, f64); }
    pub trait Other { fn f(&self) -> f64; }
    impl Other for Point { fn f(&self) -> f64 { 1.0 } }
    impl Both for Point {
        #[ATTR_forward(df, Dual, Dual)]
        fn f(&self) -> f64 { self.y }
    }
    pub struct Of<T, const N: usize>(pub [T; N]);
    impl<T: Copy, const N: usize> Of<T, N> {
        #[ATTR_reverse(first_vjp, Duplicated, Active)]
        pub fn first(&self) -> T { self.0[0] }
        #[ATTR_forward(with_jvp, Dual, Dual, Dual)]
        pub fn with<U: Into<f64>>(&self, u: U) -> f64 { u.into() }
    }
    pub fn instances() -> f64 {
        let (p, d) = (Point { x: 1.0, y: 2.0 }, Point { x: 1.0, y: 2.0 });
        let mut shadow = Of([0.0, 0.0]);
        Of([1.0, 2.0]).first_vjp(&mut shadow, 1.0)
            + Of([1.0]).with_jvp(&Of([1.0]), 1.0_f32, 2.0_f32).1
            + Both::df(&p, &d).0 + p.energy_jvp(&d, 1.0).1
    }
}
pub mod attributes {
    /// Documented.
    #[ATTR_forward(a_jvp, Dual, Dual)]
    /// More.
    #[inline]
    #[must_use]
    pub fn a(x: f64) -> f64 { x }

    /** Block. */
    #[must_use]
    #[inline(always)]
    #[ATTR_forward(b_jvp, Dual, Dual)]
    #[ATTR_reverse(
        b_vjp, // comment
        Active,

        Active,
    )]
    #[allow(unused_mut)]
    pub(super) fn b(mut x: f64) -> f64 { x }

    #[cfg(any())]
    #[ATTR_forward(c_jvp, Dual, Dual)]
    pub fn c(x: Missing) -> Missing { x }

    #[cfg_attr(all(), ATTR_forward(d_jvp, Dual, Dual), must_use)]
    #[cfg_attr(any(), ATTR_forward(e_jvp, Dual, Dual))]
    pub fn d(x: f64) -> f64 { x }

    pub fn instances() -> f64 {
        fn local(x: f64) -> f64 { inner_jvp(x, 1.0).1 }
        #[ATTR_forward(inner_jvp, Dual, Dual)]
        fn inner(x: f64) -> f64 { x * x }
        mod deep {
            pub mod deeper {
                #[ATTR_forward(deep_jvp, Dual, Dual)]
                pub fn deep(x: f64) -> f64 { x }
            }
        }
        local(1.0) + a_jvp(1.0, 1.0).0 + b_jvp(1.0, 1.0).0 + b_vjp(1.0, 1.0).1 + d_jvp(1.0, 1.0).1
            + deep::deeper::deep_jvp(1.0, 1.0).1
    }
}
"""


def forms() -> str:
    """One file with all forms, each function in a module of its own."""
    parts = [
        "#![feature(autodiff)]\n#![deny(warnings)]\n#![deny(unsafe_op_in_unsafe_fn)]\n",
        "#![allow(dead_code, unused_variables)]\n",
    ]
    parts.append(TYPES)
    for number, (attribute, function) in enumerate(FREE):
        parts.append(
            f"pub mod free_{number} {{\n    #[allow(unused_imports)]\n    use super::types::*;\n"
            f"    use std::autodiff::autodiff_{attribute.partition('(')[0]};\n"
            f"    #[autodiff_{attribute}]\n    {function}\n}}\n"
        )
    for number, (attribute, function) in enumerate(METHODS):
        parts.append(
            f"pub mod method_{number} {{\n    pub struct Model {{ pub w: [f64; 4] }}\n    impl Model {{\n"
            f"    #[std::autodiff::autodiff_{attribute}]\n    {function}\n    }}\n}}\n"
        )
    parts.append(WHOLE.replace("ATTR", "std::autodiff::autodiff"))
    return "".join(parts)


def compile_library(folder: Path, text: str, edition: str) -> subprocess.CompletedProcess[str]:
    source = folder / "forms.rs"
    source.write_bytes(text.encode())
    assert RUSTC is not None
    command = [
        RUSTC,
        "--edition",
        edition,
        "--crate-type",
        "lib",
        "--emit",
        "metadata",
        "--out-dir",
        str(folder),
    ]
    return subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=120, check=False)


@needs_rustc
@pytest.mark.parametrize("edition", ["2018", "2021", "2024"])
def test_forms_compile(tmp_path: Path, edition: str) -> None:
    result = rewrite(forms(), path="forms.rs")
    assert not result.refused
    done = compile_library(tmp_path, result.text, edition)
    assert done.returncode == 0, done.stderr[:4000]


@needs_rustc
def test_forms_compile_without_shadow_checks(tmp_path: Path) -> None:
    result = rewrite(forms(), shadow_checks=False)
    assert "check(" not in re.sub(r"(?s)mod __ferrodiff \{.*", "", result.text)
    done = compile_library(tmp_path, result.text, "2021")
    assert done.returncode == 0, done.stderr[:4000]


@needs_rustc
@pytest.mark.parametrize("edition", ["2018", "2024"])
def test_strict_crates_compile(tmp_path: Path, edition: str) -> None:
    text = """\
#![no_std]
#![feature(autodiff)]
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, missing_debug_implementations, unused_results)]
#![forbid(non_snake_case)]
//! A strict crate.
use core::autodiff::*;

/// Documented.
#[autodiff_forward(f_jvp, Dual, Dual)]
#[autodiff_reverse(f_vjp, Duplicated, Active)]
pub fn f(x: &[f64]) -> f64 {
    x[0]
}
"""
    result = rewrite(text)
    assert len(result.notes) == 2
    done = compile_library(tmp_path, result.text, edition)
    assert done.returncode == 0, done.stderr[:4000]


@needs_rustc
def test_non_ascii_and_crlf_compile(tmp_path: Path) -> None:
    text = (
        "// Zeilenenden wie unter Windows, größer als ASCII\r\n"
        "#![feature(autodiff)]\r\n"
        "\tuse std::autodiff::autodiff_forward;\r\n"
        "/// Höhe.\r\n"
        "#[autodiff_forward(\r\n\thöhe_jvp,\r\n\tDual, // ä\r\n\tDual,\r\n)]\r\n"
        "pub fn höhe(größe: f64) -> f64 { größe }\r\n"
    )
    result = rewrite(text, path='größe\\"x.rs')
    assert result.text.count("\r\n") == text.count("\r\n")
    done = compile_library(tmp_path, result.text, "2021")
    assert done.returncode == 0, done.stderr[:4000]
