//! Sums over iterator adaptors.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(dot_zip_jvp, Dual, Dual)]
fn dot_zip(x: &[f64]) -> f64 {
    let (a, b) = x.split_at(x.len() / 2);
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[autodiff_forward(window_roughness_jvp, Dual, Dual)]
fn window_roughness(x: &[f64]) -> f64 {
    x.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum()
}

#[autodiff_forward(chunk_products_jvp, Dual, Dual)]
fn chunk_products(x: &[f64]) -> f64 {
    x.chunks(2).map(|c| c.iter().product::<f64>()).sum()
}

#[autodiff_forward(reversed_horner_jvp, Dual, Dual)]
fn reversed_horner(x: &[f64]) -> f64 {
    x.iter().rev().fold(0.0, |acc, c| acc * 0.7 + c * c)
}

#[autodiff_forward(running_product_jvp, Dual, Dual)]
fn running_product(x: &[f64]) -> f64 {
    x.iter()
        .scan(1.0, |state, v| {
            *state *= v;
            Some(*state)
        })
        .sum()
}

#[autodiff_forward(every_other_jvp, Dual, Dual)]
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
    check("dot_zip", dot_zip, dot_zip_jvp, 6);
    check("window_roughness", window_roughness, window_roughness_jvp, 5);
    check("chunk_products", chunk_products, chunk_products_jvp, 5);
    check("reversed_horner", reversed_horner, reversed_horner_jvp, 4);
    check("running_product", running_product, running_product_jvp, 4);
    check("every_other", every_other, every_other_jvp, 5);
}
