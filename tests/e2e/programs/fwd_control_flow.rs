//! Branches, match, early return, while, labelled break and continue.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(piecewise_jvp, Dual, Dual)]
fn piecewise(x: &[f64]) -> f64 {
    let mut total = 0.0;
    for &v in x {
        total += if v > 0.5 {
            v * v
        } else if v < -0.2 {
            -3.0 * v
        } else {
            v.cos()
        };
    }
    total
}

#[autodiff_forward(first_large_jvp, Dual, Dual)]
fn first_large(x: &[f64]) -> f64 {
    for (i, &v) in x.iter().enumerate() {
        if v > 0.9 {
            return v * (i as f64 + 2.0);
        }
    }
    x[0] * x[1]
}

#[autodiff_forward(newton_sqrt_jvp, Dual, Dual)]
fn newton_sqrt(x: &[f64]) -> f64 {
    let target = x[0] * x[0] + x[1] * x[1] + 1.0;
    let mut guess = target;
    while (guess * guess - target).abs() > 1e-13 * target {
        guess = 0.5 * (guess + target / guess);
    }
    guess
}

#[autodiff_forward(by_match_jvp, Dual, Dual)]
fn by_match(x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (i, v) in x.iter().enumerate() {
        sum += match i % 4 {
            0 => v * v,
            1 => v.sin(),
            2 => 1.0 / (2.0 + v),
            _ => v.exp(),
        };
    }
    sum
}

#[autodiff_forward(labelled_jvp, Dual, Dual)]
fn labelled(x: &[f64]) -> f64 {
    let mut sum = 0.0;
    'rows: for i in 0..x.len() {
        for j in 0..x.len() {
            if x[j] < -1.0 {
                continue 'rows;
            }
            if i + j > 6 {
                break 'rows;
            }
            sum += x[i] * x[j] * (j as f64 + 1.0);
        }
    }
    sum
}

#[autodiff_forward(collatz_like_jvp, Dual, Dual)]
fn collatz_like(x: &[f64]) -> f64 {
    let mut value = x[0];
    let mut n = 0;
    loop {
        value = if value > 1.0 { value * 0.5 } else { value * x[1] + x[2] };
        n += 1;
        if n == 9 {
            break value;
        }
    }
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
    check("piecewise", piecewise, piecewise_jvp, 6);
    check("first_large", first_large, first_large_jvp, 5);
    check("newton_sqrt", newton_sqrt, newton_sqrt_jvp, 2);
    check("by_match", by_match, by_match_jvp, 7);
    check("labelled", labelled, labelled_jvp, 5);
    check("collatz_like", collatz_like, collatz_like_jvp, 3);
}
