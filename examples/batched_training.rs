//! One training step of a small network, with the tangents of a whole batch of directions in one call.
//!
//! The loss is differentiated in forward mode along `LANES` directions in the space of the 25 weights. One call of
//! width 8 gives what 8 calls of width 1 give, and evaluates `tanh` once instead of 8 times.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::hint::black_box;
use std::time::{Duration, Instant};

const INPUTS: usize = 2;
const HIDDEN: usize = 6;
const WEIGHTS: usize = INPUTS * HIDDEN + HIDDEN + HIDDEN + 1;
const LANES: usize = 8;

/// A training set: points on two interleaved arcs, and which arc each belongs to.
fn samples() -> (Vec<f64>, Vec<f64>) {
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for i in 0..64 {
        let angle = i as f64 * std::f64::consts::PI / 32.0;
        let arc = i % 2;
        let (shift, sign) = if arc == 0 { (0.0, 1.0) } else { (1.0, -1.0) };
        points.push(shift + sign * angle.cos());
        points.push(sign * angle.sin() - 0.5 * shift);
        labels.push(arc as f64);
    }
    (points, labels)
}

/// Mean squared error of a network with one hidden layer: weights in the order W1, b1, w2, b2.
#[autodiff_forward(loss_jvp, Dual, Const, Const, Dual)]
#[autodiff_forward(loss_jvp8, 8, Dual, Const, Const, Dual)]
fn loss(weights: &[f64], points: &[f64], labels: &[f64]) -> f64 {
    let (w1, rest) = weights.split_at(INPUTS * HIDDEN);
    let (b1, rest) = rest.split_at(HIDDEN);
    let (w2, b2) = rest.split_at(HIDDEN);
    let mut total = 0.0;
    for (point, label) in points.chunks_exact(INPUTS).zip(labels) {
        let mut output = b2[0];
        for h in 0..HIDDEN {
            let mut sum = b1[h];
            for i in 0..INPUTS {
                sum += w1[h * INPUTS + i] * point[i];
            }
            output += w2[h] * sum.tanh();
        }
        let error = output - label;
        total += error * error;
    }
    total / labels.len() as f64
}

fn initial_weights() -> Vec<f64> {
    (0..WEIGHTS).map(|i| ((i * 37 + 11) % 29) as f64 / 29.0 - 0.5).collect()
}

/// Direction number `lane`: smooth, full, and different for every lane.
fn direction(lane: usize) -> Vec<f64> {
    (0..WEIGHTS).map(|i| ((i * (lane + 2) + lane) as f64 * 0.7).sin()).collect()
}

fn finite_difference(w: &[f64], d: &[f64], points: &[f64], labels: &[f64]) -> f64 {
    let h = 1e-6;
    let moved = |sign: f64| -> Vec<f64> { w.iter().zip(d).map(|(w, d)| w + sign * h * d).collect() };
    (loss(&moved(1.0), points, labels) - loss(&moved(-1.0), points, labels)) / (2.0 * h)
}

fn time(mut work: impl FnMut()) -> Duration {
    work();
    let start = Instant::now();
    for _ in 0..200 {
        work();
    }
    start.elapsed() / 200
}

fn main() {
    let (points, labels) = samples();
    let mut weights = initial_weights();
    let dirs: Vec<Vec<f64>> = (0..LANES).map(direction).collect();
    let d: Vec<&[f64]> = dirs.iter().map(|v| v.as_slice()).collect();

    let batch = loss_jvp8(&weights, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], &points, &labels);
    println!("lane   one of 8 lanes     one call           finite difference");
    for lane in 0..LANES {
        let (value, tangent) = loss_jvp(&weights, d[lane], &points, &labels);
        let fd = finite_difference(&weights, d[lane], &points, &labels);
        println!("{lane:>4}   {:>16.12}   {tangent:>16.12}   {fd:>16.12}", batch[1 + lane]);
        assert!((batch[0] - value).abs() <= 1e-14 * value.abs());
        assert!((batch[1 + lane] - tangent).abs() <= 1e-12 * (1.0 + tangent.abs()));
        assert!((tangent - fd).abs() <= 1e-6 * (1.0 + fd.abs()));
    }

    let separate = time(|| {
        for seed in &d {
            black_box(loss_jvp(black_box(&weights), seed, &points, &labels));
        }
    });
    let together = time(|| {
        black_box(loss_jvp8(black_box(&weights), d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], &points, &labels));
    });
    println!("8 calls of width 1: {separate:?}    1 call of width 8: {together:?}");

    // Forward gradient descent: step against each direction in proportion to the slope along it.
    let before = loss(&weights, &points, &labels);
    for step in 0..200 {
        let slopes = loss_jvp8(&weights, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], &points, &labels);
        for lane in 0..LANES {
            for (w, d) in weights.iter_mut().zip(d[lane]) {
                *w -= 0.01 * slopes[1 + lane] * d;
            }
        }
        if step % 50 == 0 {
            println!("step {step:>3}: loss {:.6}", slopes[0]);
        }
    }
    let after = loss(&weights, &points, &labels);
    println!("step 200: loss {after:.6}");
    assert!(after < before);
}
