//! The Jacobian of `slice_width4.rs` once more, with the tangents of a batch in one long slice: `Dualv`.
//!
//! Lane k reads and writes elements `[k * N, (k + 1) * N)` of the shadows, so a block of four columns is one
//! `Vec` and the call has four arguments whatever the width.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::time::Instant;

const N: usize = 100;
const WIDTH: usize = 4;

#[autodiff_forward(spread_jvp, Dual, Dual)]
#[autodiff_forward(spread_jvp_block, 4, Dualv, Dualv)]
fn spread(x: &[f64], out: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        let left = x[(i + n - 1) % n];
        let right = x[(i + 1) % n];
        out[i] = (x[i] * 0.5).sin() + left * right / (1.0 + x[i] * x[i]);
    }
}

fn main() {
    let x: Vec<f64> = (0..N).map(|i| (i as f64 * 0.3).cos()).collect();
    let mut out = vec![0.0; N];

    // 100 calls, one column each.
    let start = Instant::now();
    let mut single = vec![0.0; N * N];
    let mut seed = vec![0.0; N];
    for (j, column) in single.chunks_exact_mut(N).enumerate() {
        seed[j] = 1.0;
        spread_jvp(&x, &seed, &mut out, column);
        seed[j] = 0.0;
    }
    let time_single = start.elapsed();

    // 25 calls, four columns each, straight into the matrix.
    let start = Instant::now();
    let mut batched = vec![0.0; N * N];
    let mut seeds = vec![0.0; WIDTH * N];
    for (block, columns) in batched.chunks_exact_mut(WIDTH * N).enumerate() {
        for lane in 0..WIDTH {
            seeds[lane * N + block * WIDTH + lane] = 1.0;
        }
        spread_jvp_block(&x, &seeds, &mut out, columns);
        seeds.fill(0.0);
    }
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
            worst = worst.max((batched[j * N + i] - fd).abs());
            assert!((single[j * N + i] - batched[j * N + i]).abs() <= 1e-13);
        }
    }
    assert!(worst < 1e-8, "worst difference to finite differences: {worst}");

    println!("calls  width  time");
    println!("{:>5}  {:>5}  {:?}", N, 1, time_single);
    println!("{:>5}  {:>5}  {:?}", N / WIDTH, WIDTH, time_batched);
    println!("largest difference to finite differences: {worst:.2e}");
}
