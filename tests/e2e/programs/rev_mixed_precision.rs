//! f32 and f64 together, casts to and from integers, bit tricks that carry no derivative.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(index_by_value_vjp, Duplicated, Active)]
fn index_by_value(x: &[f64]) -> f64 {
    let table = [1.0, 2.5, 4.0, 8.0];
    x.iter().map(|v| table[(v.abs() * 1.7) as usize % 4] * v).sum()
}

#[autodiff_reverse(histogram_vjp, Duplicated, Active)]
fn histogram(x: &[f64]) -> f64 {
    let mut bins = [0.0; 4];
    for v in x {
        let at = ((v + 2.0) as usize).min(3);
        bins[at] += v * v;
    }
    bins[0] * bins[1] + bins[2] * 3.0 + bins[3].sqrt()
}

#[autodiff_reverse(interpolate_vjp, Duplicated, Active)]
fn interpolate(x: &[f64]) -> f64 {
    let knots = [0.0, 1.0, 0.5, 2.0, 1.5, 3.0];
    let t = (x[0].abs() + 0.3) * 1.9;
    let i = t.floor() as usize;
    let f = t - t.floor();
    (knots[i] * (1.0 - f) + knots[i + 1] * f) * x[1]
}

#[autodiff_reverse(exponent_bits_vjp, Duplicated, Active)]
fn exponent_bits(x: &[f64]) -> f64 {
    let bits = x[0].to_bits() >> 52 & 0x7ff;
    x[0] * bits as f64 + x[1] * if x[1].is_sign_negative() { -2.0 } else { 3.0 }
}

#[autodiff_reverse(conversions_vjp, Duplicated, Active)]
fn conversions(x: &[f64]) -> f64 {
    let n = x.len() as u32;
    f64::from(n) * x[0] + x[1].powi(n as i32) + (x[0] > 0.0) as u8 as f64 * x[1] + x[0] / n as f64
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
    check("index_by_value", index_by_value, index_by_value_vjp, 5);
    check("histogram", histogram, histogram_vjp, 6);
    check("interpolate", interpolate, interpolate_vjp, 2);
    check("exponent_bits", exponent_bits, exponent_bits_vjp, 2);
    check("conversions", conversions, conversions_vjp, 3);
}
