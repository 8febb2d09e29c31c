//! A million iterations, and a trip count that only the data decides.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

#[autodiff_reverse(logistic_vjp, Active, Active, Const, Active)]
#[autodiff_forward(logistic_jvp, Dual, Dual, Const, Dual)]
fn logistic(start: f64, rate: f64, steps: usize) -> f64 {
    let mut x = start;
    let mut sum = 0.0;
    for _ in 0..steps {
        x = rate * x * (1.0 - x);
        sum += x;
    }
    sum / steps as f64
}

#[autodiff_reverse(decay_vjp, Active, Active, Active)]
#[autodiff_forward(decay_jvp, Dual, Dual, Dual)]
fn decay(start: f64, factor: f64) -> f64 {
    let mut x = start;
    let mut area = 0.0;
    while x > 1e-6 {
        area += x * x.sqrt();
        x *= factor;
    }
    area
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a}, expected {b}");
}

fn main() {
    // a stable orbit, so that the derivative is bounded
    let (y, ds, dr) = logistic_vjp(0.3, 2.7, 1_000_000, 1.0);
    let (value, along_start) = logistic_jvp(0.3, 1.0, 2.7, 0.0, 1_000_000);
    let (_, along_rate) = logistic_jvp(0.3, 0.0, 2.7, 1.0, 1_000_000);
    close(y, value);
    close(ds, along_start);
    close(dr, along_rate);
    // the fixed point is 1 - 1/rate
    assert!((dr - 1.0 / (2.7 * 2.7)).abs() < 1e-4);

    let (y, ds, df) = decay_vjp(2.0, 0.999, 1.0);
    let (value, along_start) = decay_jvp(2.0, 1.0, 0.999, 0.0);
    let (_, along_factor) = decay_jvp(2.0, 0.0, 0.999, 1.0);
    close(y, value);
    close(ds, along_start);
    close(df, along_factor);
}
