//! Trip counts that depend on data, loops inside calls, values carried around a loop.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

fn settle(mut v: f64, k: f64) -> f64 {
    let mut n = 0;
    while v.abs() > 1e-3 && n < 60 {
        v = v * 0.7 * k.cos();
        n += 1;
    }
    v + k * n as f64
}

#[autodiff_reverse(nested_calls_vjp, Duplicated, Active)]
fn nested_calls(x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        for j in i..x.len() {
            sum += settle(x[i], x[j]) * x[j];
        }
    }
    sum
}

#[autodiff_reverse(fibonacci_like_vjp, Duplicated, Active)]
fn fibonacci_like(x: &[f64]) -> f64 {
    let (mut a, mut b) = (x[0], x[1]);
    for _ in 0..12 {
        (a, b) = (b, 0.5 * a + 0.3 * b * a.sin());
    }
    a * b
}

#[autodiff_reverse(triangular_vjp, Duplicated, Active)]
fn triangular(x: &[f64]) -> f64 {
    let mut total = 0.0;
    let mut row = 1.0;
    for i in 0..x.len() {
        let mut column = row;
        for j in 0..=i {
            column *= 1.0 + 0.1 * x[j];
            if column > 3.0 {
                break;
            }
        }
        row = column.sqrt();
        total += column * x[i];
    }
    total
}

#[autodiff_reverse(bisection_vjp, Duplicated, Active)]
fn bisection(x: &[f64]) -> f64 {
    let f = |t: f64| t * t * t - x[0] * t - 4.0;
    let (mut lo, mut hi) = (0.0, 5.0);
    for _ in 0..60 {
        let mid = 0.5 * (lo + hi);
        if f(mid) < 0.0 { lo = mid } else { hi = mid }
    }
    // one Newton step makes the root depend smoothly on x
    let t: f64 = 0.5 * (lo + hi);
    (t - f(t) / (3.0 * t * t - x[0])) * x[1]
}

#[autodiff_reverse(horner_pairs_vjp, Duplicated, Active)]
fn horner_pairs(x: &[f64]) -> f64 {
    let mut acc = [0.0, 1.0];
    let mut i = 0;
    while i + 1 < x.len() {
        acc[0] = acc[0] * x[i] + x[i + 1];
        acc[1] *= acc[0].tanh() + 1.5;
        i += 2;
    }
    acc[0] + acc[1]
}

#[autodiff_reverse(zero_trips_vjp, Duplicated, Active)]
fn zero_trips(x: &[f64]) -> f64 {
    let mut sum = x[0] * x[0];
    for i in x.len()..x.len() {
        sum *= i as f64;
    }
    for _ in 0..(x[1] as usize) {
        sum = sum.sin();
    }
    sum
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
    check("nested_calls", nested_calls, nested_calls_vjp, 4);
    check("fibonacci_like", fibonacci_like, fibonacci_like_vjp, 2);
    check("triangular", triangular, triangular_vjp, 5);
    check("bisection", bisection, bisection_vjp, 2);
    check("horner_pairs", horner_pairs, horner_pairs_vjp, 7);
    check("zero_trips", zero_trips, zero_trips_vjp, 3);
}
