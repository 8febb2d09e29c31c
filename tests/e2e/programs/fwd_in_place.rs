//! Mutation through references: overwritten inputs, several outputs, aliased scratch, raw pointers, f32.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(diffuse_jvp, Dual, Const, Const)]
fn diffuse(u: &mut [f64], rate: f64, steps: usize) {
    for _ in 0..steps {
        let mut left = u[0];
        for i in 1..u.len() - 1 {
            let here = u[i];
            u[i] = here + rate * (left - 2.0 * here + u[i + 1]);
            left = here;
        }
    }
}

#[autodiff_forward(stats_jvp, Dual, Dual, Dual)]
fn stats(x: &[f32], mean: &mut f32, variance: &mut f32) {
    let n = x.len() as f32;
    *mean = x.iter().sum::<f32>() / n;
    *variance = x.iter().map(|v| (v - *mean) * (v - *mean)).sum::<f32>() / n;
}

#[autodiff_forward(norm_jvp, Dual, Const, Dual)]
unsafe fn norm(x: *const f64, n: usize) -> f64 {
    let mut sum = 0.0;
    for i in 0..n {
        let v = unsafe { *x.add(i) };
        sum += v * v;
    }
    sum.sqrt()
}

#[autodiff_forward(only_jvp, DualOnly, Dual)]
fn only(x: &f64, out: &mut f64) {
    *out = x.exp();
}

#[autodiff_forward(fill_jvp, Dual, Dual)]
fn fill(x: f64, out: &mut Vec<f64>) {
    out.clear();
    for k in 0..4 {
        out.push(x * k as f64);
    }
}

#[autodiff_forward(grid_jvp, Dual, Dual)]
fn grid(m: &mut [[f64; 3]; 2], k: &f64) {
    for row in m.iter_mut() {
        row.rotate_left(1);
        for v in row {
            *v *= *k;
        }
    }
}

fn main() {
    let mut u: Vec<f64> = (0..6).map(|i| (i * i) as f64).collect();
    let mut bu = vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let reference = {
        let h = 1e-6;
        let (mut up, mut down) = (u.clone(), u.clone());
        up[2] += h;
        down[2] -= h;
        diffuse(&mut up, 0.1, 3);
        diffuse(&mut down, 0.1, 3);
        up.iter().zip(&down).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<f64>>()
    };
    diffuse_jvp(&mut u, &mut bu, 0.1, 3);
    for (a, b) in bu.iter().zip(&reference) {
        assert!((a - b).abs() < 1e-8);
    }

    let (mut mean, mut bmean, mut variance, mut bvariance) = (0.0, 5.0, 0.0, 5.0);
    stats_jvp(&[1.0, 2.0, 6.0], &[0.0, 0.0, 3.0], &mut mean, &mut bmean, &mut variance, &mut bvariance);
    assert_eq!((mean, bmean), (3.0, 1.0));
    assert!((variance - 14.0 / 3.0).abs() < 1e-5 && (bvariance - 6.0).abs() < 1e-5);

    let (x, bx) = ([3.0, 4.0], [0.0, 1.0]);
    assert_eq!(unsafe { norm_jvp(x.as_ptr(), bx.as_ptr(), 2) }, (5.0, 0.8));

    let (mut out, mut bout) = (0.0, 0.0);
    unsafe { only_jvp(&0.0, &2.0, &mut out, &mut bout) };
    assert_eq!((out, bout), (1.0, 2.0));

    let (mut out, mut bout) = (vec![7.0], vec![7.0]);
    fill_jvp(3.0, 1.0, &mut out, &mut bout);
    assert_eq!(out, [0.0, 3.0, 6.0, 9.0]);

    let mut m = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let mut bm = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    grid_jvp(&mut m, &mut bm, &2.0, &1.0);
    assert_eq!(m, [[4.0, 6.0, 2.0], [10.0, 12.0, 8.0]]);
    assert_eq!(bm, [[2.0, 3.0, 3.0], [5.0, 8.0, 4.0]]);
}
