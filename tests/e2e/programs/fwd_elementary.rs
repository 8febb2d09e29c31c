//! Every smooth method of f64.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(trigonometric_jvp, Dual, Dual)]
fn trigonometric(x: &[f64]) -> f64 {
    let v = x[0];
    v.sin() + 2.0 * v.cos() + v.tan() + (0.3 * v).asin() + (0.3 * v).acos() * 0.5 + v.atan() + v.atan2(x[1])
}

#[autodiff_forward(hyperbolic_jvp, Dual, Dual)]
fn hyperbolic(x: &[f64]) -> f64 {
    let v = x[0];
    v.sinh() + v.cosh() + v.tanh() + v.asinh() + (1.5 + v * v).acosh() + (0.3 * v).atanh()
}

#[autodiff_forward(exponential_jvp, Dual, Dual)]
fn exponential(x: &[f64]) -> f64 {
    let v = x[0];
    v.exp() + v.exp2() + v.exp_m1() + (2.0 + v).ln() + (2.0 + v).log2() + (2.0 + v).log10() + (2.0 + v).ln_1p()
}

#[autodiff_forward(powers_jvp, Dual, Dual)]
fn powers(x: &[f64]) -> f64 {
    let v = 1.5 + x[0];
    v.powi(3) + v.powi(-2) + v.powf(2.5) + v.powf(x[1]) + v.sqrt() + v.cbrt() + v.hypot(x[1]) + v.recip()
}

#[autodiff_forward(helpers_jvp, Dual, Dual)]
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

fn check(name: &str, f: fn(&[f64]) -> f64, jvp: fn(&[f64], &[f64]) -> (f64, f64), n: usize) {
    let x = &[0.62, -0.35, 1.4, 0.81, -1.2, 0.27, 1.9][..n];
    for i in 0..n {
        let mut seed = vec![0.0; n];
        seed[i] = 1.0;
        let (value, tangent) = jvp(x, &seed);
        assert!(close(value, f(x)), "{name}: primal {value}, expected {}", f(x));
        let expected = slope(f, x, i);
        assert!(close(tangent, expected), "{name}, input {i}: {tangent}, expected {expected}");
    }
}

fn main() {
    check("trigonometric", trigonometric, trigonometric_jvp, 2);
    check("hyperbolic", hyperbolic, hyperbolic_jvp, 1);
    check("exponential", exponential, exponential_jvp, 1);
    check("powers", powers, powers_jvp, 2);
    check("helpers", helpers, helpers_jvp, 2);
}
