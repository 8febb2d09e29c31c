//! Reverse mode: the reference values of the specification.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(square_vjp, Active, Active)]
fn square(t: f64) -> f64 {
    t * t
}

#[autodiff_reverse(poly_vjp, Active, Active, Active)]
#[autodiff_reverse(poly_gradient, Active, Active, ActiveOnly)]
fn poly(u: f64, v: f64) -> f64 {
    u * u * v + v * v * v
}

#[autodiff_reverse(sum_squares_vjp, Duplicated, Active)]
fn sum_squares(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum()
}

#[autodiff_reverse(store_vjp, Duplicated, Duplicated)]
fn store(w: &[f64], out: &mut f64) {
    *out = w[0] * w[1];
}

#[autodiff_reverse(add_to_vjp, Duplicated, Duplicated)]
fn add_to(w: &[f64], out: &mut f64) {
    *out += w[0] * w[1];
}

#[autodiff_reverse(square_in_place_vjp, Duplicated)]
fn square_in_place(x: &mut f64) {
    *x = *x * *x;
}

#[autodiff_reverse(windows_vjp, 2, Duplicated, Const, Duplicated)]
fn windows(x: &[f64; 3], a: &[f64; 3], y: &mut [f64; 2]) {
    let mut first = 0.0;
    let mut second = 0.0;
    for w in x.windows(2) {
        first += w[0] * w[0];
        second += (a[1] - w[0]).powi(2) + a[2] * (w[1] - w[0] * w[0]).powi(2);
    }
    first += x[2] * x[2];
    y[0] = a[0] * first;
    y[1] = second;
}

#[autodiff_reverse(mixed_vjp, Active, Active, Active)]
fn mixed(x: f32, y: f32) -> f64 {
    x as f64 * x as f64 * y as f64
}

#[autodiff_reverse(select_vjp, Const, Duplicated, Duplicated)]
fn select(ops: &[u32], x: &[f64], out: &mut [f64]) {
    out[0] = ops[0] as f64 * x[0];
}

fn main() {
    assert_eq!(square_vjp(3.0, 1.0), (9.0, 6.0));
    assert_eq!(square_vjp(3.0, 2.0), (9.0, 12.0));
    assert_eq!(poly_vjp(2.0, 3.0, 1.0), (39.0, 12.0, 31.0));
    assert_eq!(poly_gradient(2.0, 3.0, 1.0), (12.0, 31.0));

    let mut dw = [10.0, 10.0, 10.0];
    assert_eq!(sum_squares_vjp(&[1.0, 2.0, 3.0], &mut dw, 1.0), 14.0);
    assert_eq!(dw, [12.0, 14.0, 16.0]);

    let (mut out, mut dw, mut dout) = (0.0, [0.0, 0.0], 1.0);
    store_vjp(&[2.0, 5.0], &mut dw, &mut out, &mut dout);
    assert_eq!((out, dw, dout), (10.0, [5.0, 2.0], 0.0));
    store_vjp(&[2.0, 5.0], &mut dw, &mut out, &mut dout);
    assert_eq!((out, dw, dout), (10.0, [5.0, 2.0], 0.0));

    let (mut out, mut dw, mut dout) = (1.0, [0.0, 0.0], 1.0);
    add_to_vjp(&[2.0, 5.0], &mut dw, &mut out, &mut dout);
    assert_eq!((out, dw, dout), (11.0, [5.0, 2.0], 1.0));

    let (mut x, mut dx) = (3.0, 1.0);
    square_in_place_vjp(&mut x, &mut dx);
    assert_eq!((x, dx), (9.0, 6.0));

    let (x, a) = ([3.0, 5.0, 7.0], [2.0, 1.0, 100.0]);
    let (mut y, mut d0, mut d1) = ([0.0; 2], [0.0; 3], [0.0; 3]);
    let (mut s0, mut s1) = ([1.0, 0.0], [0.0, 1.0]);
    windows_vjp(&x, &mut d0, &mut d1, &a, &mut y, &mut s0, &mut s1);
    assert_eq!(y, [166.0, 34020.0]);
    assert_eq!(d0, [12.0, 20.0, 28.0]);
    assert_eq!(d1, [4804.0, 35208.0, -3600.0]);
    assert_eq!((s0, s1), ([0.0; 2], [0.0; 2]));

    assert_eq!(mixed_vjp(3.0, 2.5, 1.0), (22.5, 15.0, 9.0));

    let (mut out, mut dx, mut dout) = ([0.0], [0.0], [1.0]);
    select_vjp(&[1], &[4.0], &mut dx, &mut out, &mut dout);
    assert_eq!((out, dx, dout), ([4.0], [1.0], [0.0]));
}
