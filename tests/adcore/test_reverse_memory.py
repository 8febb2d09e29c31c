"""What a derivative allocates it frees, and its tape grows no faster than what it keeps."""

from __future__ import annotations

from functools import lru_cache

import pytest

from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.reverse.transform import kept
from gradients import Gradients, bytes_in_use, differentiate

SOURCE = """
#![allow(warnings)]
unsafe fn s<'a>(x: *const f64, n: usize) -> &'a [f64] { std::slice::from_raw_parts(x, n) }
#[unsafe(no_mangle)] pub unsafe extern "C" fn logistic(x: *const f64, n: usize) -> f64 {
    let x = s(x, n); let mut t = x[0]; for _ in 0..20000 { t = x[1] * t * (1.0 - t); } t }
#[unsafe(no_mangle)] pub unsafe extern "C" fn halving(x: *const f64, n: usize) -> f64 {
    let x = s(x, n); let mut t = 0.0;
    for i in 0..n { let mut u = x[i].abs() + 1.0; while u > 1e-6 { u = u * 0.5 * (1.0 + 0.1 * x[0].sin()); t += u * u; } } t }
#[unsafe(no_mangle)] pub unsafe extern "C" fn growing(x: *const f64, n: usize) -> f64 {
    let x = s(x, n); let mut v = vec![x[0]]; for i in 0..300 { let a = v[i / 2] * x[i % n]; v.push(a.sin()); } v.iter().sum() }
#[unsafe(no_mangle)] pub unsafe extern "C" fn throwaway(x: *const f64, n: usize) -> f64 {
    let x = s(x, n); let mut t = 0.0;
    for k in 0..50 { let v: Vec<f64> = x.iter().map(|a| a * (k as f64)).collect(); t += v.iter().map(|a| a.cos()).sum::<f64>(); } t }
#[inline(never)]
fn tree(x: &[f64], depth: usize) -> f64 {
    if depth == 0 { return x[0] * x[1]; }
    let v = vec![tree(x, depth - 1), tree(&x[1..], 0)];
    v[0] * v[1] + v[0].sin() }
#[unsafe(no_mangle)] pub unsafe extern "C" fn recursive(x: *const f64, n: usize) -> f64 { tree(s(x, n), 6) }
#[unsafe(no_mangle)] pub unsafe extern "C" fn dot(x: *const f64, n: usize) -> f64 {
    let x = s(x, n); x.iter().zip(x.iter().rev()).map(|(a, b)| a * b).sum() }
"""
NAMES = ("logistic", "halving", "growing", "throwaway", "recursive", "dot")
POINT = (0.3, 3.1, -0.4, 0.9)


@lru_cache(maxsize=1)
def compiled() -> Gradients:
    return Gradients(SOURCE, NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_leaked(name: str) -> None:
    gradients = compiled()
    for _ in range(3):
        gradients.gradient(name, POINT)
    before = bytes_in_use()
    for _ in range(300):
        gradients.gradient(name, POINT)
    assert bytes_in_use() - before < 40000


@pytest.mark.parametrize("name", ["halving", "growing", "throwaway", "recursive", "dot"])
def test_gradients_are_right(name: str) -> None:
    compiled().check(name, POINT, 1e-7)


def reports(name: str) -> list[tuple[int, str]]:
    """Bytes per iteration and reasons of what a derivative keeps."""
    from ferrodiff.adcore.backend.inlining import inline_for_reverse
    from ferrodiff.adcore.backend.passes import text_before_ad
    from ferrodiff.adcore.differentiate import _Work
    from ferrodiff.adcore.entry import Wanted, with_entry
    from ferrodiff.adcore.request import Request
    from rust_ir import rust_ir

    text, _ = with_entry(
        rust_ir(SOURCE), Wanted(name, f"d{name}", "reverse", ("Duplicated", "Const"), "Active")
    )
    work = _Work(Module.parse(inline_for_reverse(text_before_ad(text))))
    work.run()
    found = [kept(work.session, request) for request in work.made if isinstance(request, Request)]
    return [(k.bytes, k.reason) for reports in found for report in reports for k in report.kept]


def test_a_product_of_inputs_keeps_nothing() -> None:
    assert reports("dot") == []


def test_a_recurrence_keeps_its_state_once() -> None:
    assert [bytes for bytes, _ in reports("logistic")] == [8]


def test_what_cannot_be_differentiated_is_refused_with_its_place() -> None:
    source = """
#[inline(never)] unsafe fn opaque(p: *const f64) -> f64 { unsafe extern "C" { fn mystery(p: *const f64) -> f64; } mystery(p) }
#[unsafe(no_mangle)] pub unsafe extern "C" fn f(x: *const f64, n: usize) -> f64 { opaque(x) * 2.0 }
"""
    (error,) = differentiate(source, ["f"]).errors
    assert "mystery" in error.reason
    assert error.location is not None and error.location.line == 2
