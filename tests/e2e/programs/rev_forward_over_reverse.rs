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

#[autodiff_forward(model_jvp, Dual, Const, Dual)]
fn model(w: &[f64], t: f64) -> f64 {
    (w[0] * t).exp() * w[1]
}

/// Reverse over forward: the direction is constant.
#[autodiff_reverse(fit_vjp, Duplicated, Active)]
fn fit(w: &[f64]) -> f64 {
    let squares = |t: f64| {
        let (value, slope) = model_jvp(w, &[1.0, 0.0], t);
        value * value + slope * slope
    };
    [0.1, 0.5, 1.0].into_iter().map(squares).sum()
}

#[autodiff_reverse(loss_vjp, Duplicated, Active)]
fn loss(w: &[f64]) -> f64 {
    w.iter().map(|v| (v - 1.0).powi(4)).sum()
}

/// Descent, unrolled: the inner gradient's tape is one of many of the outer one.
#[autodiff_forward(descended_jvp, Const, Dual, Dual)]
#[autodiff_reverse(descended_vjp, Const, Active, Active)]
fn descended(start: &[f64], rate: f64) -> f64 {
    let mut w = start.to_vec();
    for _ in 0..5 {
        let mut gradient = vec![0.0; w.len()];
        loss_vjp(&w, &mut gradient, 1.0);
        for (v, g) in w.iter_mut().zip(&gradient) {
            *v -= rate * g;
        }
    }
    loss(&w)
}

fn main() {
    let w = [0.4, 1.3];
    let mut gradient = [0.0; 2];
    fit_vjp(&w, &mut gradient, 1.0);
    let term = |t: f64| {
        let square = (2.0 * w[0] * t).exp() * (1.0 + t * t);
        [2.0 * t * square * w[1] * w[1], 2.0 * square * w[1]]
    };
    let want = [0.1, 0.5, 1.0].map(term).iter().fold([0.0; 2], |s, t| [s[0] + t[0], s[1] + t[1]]);
    assert!(gradient.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12 * b), "{gradient:?} is not {want:?}");

    let (start, rate): ([f64; 2], f64) = ([0.0, 2.5], 0.05);
    let slope = (0..2).map(|k| {
        let (mut v, mut d) = (start[k] - 1.0, 0.0);
        for _ in 0..5 {
            (v, d) = (v - 4.0 * rate * v.powi(3), d - 4.0 * v.powi(3) - 12.0 * rate * v * v * d);
        }
        4.0 * v.powi(3) * d
    });
    let slope: f64 = slope.sum();
    let (value, forward) = descended_jvp(&start, rate, 1.0);
    let (again, reverse) = descended_vjp(&start, rate, 1.0);
    assert_eq!((value, again), (descended(&start, rate), value));
    assert!((forward - slope).abs() < 1e-12 * slope.abs() && (reverse - slope).abs() < 1e-12 * slope.abs());

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
