//! Overwritten memory in reverse: scratch buffers, time loops with swapped buffers, raw pointers, f32.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(diffuse_vjp, Duplicated, Active, Const)]
fn diffuse(u: &mut [f64], rate: f64, steps: usize) {
    for _ in 0..steps {
        let mut left = u[0];
        for i in 1..u.len() - 1 {
            let here = u[i];
            u[i] = here + rate * (left - 2.0 * here + u[i + 1]) * here;
            left = here;
        }
    }
}

#[autodiff_reverse(evolve_vjp, Duplicated, Const, Active)]
fn evolve(start: &[f64], steps: usize) -> f64 {
    let mut u = start.to_vec();
    let mut v = vec![0.0; start.len()];
    for _ in 0..steps {
        for i in 0..u.len() {
            v[i] = u[i] + 0.1 * (u[(i + 1) % u.len()] - u[i]) * u[i];
        }
        std::mem::swap(&mut u, &mut v);
    }
    u.iter().map(|x| x * x).sum()
}

#[autodiff_reverse(stats_vjp, Duplicated, Duplicated, Duplicated)]
fn stats(x: &[f32], mean: &mut f32, variance: &mut f32) {
    let n = x.len() as f32;
    *mean = x.iter().sum::<f32>() / n;
    *variance = x.iter().map(|v| (v - *mean) * (v - *mean)).sum::<f32>() / n;
}

#[autodiff_reverse(norm_vjp, Duplicated, Const, Active)]
unsafe fn norm(x: *const f64, n: usize) -> f64 {
    let mut sum = 0.0;
    for i in 0..n {
        let v = unsafe { *x.add(i) };
        sum += v * v;
    }
    sum.sqrt()
}

#[autodiff_reverse(only_vjp, DuplicatedOnly, Duplicated)]
fn only(x: &f64, out: &mut f64) {
    *out = x.exp();
}

#[autodiff_reverse(jacobian_rows, 3, Duplicated, Duplicated)]
fn map3(x: &[f64; 2], y: &mut [f64; 3]) {
    y[0] = x[0] * x[1];
    y[1] = x[0].sin();
    y[2] = x[1] * x[1] - x[0];
}

fn main() {
    let start: Vec<f64> = (0..6).map(|i| 1.0 + 0.1 * (i * i) as f64).collect();
    let weights: Vec<f64> = (0..6).map(|i| (i as f64).cos()).collect();
    let objective = |u: &[f64], rate: f64| {
        let mut u = u.to_vec();
        diffuse(&mut u, rate, 3);
        u.iter().zip(&weights).map(|(a, b)| a * b).sum::<f64>()
    };
    let (mut u, mut du) = (start.clone(), weights.clone());
    let drate = diffuse_vjp(&mut u, &mut du, 0.1, 3);
    let h = 1e-6;
    for i in 0..6 {
        let (mut up, mut down) = (start.clone(), start.clone());
        up[i] += h;
        down[i] -= h;
        let fd = (objective(&up, 0.1) - objective(&down, 0.1)) / (2.0 * h);
        assert!((du[i] - fd).abs() < 1e-7, "{i}: {} against {fd}", du[i]);
    }
    let fd = (objective(&start, 0.1 + h) - objective(&start, 0.1 - h)) / (2.0 * h);
    assert!((drate - fd).abs() < 1e-7);

    for steps in [0, 1, 4, 5] {
        let mut gradient = vec![0.0; 6];
        let value = evolve_vjp(&start, &mut gradient, steps, 1.0);
        assert!((value - evolve(&start, steps)).abs() < 1e-12);
        for i in 0..6 {
            let (mut up, mut down) = (start.clone(), start.clone());
            up[i] += h;
            down[i] -= h;
            let fd = (evolve(&up, steps) - evolve(&down, steps)) / (2.0 * h);
            assert!((gradient[i] - fd).abs() < 1e-6, "{steps} steps, {i}: {} against {fd}", gradient[i]);
        }
    }

    let (mut mean, mut dmean, mut variance, mut dvariance, mut dx) = (0.0, 3.0, 0.0, 3.0, [0.0; 3]);
    stats_vjp(&[1.0, 2.0, 6.0], &mut dx, &mut mean, &mut dmean, &mut variance, &mut dvariance);
    for (d, x) in dx.iter().zip([1.0_f32, 2.0, 6.0]) {
        assert!((d - (1.0 + 2.0 * (x - 3.0))).abs() < 1e-5);
    }
    assert_eq!((dmean, dvariance), (0.0, 0.0));

    let (x, mut dx) = ([3.0, 4.0], [0.0, 0.0]);
    assert_eq!(unsafe { norm_vjp(x.as_ptr(), dx.as_mut_ptr(), 2, 5.0) }, 5.0);
    assert_eq!(dx, [3.0, 4.0]);

    let (mut out, mut dout, mut dx) = (0.0, 2.0, 0.5);
    unsafe { only_vjp(&0.0, &mut dx, &mut out, &mut dout) };
    assert_eq!(dx, 2.5);

    let (mut r0, mut r1, mut r2) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    let mut y = [0.0; 3];
    let (mut s0, mut s1, mut s2) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
    jacobian_rows(&[2.0, 3.0], &mut r0, &mut r1, &mut r2, &mut y, &mut s0, &mut s1, &mut s2);
    assert_eq!((r0, r1, r2), ([3.0, 2.0], [2.0_f64.cos(), 0.0], [-1.0, 6.0]));
}
