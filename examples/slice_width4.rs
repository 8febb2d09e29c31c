//! The whole Jacobian of a function of 100 inputs: 100 calls with one tangent, or 25 calls with four.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::time::Instant;

const N: usize = 100;

/// `out[i]` depends on `x[i]` and its two neighbours on a ring.
#[autodiff_forward(spread_jvp, Dual, Dual)]
#[autodiff_forward(spread_jvp4, 4, Dual, Dual)]
fn spread(x: &[f64], out: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        let left = x[(i + n - 1) % n];
        let right = x[(i + 1) % n];
        out[i] = (x[i] * 0.5).sin() + left * right / (1.0 + x[i] * x[i]);
    }
}

fn unit(i: usize) -> Vec<f64> {
    let mut e = vec![0.0; N];
    e[i] = 1.0;
    e
}

/// Column `j` holds the derivative of every output with respect to input `j`.
fn jacobian_one_by_one(x: &[f64]) -> Vec<Vec<f64>> {
    let mut out = vec![0.0; N];
    (0..N)
        .map(|j| {
            let mut column = vec![0.0; N];
            spread_jvp(x, &unit(j), &mut out, &mut column);
            column
        })
        .collect()
}

fn jacobian_by_fours(x: &[f64]) -> Vec<Vec<f64>> {
    let mut out = vec![0.0; N];
    let mut columns = Vec::with_capacity(N);
    for j in (0..N).step_by(4) {
        let mut c: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; N]);
        let [c0, c1, c2, c3] = &mut c;
        spread_jvp4(
            x, &unit(j), &unit(j + 1), &unit(j + 2), &unit(j + 3),
            &mut out, c0, c1, c2, c3,
        );
        columns.extend(c);
    }
    columns
}

fn main() {
    let x: Vec<f64> = (0..N).map(|i| (i as f64 * 0.3).cos()).collect();

    let start = Instant::now();
    let single = jacobian_one_by_one(&x);
    let time_single = start.elapsed();
    let start = Instant::now();
    let batched = jacobian_by_fours(&x);
    let time_batched = start.elapsed();

    let h = 1e-6;
    let mut worst = 0.0_f64;
    for j in 0..N {
        let (mut up, mut down) = (x.clone(), x.clone());
        up[j] += h;
        down[j] -= h;
        let (mut f_up, mut f_down) = (vec![0.0; N], vec![0.0; N]);
        spread(&up, &mut f_up);
        spread(&down, &mut f_down);
        for i in 0..N {
            let fd = (f_up[i] - f_down[i]) / (2.0 * h);
            worst = worst.max((single[j][i] - fd).abs());
            assert!((single[j][i] - batched[j][i]).abs() <= 1e-13, "lanes differ from single calls at {i},{j}");
        }
    }
    assert!(worst < 1e-8, "worst difference to finite differences: {worst}");

    println!("calls  width  time");
    println!("{:>5}  {:>5}  {:?}", N, 1, time_single);
    println!("{:>5}  {:>5}  {:?}", N / 4, 4, time_batched);
    println!("largest difference to finite differences: {worst:.2e}");
}
