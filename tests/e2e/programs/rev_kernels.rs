//! What people differentiate: option prices, mixtures, layers, orbits.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

fn normal_cdf(v: f64) -> f64 {
    // Abramowitz and Stegun 26.2.17, smooth away from zero
    let k = 1.0 / (1.0 + 0.2316419 * v.abs());
    let poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    let tail = (-0.5 * v * v).exp() / (2.0 * std::f64::consts::PI).sqrt() * poly;
    if v >= 0.0 { 1.0 - tail } else { tail }
}

#[autodiff_reverse(black_scholes_vjp, Duplicated, Active)]
fn black_scholes(x: &[f64]) -> f64 {
    let (spot, strike, rate, vol, time) = (1.0 + x[0], 1.2 + x[1], 0.05 * x[2], 0.3 * x[3], 1.7 + x[4]);
    let root = vol * time.sqrt();
    let d1 = ((spot / strike).ln() + (rate + 0.5 * vol * vol) * time) / root;
    spot * normal_cdf(d1) - strike * (-rate * time).exp() * normal_cdf(d1 - root)
}

#[autodiff_reverse(mixture_vjp, Duplicated, Active)]
fn mixture(x: &[f64]) -> f64 {
    const DATA: [[f64; 2]; 4] = [[0.1, 0.3], [1.2, -0.5], [-0.7, 0.9], [0.4, 0.4]];
    let mut total = 0.0;
    for point in &DATA {
        let mut terms = [0.0; 2];
        for (k, term) in terms.iter_mut().enumerate() {
            let mean = &x[2 * k..2 * k + 2];
            let scale = (x[4 + k] * 0.5).exp();
            let r2: f64 = point.iter().zip(mean).map(|(p, m)| (p - m) * (p - m)).sum();
            *term = -0.5 * r2 / (scale * scale) - 2.0 * scale.ln() + (k as f64 * 0.1);
        }
        let top = terms[0].max(terms[1]);
        total += top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln();
    }
    total
}

#[autodiff_reverse(tanh_layer_vjp, Duplicated, Active)]
fn tanh_layer(x: &[f64]) -> f64 {
    let n = 3;
    let input = [0.3, -0.2, 0.9];
    let mut hidden = vec![0.0; n];
    for i in 0..n {
        for j in 0..n {
            hidden[i] += x[(i * n + j) % x.len()] * input[j];
        }
        hidden[i] = hidden[i].tanh();
    }
    hidden.iter().enumerate().map(|(i, h)| h * h * (i + 1) as f64).sum()
}

#[autodiff_reverse(kepler_vjp, Duplicated, Active)]
fn kepler(x: &[f64]) -> f64 {
    let (mean, eccentricity) = (x[0] + 0.4, 0.3 + 0.1 * x[1]);
    let mut e = mean;
    for _ in 0..50 {
        let step = (e - eccentricity * e.sin() - mean) / (1.0 - eccentricity * e.cos());
        e -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    (e.cos() - eccentricity) * x[2]
}

#[autodiff_reverse(rational_vjp, Duplicated, Active)]
fn rational(x: &[f64]) -> f64 {
    x.iter().map(|v| (1.0 + v * (2.0 + v * (3.0 - v))) / (5.0 + v * v)).sum()
}

#[autodiff_reverse(simpson_vjp, Duplicated, Active)]
fn simpson(x: &[f64]) -> f64 {
    let f = |t: f64| (x[0] * t).sin() * (x[1] * t).exp() + x[2];
    let (n, h) = (20, 0.1);
    let mut sum = f(0.0) + f(n as f64 * h);
    for i in 1..n {
        sum += f(i as f64 * h) * if i % 2 == 0 { 2.0 } else { 4.0 };
    }
    sum * h / 3.0
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
    check("black_scholes", black_scholes, black_scholes_vjp, 5);
    check("mixture", mixture, mixture_vjp, 6);
    check("tanh_layer", tanh_layer, tanh_layer_vjp, 7);
    check("kepler", kepler, kepler_vjp, 3);
    check("rational", rational, rational_vjp, 5);
    check("simpson", simpson, simpson_vjp, 3);
}
