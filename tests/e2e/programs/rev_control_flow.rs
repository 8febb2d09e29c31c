//! Branches, match, early return, while, labelled break and continue.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(piecewise_vjp, Duplicated, Active)]
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

#[autodiff_reverse(first_large_vjp, Duplicated, Active)]
fn first_large(x: &[f64]) -> f64 {
    for (i, &v) in x.iter().enumerate() {
        if v > 0.9 {
            return v * (i as f64 + 2.0);
        }
    }
    x[0] * x[1]
}

#[autodiff_reverse(newton_sqrt_vjp, Duplicated, Active)]
fn newton_sqrt(x: &[f64]) -> f64 {
    let target = x[0] * x[0] + x[1] * x[1] + 1.0;
    let mut guess = target;
    while (guess * guess - target).abs() > 1e-13 * target {
        guess = 0.5 * (guess + target / guess);
    }
    guess
}

#[autodiff_reverse(by_match_vjp, Duplicated, Active)]
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

#[autodiff_reverse(labelled_vjp, Duplicated, Active)]
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

#[autodiff_reverse(collatz_like_vjp, Duplicated, Active)]
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
    check("piecewise", piecewise, piecewise_vjp, 6);
    check("first_large", first_large, first_large_vjp, 5);
    check("newton_sqrt", newton_sqrt, newton_sqrt_vjp, 2);
    check("by_match", by_match, by_match_vjp, 7);
    check("labelled", labelled, labelled_vjp, 5);
    check("collatz_like", collatz_like, collatz_like_vjp, 3);
}
