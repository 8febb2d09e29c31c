//! Factorisations and solves written by hand.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

fn spd(x: &[f64], n: usize) -> Vec<Vec<f64>> {
    let mut a = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                a[i][j] += (x[(i + k) % x.len()] + 0.1 * i as f64) * (x[(j + k) % x.len()] + 0.1 * j as f64);
            }
        }
        a[i][i] += 2.0;
    }
    a
}

#[autodiff_reverse(log_det_vjp, Duplicated, Active)]
fn log_det(x: &[f64]) -> f64 {
    let n = 4;
    let mut a = spd(x, n);
    let mut sum = 0.0;
    for j in 0..n {
        for k in 0..j {
            for i in j..n {
                let f = a[j][k];
                a[i][j] -= a[i][k] * f;
            }
        }
        let d = a[j][j].sqrt();
        sum += 2.0 * d.ln();
        for i in j..n {
            a[i][j] /= d;
        }
    }
    sum
}

#[autodiff_reverse(pivoted_solve_vjp, Duplicated, Active)]
fn pivoted_solve(x: &[f64]) -> f64 {
    const N: usize = 3;
    let mut a = [[0.0; N]; N];
    let mut b = [0.0; N];
    for i in 0..N {
        for j in 0..N {
            a[i][j] = (x[(2 * i + j) % x.len()] + (i * j) as f64).sin() + if i == j { 1.5 } else { 0.0 };
        }
        b[i] = x[i];
    }
    for col in 0..N {
        let pivot = (col..N).max_by(|p, q| a[*p][col].abs().partial_cmp(&a[*q][col].abs()).unwrap()).unwrap();
        a.swap(col, pivot);
        b.swap(col, pivot);
        for row in col + 1..N {
            let f = a[row][col] / a[col][col];
            for k in col..N {
                a[row][k] -= f * a[col][k];
            }
            b[row] -= f * b[col];
        }
    }
    for i in (0..N).rev() {
        for k in i + 1..N {
            b[i] -= a[i][k] * b[k];
        }
        b[i] /= a[i][i];
    }
    b[0] + 2.0 * b[1] - b[2]
}

#[autodiff_reverse(power_iteration_vjp, Duplicated, Active)]
fn power_iteration(x: &[f64]) -> f64 {
    let n = x.len();
    let mut v = vec![1.0; n];
    for _ in 0..6 {
        let mut w: Vec<f64> = (0..n).map(|i| (0..n).map(|j| (x[i] * x[j] + (i == j) as u8 as f64) * v[j]).sum()).collect();
        let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
        w.iter_mut().for_each(|w| *w /= norm);
        v = w;
    }
    v.iter().zip(x).map(|(v, x)| v * x).sum()
}

#[autodiff_reverse(conjugate_gradient_vjp, Duplicated, Active)]
fn conjugate_gradient(x: &[f64]) -> f64 {
    let n = x.len();
    let apply = |p: &[f64]| -> Vec<f64> {
        (0..n).map(|i| (3.0 + x[i] * x[i]) * p[i] - if i > 0 { p[i - 1] } else { 0.0 } - if i + 1 < n { p[i + 1] } else { 0.0 }).collect()
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut s = vec![0.0; n];
    let mut r: Vec<f64> = x.iter().map(|v| v.cos()).collect();
    let mut p = r.clone();
    let mut rr = dot(&r, &r);
    for _ in 0..3 {
        let ap = apply(&p);
        let alpha = rr / dot(&p, &ap);
        for i in 0..n {
            s[i] += alpha * p[i];
            r[i] -= alpha * ap[i];
        }
        let next = dot(&r, &r);
        for i in 0..n {
            p[i] = r[i] + next / rr * p[i];
        }
        rr = next;
    }
    s.iter().sum()
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
    check("log_det", log_det, log_det_vjp, 5);
    check("pivoted_solve", pivoted_solve, pivoted_solve_vjp, 5);
    check("power_iteration", power_iteration, power_iteration_vjp, 4);
    check("conjugate_gradient", conjugate_gradient, conjugate_gradient_vjp, 5);
}
