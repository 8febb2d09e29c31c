//! Recursive and mutually recursive functions.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

fn power(base: f64, n: u32) -> f64 {
    match n {
        0 => 1.0,
        n if n % 2 == 0 => power(base * base, n / 2),
        n => base * power(base, n - 1),
    }
}

#[autodiff_reverse(seventh_vjp, Duplicated, Active)]
fn seventh(x: &[f64]) -> f64 {
    power(x[0], 7) * x[1]
}

fn pairwise(x: &[f64]) -> f64 {
    if x.len() == 1 {
        return x[0] * x[0];
    }
    let (a, b) = x.split_at(x.len() / 2);
    pairwise(a) + 0.5 * pairwise(b) + a[0] * b[0]
}

#[autodiff_reverse(tree_sum_vjp, Duplicated, Active)]
fn tree_sum(x: &[f64]) -> f64 {
    pairwise(x)
}

fn even(v: f64, n: usize) -> f64 {
    if n == 0 { v } else { odd(v.sin() + 1.0, n - 1) }
}

fn odd(v: f64, n: usize) -> f64 {
    if n == 0 { v * v } else { even(v * 1.1, n - 1) }
}

#[autodiff_reverse(alternating_vjp, Duplicated, Active)]
fn alternating(x: &[f64]) -> f64 {
    even(x[0], 5) + odd(x[1], 4)
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
    check("seventh", seventh, seventh_vjp, 2);
    check("tree_sum", tree_sum, tree_sum_vjp, 7);
    check("alternating", alternating, alternating_vjp, 2);
}
