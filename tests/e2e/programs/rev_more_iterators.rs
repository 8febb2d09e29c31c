//! flat_map, take_while, skip, chain, filter, min and max by fold.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(outer_products_vjp, Duplicated, Active)]
fn outer_products(x: &[f64]) -> f64 {
    x.iter().flat_map(|a| x.iter().map(move |b| a * b * b)).sum()
}

#[autodiff_reverse(until_negative_vjp, Duplicated, Active)]
fn until_negative(x: &[f64]) -> f64 {
    x.iter().take_while(|v| **v > 0.0).map(|v| v.ln()).sum()
}

#[autodiff_reverse(filtered_vjp, Duplicated, Active)]
fn filtered(x: &[f64]) -> f64 {
    x.iter().filter(|v| v.abs() > 0.5).map(|v| v * v * v).sum()
}

#[autodiff_reverse(chained_vjp, Duplicated, Active)]
fn chained(x: &[f64]) -> f64 {
    x.iter().skip(1).chain(x.iter().take(2)).map(|v| v.exp()).sum()
}

#[autodiff_reverse(largest_vjp, Duplicated, Active)]
fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[autodiff_reverse(log_sum_exp_vjp, Duplicated, Active)]
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
    check("outer_products", outer_products, outer_products_vjp, 4);
    check("until_negative", until_negative, until_negative_vjp, 6);
    check("filtered", filtered, filtered_vjp, 6);
    check("chained", chained, chained_vjp, 4);
    check("largest", largest, largest_vjp, 5);
    check("log_sum_exp", log_sum_exp, log_sum_exp_vjp, 5);
}
