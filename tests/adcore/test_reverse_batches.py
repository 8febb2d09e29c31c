"""Batches: N adjoints in one sweep agree with N sweeps, lane by lane."""

from __future__ import annotations

from functools import lru_cache

import pytest

from ferrodiff.adcore.backend.inlining import inline_for_reverse
from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry
from gradients import ARRAY, SIZE, Gradients, array
from rust_ir import rust_ir, rust_libraries

SOURCE = """
#![allow(warnings)]
unsafe fn s<'a>(x: *const f64, n: usize) -> &'a [f64] { std::slice::from_raw_parts(x, n) }
fn products(x: &[f64]) -> f64 { let mut t = 0.0; for i in 0..x.len() { let mut p = 1.0; for j in 0..=i { p *= x[j]; } t += p.sin(); } t }
fn scratch(x: &[f64]) -> f64 { let mut w = [0.0; 4]; let mut t = 0.0;
    for i in 0..x.len() { for k in 0..4 { w[k] = x[i] * x[(i + k) % x.len()]; } t += w.iter().map(|v| v.exp()).sum::<f64>().ln(); } t }
fn heap(x: &[f64]) -> f64 { let mut v = Vec::new(); for a in x { v.push(a * a); if *a > 0.0 { v.push(a.cos()); } } v.iter().product() }
fn swaps(x: &[f64]) -> f64 { let (mut u, mut v) = (x.to_vec(), vec![0.0; x.len()]);
    for _ in 0..3 { for i in 1..x.len() { v[i] = u[i] * u[i - 1]; } v[0] = u[0]; std::mem::swap(&mut u, &mut v); } u.iter().sum() }
#[inline(never)]
fn tree(x: &[f64]) -> f64 { if x.len() < 2 { return x[0] * x[0]; } let (a, b) = x.split_at(x.len() / 2); tree(a) * tree(b) + x[0] }
fn select(x: &[f64]) -> f64 { x.iter().fold(x[0], |a, b| if a * a > *b { a * b } else { b - a }) + x[1].max(x[2]) }
macro_rules! export { ($($name:ident $plain:ident $out:ident),*) => { $(
    #[unsafe(no_mangle)] pub unsafe extern "C" fn $plain(x: *const f64, n: usize) -> f64 { $name(s(x, n)) }
    #[unsafe(no_mangle)] pub unsafe extern "C" fn $out(x: *const f64, n: usize, out: *mut f64) { *out = $name(s(x, n)) }
)* } }
export!(products p_products o_products, scratch p_scratch o_scratch, heap p_heap o_heap, swaps p_swaps o_swaps,
        tree p_tree o_tree, select p_select o_select);
"""
NAMES = ("products", "scratch", "heap", "swaps", "tree", "select")
POINT = (0.7, -0.4, 1.1, 0.35, -0.9)


@lru_cache(maxsize=1)
def singles() -> Gradients:
    return Gradients(SOURCE, [f"p_{name}" for name in NAMES])


@lru_cache(maxsize=3)
def batch(width: int) -> Jit:
    text = rust_ir(SOURCE)
    for name in NAMES:
        wanted = Wanted(
            f"o_{name}", f"d_{name}", "reverse", ("Duplicated", "Const", "Duplicated"), "None", width
        )
        text, _ = with_entry(text, wanted)
    done = differentiate_module(inline_for_reverse(text_before_ad(text)))
    assert done.errors == []
    names = [f"d_{name}" for name in NAMES]
    return Jit(text_after_ad(done.text), exports=names, libraries=rust_libraries())


@pytest.mark.parametrize("width", [2, 3, 8])
@pytest.mark.parametrize("name", NAMES)
def test_lanes(name: str, width: int) -> None:
    n = len(POINT)
    call = batch(width).function(f"d_{name}", None, ARRAY, *[ARRAY] * width, SIZE, ARRAY, *[ARRAY] * width)
    shadows = [array([0.5 * k] * n) for k in range(width)]
    seeds = [array([1.0 - 0.75 * k]) for k in range(width)]
    out = array([0.0])
    call(array(POINT), *shadows, n, out, *seeds)
    value, gradient = singles().gradient(f"p_{name}", POINT)
    assert out[0] == value
    for k in range(width):
        assert seeds[k][0] == 0.0
        expected = [0.5 * k + (1.0 - 0.75 * k) * g for g in gradient]
        assert list(shadows[k]) == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_single_lane_is_right(name: str) -> None:
    singles().check(f"p_{name}", POINT)
