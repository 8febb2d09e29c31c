//! flat_map, take_while, skip, chain, filter, min and max by fold.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(outer_products_jvp, Dual, Dual)]
fn outer_products(x: &[f64]) -> f64 {
    x.iter().flat_map(|a| x.iter().map(move |b| a * b * b)).sum()
}

#[autodiff_forward(until_negative_jvp, Dual, Dual)]
fn until_negative(x: &[f64]) -> f64 {
    x.iter().take_while(|v| **v > 0.0).map(|v| v.ln()).sum()
}

#[autodiff_forward(filtered_jvp, Dual, Dual)]
fn filtered(x: &[f64]) -> f64 {
    x.iter().filter(|v| v.abs() > 0.5).map(|v| v * v * v).sum()
}

#[autodiff_forward(chained_jvp, Dual, Dual)]
fn chained(x: &[f64]) -> f64 {
    x.iter().skip(1).chain(x.iter().take(2)).map(|v| v.exp()).sum()
}

#[autodiff_forward(largest_jvp, Dual, Dual)]
fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[autodiff_forward(log_sum_exp_jvp, Dual, Dual)]
fn log_sum_exp(x: &[f64]) -> f64 {
    let m = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    m + x.iter().map(|v| (v - m).exp()).sum::<f64>().ln()
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
    check("outer_products", outer_products, outer_products_jvp, 4);
    check("until_negative", until_negative, until_negative_jvp, 6);
    check("filtered", filtered, filtered_jvp, 6);
    check("chained", chained, chained_jvp, 4);
    check("largest", largest, largest_jvp, 5);
    check("log_sum_exp", log_sum_exp, log_sum_exp_jvp, 5);
}
