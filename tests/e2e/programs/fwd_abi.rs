//! Arguments in every way they are passed: pairs, small arrays in integer registers, zero-sized, enums, many.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Mixed {
    a: f32,
    n: i32,
    b: f64,
}

#[derive(Clone, Copy)]
struct Nothing;

#[derive(Clone, Copy)]
enum Curve {
    Line(f64, f64),
    Power { base: f64, exponent: u8 },
    Zero,
}

#[autodiff_forward(pair_jvp, Dual, Dual)]
fn pair(p: (f32, f32)) -> f32 {
    p.0 * p.1 * p.1
}

#[autodiff_forward(small_jvp, Dual, Dual, Dual)]
fn small(a: [f32; 2], b: [f32; 3]) -> [f32; 2] {
    [a[0] * b[2], a[1] + b[0] * b[1]]
}

#[autodiff_forward(unequal_jvp, Dual, Dual)]
fn unequal(p: (f32, f64)) -> f64 {
    p.0 as f64 * p.1
}

#[autodiff_forward(mixed_jvp, Dual, Dual)]
fn mixed(m: Mixed) -> Mixed {
    Mixed { a: m.a * 2.0, n: m.n + 1, b: m.b * m.a as f64 }
}

#[autodiff_forward(zst_jvp, Const, Dual, Const, Dual, Dual)]
fn zst(_a: Nothing, x: f64, _b: (), y: &[f64]) -> f64 {
    x * y[0]
}

#[autodiff_forward(curve_jvp, Dual, Const, Dual)]
fn curve(c: Curve, t: f64) -> f64 {
    match c {
        Curve::Line(a, b) => a * t + b,
        Curve::Power { base, exponent } => (base * t).powi(exponent as i32),
        Curve::Zero => 0.0,
    }
}

#[autodiff_forward(maybe_jvp, Dual, Dual)]
fn maybe(x: Option<f64>) -> f64 {
    x.map_or(-1.0, |x| x * x)
}

#[autodiff_forward(pick_jvp, Const, Const, Dual, Dual, Dual)]
fn pick(which: bool, f: fn(f64) -> f64, x: &f64, y: &f64) -> f64 {
    let _ = f;
    if which { *x * *x } else { *y * 3.0 }
}

#[autodiff_forward(many_jvp, Dual, Const, Dual, Const, Dual, Const, Dual, Const, Dual, Const, Dual, Dual)]
fn many(
    a: f64, n: usize, b: &[f64], flag: bool, c: [f64; 4], k: u8, d: &mut f64, s: &str, e: f32, t: (i64, i64), g: f64,
) -> f64 {
    *d = *d * a + b[n];
    let scale = if flag { k as f64 } else { s.len() as f64 };
    scale * (c[3] * *d) + e as f64 * g + (t.0 - t.1) as f64
}

#[autodiff_forward(references_jvp, Dual, Dual)]
fn references(p: (&f64, &f64)) -> f64 {
    p.0 * p.1
}

#[autodiff_forward(large_jvp, 2, Dual, Dual)]
fn large(m: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut out = [[0.0; 4]; 4];
    for i in 0..4 {
        for j in 0..4 {
            out[i][j] = m[j][i] * m[i][i];
        }
    }
    out
}

fn main() {
    assert_eq!(pair_jvp((2.0, 3.0), (1.0, 0.5)), (18.0, 9.0 + 6.0));
    let (y, t) = small_jvp([1.0, 2.0], [1.0, 0.0], [3.0, 4.0, 5.0], [0.0, 1.0, 1.0]);
    assert_eq!((y, t), ([5.0, 14.0], [6.0, 3.0]));
    assert_eq!(unequal_jvp((2.0, 3.0), (1.0, 10.0)), (6.0, 23.0));
    let (y, t) = mixed_jvp(Mixed { a: 2.0, n: 7, b: 3.0 }, Mixed { a: 1.0, n: 0, b: 0.5 });
    assert_eq!(y, Mixed { a: 4.0, n: 8, b: 6.0 });
    assert_eq!((t.a, t.b), (2.0, 4.0));
    assert_eq!(zst_jvp(Nothing, 2.0, 1.0, (), &[5.0], &[0.5]), (10.0, 6.0));
    assert_eq!(curve_jvp(Curve::Line(2.0, 1.0), Curve::Line(1.0, 10.0), 3.0), (7.0, 13.0));
    let power = |base| Curve::Power { base, exponent: 3 };
    assert_eq!(curve_jvp(power(2.0), power(1.0), 1.0), (8.0, 12.0));
    assert_eq!(curve_jvp(Curve::Zero, Curve::Zero, 1.0), (0.0, 0.0));
    assert_eq!(maybe_jvp(Some(3.0), Some(1.0)), (9.0, 6.0));
    assert_eq!(maybe_jvp(None, None), (-1.0, 0.0));
    assert_eq!(pick_jvp(true, f64::sin, &3.0, &1.0, &1.0, &1.0), (9.0, 6.0));
    assert_eq!(pick_jvp(false, f64::sin, &3.0, &1.0, &1.0, &1.0), (3.0, 3.0));
    let (mut d, mut bd) = (2.0, 1.0);
    let (y, t) = many_jvp(
        3.0, 1.0, 1, &[0.0, 4.0], &[0.0, 0.5], true, [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0], 5, &mut d, &mut bd,
        "text", 1.5, 2.0, (7, 3), 4.0, 0.25,
    );
    assert_eq!((d, bd), (10.0, 2.0 + 3.0 + 0.5));
    assert_eq!(y, 5.0 * 20.0 + 6.0 + 4.0);
    assert_eq!(t, 5.0 * (10.0 + 2.0 * 5.5) + 2.0 * 4.0 + 1.5 * 0.25);
    assert_eq!(references_jvp((&2.0, &5.0), (&1.0, &0.5)), (10.0, 6.0));
    let mut m = [[0.0; 4]; 4];
    m.iter_mut().flatten().enumerate().for_each(|(i, v)| *v = i as f64);
    let (mut e0, mut e1) = ([[0.0; 4]; 4], [[0.0; 4]; 4]);
    e0[1][1] = 1.0;
    e1[3][0] = 1.0;
    let all = large_jvp(m, e0, e1);
    assert_eq!(all[0][1][2], 9.0 * 5.0);
    assert_eq!(all[1][1], [1.0, 10.0, 9.0, 13.0]);
    assert_eq!(all[2][0], [0.0, 0.0, 0.0, 0.0]);
    assert_eq!(all[2][3], [0.0; 4]);
}
