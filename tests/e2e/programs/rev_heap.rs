//! Vec by push, collect, to_vec, clone; Box; nested Vec.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(pushed_vjp, Duplicated, Active)]
fn pushed(x: &[f64]) -> f64 {
    let mut squares = Vec::new();
    for v in x {
        squares.push(v * v);
        if *v > 0.0 {
            squares.push(v.sin());
        }
    }
    squares.iter().rev().enumerate().map(|(i, s)| s * (i as f64 + 1.0)).sum()
}

#[autodiff_reverse(collected_vjp, Duplicated, Active)]
fn collected(x: &[f64]) -> f64 {
    let exps: Vec<f64> = x.iter().map(|v| v.exp()).collect();
    let total: f64 = exps.iter().sum();
    exps.iter().map(|e| (e / total) * (e / total)).sum()
}

#[autodiff_reverse(scratch_vjp, Duplicated, Active)]
fn scratch(x: &[f64]) -> f64 {
    let mut buffer = x.to_vec();
    for round in 0..3 {
        for i in 1..buffer.len() {
            buffer[i] = 0.5 * (buffer[i] + buffer[i - 1]) * (1.0 + 0.1 * round as f64);
        }
    }
    buffer.iter().map(|v| v * v).sum()
}

#[autodiff_reverse(boxed_vjp, Duplicated, Active)]
fn boxed(x: &[f64]) -> f64 {
    let held = Box::new([x[0] * x[1], x[1].exp(), x[0]]);
    let copy = held.clone();
    held[0] * copy[1] + held[2]
}

#[autodiff_reverse(nested_vjp, Duplicated, Active)]
fn nested(x: &[f64]) -> f64 {
    let rows: Vec<Vec<f64>> = (1..4).map(|k| x.iter().map(|v| v * k as f64).collect()).collect();
    let mut sum = 0.0;
    for (i, row) in rows.iter().enumerate() {
        for (j, v) in row.iter().enumerate() {
            sum += v * rows[2 - i][j];
        }
    }
    sum
}

#[autodiff_reverse(swapped_vjp, Duplicated, Active)]
fn swapped(x: &[f64]) -> f64 {
    let n = x.len();
    let (mut u, mut v) = (x.to_vec(), vec![0.0; n]);
    for _ in 0..4 {
        for i in 0..n {
            v[i] = u[i] + 0.1 * (u[(i + 1) % n] - 2.0 * u[i] + u[(i + n - 1) % n]);
        }
        std::mem::swap(&mut u, &mut v);
    }
    u.iter().map(|v| v * v * v).sum()
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
    check("pushed", pushed, pushed_vjp, 4);
    check("collected", collected, collected_vjp, 4);
    check("scratch", scratch, scratch_vjp, 4);
    check("boxed", boxed, boxed_vjp, 2);
    check("nested", nested, nested_vjp, 3);
    check("swapped", swapped, swapped_vjp, 5);
}
