"""Gradients of Rust functions with every shape of control flow and memory, against finite differences."""

from __future__ import annotations

from functools import lru_cache

import pytest

from gradients import Gradients
from rust_ir import UNOPTIMISED

HEADER = "#![allow(warnings)]\nunsafe fn s<'a>(x: *const f64, n: usize) -> &'a [f64] { std::slice::from_raw_parts(x, n) }\n"

BODIES = {
    "straight": "let x = s(x, n); (x[0] * x[1]).sin() / (1.0 + x[2] * x[2]) - x[1].exp()",
    "branches": "let x = s(x, n); if x[0] > x[1] { x[0] * x[2] } else if x[2] > 0.0 { x[1].sin() } else { x[1] * x[2] }",
    "counted": "let mut t = 1.0; for v in s(x, n) { t = t * v + v.cos(); } t",
    "triangle": "let x = s(x, n); let mut t = 0.0; for i in 0..n { let mut p = 1.0; for j in 0..=i { p *= x[j]; } t += p; } t",
    "data_dependent": "let x = s(x, n); let mut t = x[0]; let mut k = 0; while t.abs() < 50.0 && k < 100 { t = t * 1.5 + x[k % n] * t.sin(); k += 1; } t",
    "labels": """let x = s(x, n); let mut t = 0.0;
        'outer: for i in 0..n { for j in 0..n {
            if (i * j) % 5 == 4 { continue 'outer; } if i + j == 6 { break 'outer; }
            t += x[i] * x[j].sin(); } t *= 0.9; } t""",
    "early": "let x = s(x, n); let mut t = 1.0; for i in 0..n { t *= 1.0 + x[i]; if t > 1.5 { return t * x[i]; } } t.sqrt()",
    "switch": "let x = s(x, n); let mut t = 0.3; for i in 0..3 * n { t = match i % 5 { 0 => t * x[0], 1 => t + x[1], 2 => t.sin(), 3 => x[2] / (1.0 + t * t), _ => t - x[i % n] } } t",
    "zero_trips": "let x = s(x, n); let mut t = x[0]; for i in n..n { t *= x[i]; } for i in 1..1 { t += 1.0; } t * t",
    "pointers": "let x = s(x, n); let (mut a, mut b) = (&x[0], &x[1]); let mut t = 0.0; for i in 0..n { t += *a * *b * *b; let c = a; a = b; b = if i % 2 == 0 { c } else { &x[2] }; } t",
    "nested_while": """let x = s(x, n); let mut t = 0.5;
        for i in 0..n { let mut u = x[i]; while u.abs() > 0.1 { u *= 0.5 + 0.1 * t; t += u * x[0]; } } t""",
    "scratch": """let x = s(x, n); let mut total = 0.0; let mut w = [0.0; 6];
        for i in 0..n { for k in 0..6 { w[k] = x[i] * (k as f64 + x[(i + k) % n]); }
            let m = w.iter().fold(w[0], |a, b| if *b > a { *b } else { a });
            total += m + w.iter().map(|v| (v - m).exp()).sum::<f64>().ln(); } total""",
    "in_place": "let mut u = s(x, n).to_vec(); for _ in 0..3 { for i in 1..n { u[i] = u[i] * u[i - 1] + 0.1; } } u.iter().sum()",
    "swapped": """let x = s(x, n); let (mut u, mut v) = (x.to_vec(), vec![0.0; n]);
        for _ in 0..5 { for i in 0..n { v[i] = u[i] + 0.2 * u[(i + 1) % n] * u[i]; } std::mem::swap(&mut u, &mut v); }
        u.iter().map(|a| a * a).sum()""",
    "pushes": "let mut v = Vec::new(); for a in s(x, n) { v.push(a * a); if *a > 0.3 { v.push(a.sin()); } } v.iter().rev().enumerate().map(|(i, a)| a * (i as f64 + 0.5)).sum()",
    "clones": "let v = s(x, n).to_vec(); let mut w = v.clone(); w[0] = v[1] * v[2]; w.extend_from_slice(&v); w.rotate_left(2); w.iter().zip(&v).map(|(a, b)| a * b).sum()",
    "boxes": "let x = s(x, n); let mut t = 0.0; for i in 0..n { let b = Box::new([x[i], x[(i + 1) % n]]); let c = b.clone(); t += b[0] * c[1]; } t",
    "rows": "let x = s(x, n); let mut m = vec![vec![0.0; n]; n]; for i in 0..n { for j in 0..n { m[i][j] = x[i] * x[j].cos(); } } let mut t = 0.0; for i in 0..n { for j in 0..n { t += m[j][i] * m[i][n - 1 - j]; } } t",
    "moved": "let mut a = [0.0; 5]; a.copy_from_slice(&s(x, n)[..5]); a.copy_within(0..3, 1); a.copy_within(2..5, 0); a.iter().enumerate().map(|(i, v)| v * v * (i as f64 + 1.0)).sum()",
    "sorted": "let mut v = s(x, n).to_vec(); v.sort_by(|a, b| b.partial_cmp(a).unwrap()); v.iter().enumerate().map(|(i, a)| a * a * (i as f64)).sum()",
    "mixed": "let x = s(x, n); let mut t = 0.0f32; for v in x { t += (*v as f32) * 0.5; } (t as f64) * x[0] * 0.0 + x[1] * x[0]",
    "recursive": "tree(s(x, n), 3)",
    "mutual": "even(s(x, n), 0, 0.7)",
    "fallible": "s(x, n).iter().map(|v| if *v > -10.0 { Some(v * v) } else { None }).try_fold(0.0, |t, v| v.map(|v| t * 0.5 + v)).unwrap_or(1.0)",
    "windows": "s(x, n).windows(2).zip(s(x, n).chunks(2)).map(|(a, b)| a[0] * a[1] + b[0]).sum()",
}

