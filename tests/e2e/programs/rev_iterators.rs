//! Sums over iterator adaptors.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(dot_zip_vjp, Duplicated, Active)]
fn dot_zip(x: &[f64]) -> f64 {
    let (a, b) = x.split_at(x.len() / 2);
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[autodiff_reverse(window_roughness_vjp, Duplicated, Active)]
fn window_roughness(x: &[f64]) -> f64 {
    x.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum()
}

#[autodiff_reverse(chunk_products_vjp, Duplicated, Active)]
fn chunk_products(x: &[f64]) -> f64 {
    x.chunks(2).map(|c| c.iter().product::<f64>()).sum()
}

#[autodiff_reverse(reversed_horner_vjp, Duplicated, Active)]
fn reversed_horner(x: &[f64]) -> f64 {
    x.iter().rev().fold(0.0, |acc, c| acc * 0.7 + c * c)
}

#[autodiff_reverse(running_product_vjp, Duplicated, Active)]
fn running_product(x: &[f64]) -> f64 {
    x.iter()
        .scan(1.0, |state, v| {
            *state *= v;
            Some(*state)
        })
        .sum()
}

#[autodiff_reverse(every_other_vjp, Duplicated, Active)]
fn every_other(x: &[f64]) -> f64 {
    x.iter().step_by(2).enumerate().map(|(i, v)| (i as f64 + 1.0) * v.sin()).sum()
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
    check("dot_zip", dot_zip, dot_zip_vjp, 6);
    check("window_roughness", window_roughness, window_roughness_vjp, 5);
    check("chunk_products", chunk_products, chunk_products_vjp, 5);
    check("reversed_horner", reversed_horner, reversed_horner_vjp, 4);
    check("running_product", running_product, running_product_vjp, 4);
    check("every_other", every_other, every_other_vjp, 5);
}
