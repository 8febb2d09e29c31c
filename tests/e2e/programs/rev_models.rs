//! Models as people write them: LSTM cell, attention, Kalman filter, hidden Markov model, FFT.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

#[autodiff_reverse(lstm_vjp, Duplicated, Active)]
fn lstm(x: &[f64]) -> f64 {
    let (mut h, mut c) = (vec![0.0; 2], vec![0.0; 2]);
    for (t, input) in [0.5, -0.3, 0.8].iter().enumerate() {
        let mut next = h.clone();
        for i in 0..2 {
            let mix = |k: usize| x[(k + i) % x.len()] * input + x[(k + i + 1) % x.len()] * h[(i + 1) % 2];
            let (forget, write, read) = (sigmoid(mix(0)), sigmoid(mix(2)), sigmoid(mix(4)));
            c[i] = forget * c[i] + write * mix(t).tanh();
            next[i] = read * c[i].tanh();
        }
        h = next;
    }
    h[0] + 2.0 * h[1]
}

fn softmax(row: &mut [f64]) {
    let top = row.iter().cloned().fold(f64::MIN, f64::max);
    let mut sum = 0.0;
    for v in row.iter_mut() {
        *v = (*v - top).exp();
        sum += *v;
    }
    for v in row.iter_mut() {
        *v /= sum;
    }
}

#[autodiff_reverse(attention_vjp, Duplicated, Active)]
fn attention(x: &[f64]) -> f64 {
    let n = x.len();
    let mut scores = vec![vec![0.0; n]; n];
    for (i, row) in scores.iter_mut().enumerate() {
        for (j, s) in row.iter_mut().enumerate() {
            *s = x[i] * x[j] / (n as f64).sqrt();
        }
        softmax(row);
    }
    scores.iter().map(|row| row.iter().zip(x).map(|(s, v)| s * v).sum::<f64>().powi(2)).sum()
}

#[autodiff_reverse(kalman_vjp, Duplicated, Active)]
fn kalman(x: &[f64]) -> f64 {
    let (q, r) = (x[0] * x[0] + 0.1, x[1] * x[1] + 0.2);
    let (mut mean, mut variance, mut likelihood) = ([0.0, 0.5], [[1.0, 0.0], [0.0, 1.0]], 0.0);
    for z in [0.4, 0.9, 1.7, x[2]] {
        mean = [mean[0] + mean[1], mean[1]];
        let v = variance;
        variance = [
            [v[0][0] + v[0][1] + v[1][0] + v[1][1] + q, v[0][1] + v[1][1]],
            [v[1][0] + v[1][1], v[1][1] + 0.5 * q],
        ];
        let innovation = z - mean[0];
        let s = variance[0][0] + r;
        let gain = [variance[0][0] / s, variance[1][0] / s];
        likelihood -= 0.5 * (s.ln() + innovation * innovation / s);
        for i in 0..2 {
            mean[i] += gain[i] * innovation;
        }
        let first = variance[0];
        for i in 0..2 {
            for j in 0..2 {
                variance[i][j] -= gain[i] * first[j];
            }
        }
    }
    likelihood + mean[1]
}

#[autodiff_reverse(hidden_markov_vjp, Duplicated, Active)]
fn hidden_markov(x: &[f64]) -> f64 {
    const STATES: usize = 3;
    let mut transition = [[0.0; STATES]; STATES];
    for i in 0..STATES {
        for j in 0..STATES {
            transition[i][j] = x[(i + j) % x.len()] * (1.0 + j as f64 * 0.3);
        }
        softmax(&mut transition[i]);
    }
    let mut alpha = [1.0 / STATES as f64; STATES];
    let mut log_likelihood = 0.0;
    for &symbol in &[0usize, 2, 1, 1, 0] {
        let mut next = [0.0; STATES];
        for j in 0..STATES {
            for i in 0..STATES {
                next[j] += alpha[i] * transition[i][j];
            }
            next[j] *= if symbol == j { 0.7 } else { 0.15 };
        }
        let total: f64 = next.iter().sum();
        log_likelihood += total.ln();
        alpha = next.map(|v| v / total);
    }
    log_likelihood
}

#[derive(Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

impl std::ops::Add for Complex {
    type Output = Complex;
    fn add(self, o: Complex) -> Complex {
        Complex { re: self.re + o.re, im: self.im + o.im }
    }
}

impl std::ops::Sub for Complex {
    type Output = Complex;
    fn sub(self, o: Complex) -> Complex {
        Complex { re: self.re - o.re, im: self.im - o.im }
    }
}

impl std::ops::Mul for Complex {
    type Output = Complex;
    fn mul(self, o: Complex) -> Complex {
        Complex { re: self.re * o.re - self.im * o.im, im: self.re * o.im + self.im * o.re }
    }
}

fn fft(values: &mut [Complex]) {
    let n = values.len();
    if n == 1 {
        return;
    }
    let mut even: Vec<Complex> = values.iter().step_by(2).copied().collect();
    let mut odd: Vec<Complex> = values.iter().skip(1).step_by(2).copied().collect();
    fft(&mut even);
    fft(&mut odd);
    for k in 0..n / 2 {
        let angle = -2.0 * std::f64::consts::PI * k as f64 / n as f64;
        let turned = Complex { re: angle.cos(), im: angle.sin() } * odd[k];
        values[k] = even[k] + turned;
        values[k + n / 2] = even[k] - turned;
    }
}

#[autodiff_reverse(spectrum_vjp, Duplicated, Active)]
fn spectrum(x: &[f64]) -> f64 {
    let mut values: Vec<Complex> = (0..8).map(|i| Complex { re: x[i % x.len()] * (1.0 + i as f64), im: 0.0 }).collect();
    fft(&mut values);
    values.iter().enumerate().map(|(k, v)| (v.re * v.re + v.im * v.im) / (k as f64 + 1.0)).sum()
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
    check("lstm", lstm, lstm_vjp, 6);
    check("attention", attention, attention_vjp, 4);
    check("kalman", kalman, kalman_vjp, 3);
    check("hidden_markov", hidden_markov, hidden_markov_vjp, 5);
    check("spectrum", spectrum, spectrum_vjp, 4);
}
