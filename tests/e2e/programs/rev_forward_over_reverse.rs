//! The forward derivative of a function that calls a reverse derivative, and other second orders.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

#[autodiff_reverse(f_vjp, Duplicated, Active)]
fn f(x: &[f64; 2]) -> f64 {
    x[0] * x[0] + x[1] * x[0]
}

#[autodiff_forward(hessian_vector, Dual, Dual)]
fn gradient(x: &[f64; 2], g: &mut [f64; 2]) {
    *g = [0.0; 2];
    f_vjp(x, g, 1.0);
}

#[autodiff_forward(sine_d, Dual, DualOnly)]
fn sine(x: f64) -> f64 {
    x.sin() * x
}

#[autodiff_forward(sine_dd, Dual, Dual)]
fn sine_slope(x: f64) -> f64 {
    sine_d(x, 1.0)
}

#[autodiff_reverse(sine_rf, Active, Active)]
fn sine_slope_again(x: f64) -> f64 {
    sine_d(x, 1.0)
}

fn main() {
    let (mut g, mut hv) = ([9.0; 2], [9.0; 2]);
    hessian_vector(&[2.0, 2.0], &[1.0, 0.0], &mut g, &mut hv);
    assert_eq!(g, [6.0, 2.0]);
    assert_eq!(hv, [2.0, 1.0]);

    let x = 0.7_f64;
    let (first, second) = (x.sin() + x * x.cos(), 2.0 * x.cos() - x * x.sin());
    let (a, b) = sine_dd(x, 1.0);
    assert!((a - first).abs() < 1e-14 && (b - second).abs() < 1e-14);
    let (a, b) = sine_rf(x, 1.0);
    assert!((a - first).abs() < 1e-14 && (b - second).abs() < 1e-14);
}
