//! Arrays, tuples and structs by value, in and out; Option, Vec and Box results.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Polar {
    r: f64,
    sector: u8,
    angle: f32,
}

#[autodiff_forward(sum_jvp, Dual, Dual)]
fn sum(x: [f64; 4]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[autodiff_forward(pair_jvp, Dual, Dual)]
fn pair(p: (f64, f64)) -> (f64, f64) {
    (p.0 * p.1, p.0 + 3.0 * p.1)
}

#[autodiff_forward(pair32_jvp, Dual, Dual)]
fn pair32(p: (f32, f32)) -> f32 {
    p.0 * p.1
}

#[autodiff_forward(reach_jvp, Dual, Dual, Dual)]
fn reach(p: Polar, k: f64) -> Polar {
    Polar { r: p.r * k, sector: p.sector + 1, angle: p.angle * p.angle }
}

#[autodiff_forward(outer_jvp, Dual, Dual)]
fn outer(v: [f64; 3]) -> [[f64; 3]; 3] {
    let mut m = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            m[i][j] = v[i] * v[j];
        }
    }
    m
}

#[autodiff_forward(checked_ln_jvp, Dual, Dual)]
fn checked_ln(x: f64) -> Option<f64> {
    if x > 0.0 { Some(x.ln()) } else { None }
}

#[autodiff_forward(powers_jvp, Dual, Const, Dual)]
fn powers(x: f64, n: usize) -> Vec<f64> {
    let mut out = Vec::new();
    let mut p = 1.0;
    for _ in 0..n {
        out.push(p);
        p *= x;
    }
    out
}

#[autodiff_forward(boxed_jvp, Dual, Dual)]
fn boxed(x: f64) -> Box<f64> {
    Box::new(x * x)
}

#[autodiff_forward(outer2, 2, Dual, DualOnly)]
fn row(v: [f64; 2]) -> [f64; 3] {
    [v[0] * v[0], v[0] * v[1], v[1] * v[1]]
}

#[autodiff_forward(count_jvp, Dual, Const)]
fn count(x: &[f64]) -> usize {
    x.iter().filter(|v| **v > 0.0).count()
}

fn main() {
    assert_eq!(sum_jvp([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 1.0]), (30.0, 12.0));
    assert_eq!(pair_jvp((2.0, 5.0), (1.0, 0.5)), ((10.0, 17.0), (6.0, 2.5)));
    assert_eq!(pair32_jvp((2.0, 5.0), (1.0, 0.5)), (10.0, 6.0));

    let p = Polar { r: 2.0, sector: 3, angle: 0.5 };
    let bp = Polar { r: 1.0, sector: 0, angle: 2.0 };
    let (value, tangent) = reach_jvp(p, bp, 4.0, 10.0);
    assert_eq!(value, Polar { r: 8.0, sector: 4, angle: 0.25 });
    assert_eq!((tangent.r, tangent.angle), (24.0, 2.0));

    let (_, t) = outer_jvp([1.0, 2.0, 3.0], [0.0, 1.0, 0.0]);
    assert_eq!(t, [[0.0, 1.0, 0.0], [1.0, 4.0, 3.0], [0.0, 3.0, 0.0]]);

    assert_eq!(checked_ln_jvp(2.0, 1.0), (Some(2.0_f64.ln()), Some(0.5)));
    assert_eq!(checked_ln_jvp(-2.0, 1.0).0, None);

    let (value, tangent) = powers_jvp(2.0, 1.0, 5);
    assert_eq!(value, [1.0, 2.0, 4.0, 8.0, 16.0]);
    assert_eq!(tangent, [0.0, 1.0, 4.0, 12.0, 32.0]);

    let (value, tangent) = boxed_jvp(3.0, 1.0);
    assert_eq!((*value, *tangent), (9.0, 6.0));

    assert_eq!(outer2([2.0, 3.0], [1.0, 0.0], [0.0, 1.0]), [[4.0, 3.0, 0.0], [0.0, 2.0, 6.0]]);
    assert_eq!(count_jvp(&[1.0, -1.0, 2.0], &[0.0; 3]), 2);
}
