//! Arrays, matrices, copies and mutation in place.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(matrix_square_jvp, Dual, Dual)]
fn matrix_square(x: &[f64]) -> f64 {
    let m = [[x[0], x[1]], [x[2], x[3]]];
    let mut p = [[0.0; 2]; 2];
    for i in 0..2 {
        for j in 0..2 {
            for k in 0..2 {
                p[i][j] += m[i][k] * m[k][j];
            }
        }
    }
    p[0][0] * p[1][1] - p[0][1] * p[1][0] + p[0][1]
}

#[autodiff_forward(table_lookup_jvp, Dual, Dual)]
fn table_lookup(x: &[f64]) -> f64 {
    const TABLE: [f64; 5] = [1.0, 4.0, 9.0, 16.0, 25.0];
    x.iter().zip(TABLE).map(|(v, t)| t * v * v).sum()
}

#[autodiff_forward(sorted_weights_jvp, Dual, Dual)]
fn sorted_weights(x: &[f64]) -> f64 {
    let mut v = [x[0], x[1], x[2], x[3]];
    v.sort_by(|a, b| a.partial_cmp(b).unwrap());
    v[0] + 2.0 * v[1] + 3.0 * v[2] + 4.0 * v[3] * v[0]
}

#[autodiff_forward(prefix_in_place_jvp, Dual, Dual)]
fn prefix_in_place(x: &[f64]) -> f64 {
    let mut v: [f64; 4] = [x[0], x[1], x[2], x[3]];
    for i in 1..4 {
        v[i] += v[i - 1] * v[i];
    }
    v.swap(0, 3);
    v[0] * v[3] + v[1] / (2.0 + v[2])
}

#[autodiff_forward(mapped_jvp, Dual, Dual)]
fn mapped(x: &[f64]) -> f64 {
    let v: [f64; 3] = std::array::from_fn(|i| x[i] * (i as f64 + 0.5));
    let w = v.map(|v| v.tanh());
    w[0] * w[1] * w[2] + v.iter().sum::<f64>()
}

#[autodiff_forward(split_halves_jvp, Dual, Dual)]
fn split_halves(x: &[f64]) -> f64 {
    let mut v = [x[0], x[1], x[2], x[3]];
    let (a, b) = v.split_at_mut(2);
    for (a, b) in a.iter_mut().zip(b.iter_mut()) {
        let t = *a * *b;
        *b = *a + t.sin();
        *a = t;
    }
    v[0] * v[2] + v[1] * v[3]
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
    check("matrix_square", matrix_square, matrix_square_jvp, 4);
    check("table_lookup", table_lookup, table_lookup_jvp, 5);
    check("sorted_weights", sorted_weights, sorted_weights_jvp, 4);
    check("prefix_in_place", prefix_in_place, prefix_in_place_jvp, 4);
    check("mapped", mapped, mapped_jvp, 3);
    check("split_halves", split_halves, split_halves_jvp, 4);
}