HELPERS = """
#[inline(never)]
fn tree(x: &[f64], depth: usize) -> f64 {
    if depth == 0 || x.len() < 2 { return x[0] * x[0].sin(); }
    let (a, b) = x.split_at(x.len() / 2);
    tree(a, depth - 1) * tree(b, depth - 1) + 0.3 * tree(x, depth - 1)
}
#[inline(never)]
fn even(x: &[f64], i: usize, t: f64) -> f64 { if i == x.len() { t } else { odd(x, i + 1, t * x[i]) + t } }
#[inline(never)]
fn odd(x: &[f64], i: usize, t: f64) -> f64 { if i == x.len() { t * t } else { even(x, i + 1, t + x[i].sin()) } }
"""

STENCIL = """
    let x = s(x, n); let (mut a, mut b) = ([0.0; 9], [0.0; 9]); a[..n].copy_from_slice(x);
    let (mut now, mut next) = (&mut a[..n], &mut b[..n]);
    for _ in 0..4 {
        next[0] = now[0]; next[n - 1] = now[n - 1];
        for i in 1..n - 1 { next[i] = now[i] + 0.3 * (now[i - 1] - 2.0 * now[i] + now[i + 1]) * (1.0 + now[i] * now[i]); }
        std::mem::swap(&mut now, &mut next);
    }
    let mut t = 0.0; for i in 0..n { t += now[i] * now[i] * (i as f64 + 1.0); } t"""
BODIES["stencil"] = STENCIL
BODIES["running"] = (
    "let x = s(x, n); let mut t: f64 = 0.0; for i in 0..n - 2 { t += x[i] * x[i + 1].sin() * x[i + 2] * t.cos(); if t > 3.0 { break; } } t"
)
BODIES["window_in_branch"] = """let x = s(x, n); let mut t = 0.5;
    for i in 0..n - 1 { let b = x[i + 1]; if t > 0.2 { t += b * x[i]; } else { t -= b * b; } } t"""

POINT = (0.7, -0.4, 1.1, 0.35, -0.9, 0.55)


def source() -> str:
    functions = [
        f'#[unsafe(no_mangle)] pub unsafe extern "C" fn {name}(x: *const f64, n: usize) -> f64 {{ {body} }}'
        for name, body in BODIES.items()
    ]
    return HEADER + "\n".join(functions) + HELPERS


@lru_cache(maxsize=1)
def compiled() -> Gradients:
    return Gradients(source(), list(BODIES))


@pytest.mark.parametrize("name", BODIES)
def test_gradient(name: str) -> None:
    compiled().check(name, POINT, 1e-6 if name == "mixed" else 2e-8)


PLAIN = ("straight", "labels", "triangle", "scratch", "recursive", "switch")


@pytest.mark.parametrize("name", PLAIN)
def test_unoptimised_input_gives_the_same(name: str) -> None:
    plain = unoptimised()
    for found, expected in zip(
        plain.gradient(name, POINT)[1], compiled().gradient(name, POINT)[1], strict=True
    ):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", ["stencil", "running", "window_in_branch", "counted", "triangle"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_short_inputs(name: str, n: int) -> None:
    compiled().check(name, POINT[:n], 2e-8)


@lru_cache(maxsize=1)
def unoptimised() -> Gradients:
    return Gradients(source(), PLAIN, (*UNOPTIMISED, "-Cpanic=abort", "-Coverflow-checks=off"))
