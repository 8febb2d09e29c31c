//! Gradients of arguments in every way they are passed.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Mixed {
    a: f32,
    n: i32,
    b: f64,
}

#[derive(Clone, Copy)]
struct Nothing;

#[autodiff_reverse(pair_vjp, Active, Active)]
fn pair(p: (f32, f32)) -> f32 {
    p.0 * p.1 * p.1
}

#[autodiff_reverse(small_vjp, Active, Active, Active)]
fn small(a: [f32; 2], b: [f32; 3]) -> [f32; 2] {
    [a[0] * b[2], a[1] + b[0] * b[1]]
}

#[autodiff_reverse(unequal_vjp, Active, Active)]
fn unequal(p: (f32, f64)) -> f64 {
    p.0 as f64 * p.1
}

#[autodiff_reverse(mixed_vjp, Duplicated, Active)]
fn mixed(m: &Mixed) -> f64 {
    m.b * m.a as f64 + m.n as f64
}

#[autodiff_reverse(zst_vjp, Const, Active, Const, Duplicated, Active)]
fn zst(_a: Nothing, x: f64, _b: (), y: &[f64]) -> f64 {
    x * y[0]
}

#[autodiff_reverse(pick_vjp, Const, Const, Duplicated, Duplicated, Active)]
fn pick(which: bool, f: fn(f64) -> f64, x: &f64, y: &f64) -> f64 {
    let _ = f;
    if which { *x * *x } else { *y * 3.0 }
}

#[autodiff_reverse(
    many_vjp, Active, Const, Duplicated, Const, Active, Const, Duplicated, Const, Active, Const, Active, Active
)]
fn many(
    a: f64, n: usize, b: &[f64], flag: bool, c: [f64; 4], k: u8, d: &mut f64, s: &str, e: f32, t: (i64, i64), g: f64,
) -> f64 {
    *d = *d * a + b[n];
    let scale = if flag { k as f64 } else { s.len() as f64 };
    scale * (c[3] * *d) + e as f64 * g + (t.0 - t.1) as f64
}

#[autodiff_reverse(large_vjp, Active, Active)]
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
    assert_eq!(pair_vjp((2.0, 3.0), 1.0), (18.0, (9.0, 12.0)));
    let (y, da, db) = small_vjp([1.0, 2.0], [3.0, 4.0, 5.0], [1.0, 10.0]);
    assert_eq!((y, da, db), ([5.0, 14.0], [5.0, 10.0], [40.0, 30.0, 1.0]));
    assert_eq!(unequal_vjp((2.0, 3.0), 1.0), (6.0, (3.0, 2.0)));
    let mut d = Mixed { a: 0.0, n: 5, b: 1.0 };
    assert_eq!(mixed_vjp(&Mixed { a: 2.0, n: 7, b: 3.0 }, &mut d, 1.0), 13.0);
    assert_eq!(d, Mixed { a: 3.0, n: 5, b: 3.0 });
    let mut dy = [0.0];
    assert_eq!(zst_vjp(Nothing, 2.0, (), &[5.0], &mut dy, 1.0), (10.0, 5.0));
    assert_eq!(dy, [2.0]);
    let (mut dx, mut dy) = (0.0, 0.0);
    pick_vjp(true, f64::sin, &3.0, &mut dx, &1.0, &mut dy, 1.0);
    pick_vjp(false, f64::sin, &3.0, &mut dx, &1.0, &mut dy, 1.0);
    assert_eq!((dx, dy), (6.0, 3.0));
    let (mut d, mut dd, mut db) = (2.0, 1.0, [0.0, 0.0]);
    let (y, da, dc, de, dg) = many_vjp(
        3.0, 1, &[0.0, 4.0], &mut db, true, [0.0, 0.0, 0.0, 2.0], 5, &mut d, &mut dd, "text", 1.5, (7, 3), 4.0, 1.0,
    );
    // the seed of *d is 1 from outside and 5 * 2 from the result
    assert_eq!((y, d), (110.0, 10.0));
    assert_eq!((da, dd, db), (11.0 * 2.0, 11.0 * 3.0, [0.0, 11.0]));
    assert_eq!((dc, de, dg), ([0.0, 0.0, 0.0, 50.0], 4.0, 1.5));
    let mut m = [[0.0; 4]; 4];
    m.iter_mut().flatten().enumerate().for_each(|(i, v)| *v = i as f64);
    let mut seed = [[0.0; 4]; 4];
    seed[1][2] = 1.0;
    let (y, dm) = large_vjp(m, seed);
    assert_eq!(y[1][2], 45.0);
    let mut expected = [[0.0; 4]; 4];
    expected[2][1] = 5.0;
    expected[1][1] = 9.0;
    assert_eq!(dm, expected);
}
