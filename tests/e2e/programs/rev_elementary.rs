//! Every smooth method of f64.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(trigonometric_vjp, Duplicated, Active)]
fn trigonometric(x: &[f64]) -> f64 {
    let v = x[0];
    v.sin() + 2.0 * v.cos() + v.tan() + (0.3 * v).asin() + (0.3 * v).acos() * 0.5 + v.atan() + v.atan2(x[1])
}

#[autodiff_reverse(hyperbolic_vjp, Duplicated, Active)]
fn hyperbolic(x: &[f64]) -> f64 {
    let v = x[0];
    v.sinh() + v.cosh() + v.tanh() + v.asinh() + (1.5 + v * v).acosh() + (0.3 * v).atanh()
}

#[autodiff_reverse(exponential_vjp, Duplicated, Active)]
fn exponential(x: &[f64]) -> f64 {
    let v = x[0];
    v.exp() + v.exp2() + v.exp_m1() + (2.0 + v).ln() + (2.0 + v).log2() + (2.0 + v).log10() + (2.0 + v).ln_1p()
}

#[autodiff_reverse(powers_vjp, Duplicated, Active)]
fn powers(x: &[f64]) -> f64 {
    let v = 1.5 + x[0];
    v.powi(3) + v.powi(-2) + v.powf(2.5) + v.powf(x[1]) + v.sqrt() + v.cbrt() + v.hypot(x[1]) + v.recip()
}

#[autodiff_reverse(helpers_vjp, Duplicated, Active)]
fn helpers(x: &[f64]) -> f64 {
    let (u, v) = (x[0], x[1]);
    u.mul_add(v, 2.0) + (u - v).abs() + u.max(v) + u.min(3.0 * v) + u.clamp(-2.0, 2.0) + u.signum() * v
        + u.copysign(v) + (u * 3.3).fract() + u.to_radians() + v.to_degrees() * 0.01 + (u * 5.0).rem_euclid(2.0)
        + (v * 5.0).floor() + (v * 5.0) % 1.5
}

/// Derivative along coordinate `i` by central differences.
fn slope(f: fn(&[f64]) -> f64, x: &[f64], i: usize) -> f64 {
    let h = 1e-5;
    let (mut up, mut down) = (x.to_vec(), x.to_vec());
    up[i] += h;
    down[i] -= h;
    (f(&up) - f(&down)) / (2.0 * h)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 2e-7 * (1.0 + b.abs())
}

fn check(name: &str, f: fn(&[f64]) -> f64, vjp: fn(&[f64], &mut [f64], f64) -> f64, n: usize) {
    let x = &[0.62, -0.35, 1.4, 0.81, -1.2, 0.27, 1.9][..n];
    let mut gradient = vec![1.0; n];
    let value = vjp(x, &mut gradient, 2.0);
    assert!(close(value, f(x)), "{name}: primal {value}, expected {}", f(x));
    for i in 0..n {
        let expected = 1.0 + 2.0 * slope(f, x, i);
        assert!(close(gradient[i], expected), "{name}, input {i}: {}, expected {expected}", gradient[i]);
    }
}

fn main() {
    check("trigonometric", trigonometric, trigonometric_vjp, 2);
    check("hyperbolic", hyperbolic, hyperbolic_vjp, 1);
    check("exponential", exponential, exponential_vjp, 1);
    check("powers", powers, powers_vjp, 2);
    check("helpers", helpers, helpers_vjp, 2);
}
