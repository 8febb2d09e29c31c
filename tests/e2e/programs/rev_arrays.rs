//! Arrays, matrices, copies and mutation in place.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(matrix_square_vjp, Duplicated, Active)]
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

#[autodiff_reverse(table_lookup_vjp, Duplicated, Active)]
fn table_lookup(x: &[f64]) -> f64 {
    const TABLE: [f64; 5] = [1.0, 4.0, 9.0, 16.0, 25.0];
    x.iter().zip(TABLE).map(|(v, t)| t * v * v).sum()
}

#[autodiff_reverse(sorted_weights_vjp, Duplicated, Active)]
fn sorted_weights(x: &[f64]) -> f64 {
    let mut v = [x[0], x[1], x[2], x[3]];
    v.sort_by(|a, b| a.partial_cmp(b).unwrap());
    v[0] + 2.0 * v[1] + 3.0 * v[2] + 4.0 * v[3] * v[0]
}

#[autodiff_reverse(prefix_in_place_vjp, Duplicated, Active)]
fn prefix_in_place(x: &[f64]) -> f64 {
    let mut v: [f64; 4] = [x[0], x[1], x[2], x[3]];
    for i in 1..4 {
        v[i] += v[i - 1] * v[i];
    }
    v.swap(0, 3);
    v[0] * v[3] + v[1] / (2.0 + v[2])
}

#[autodiff_reverse(mapped_vjp, Duplicated, Active)]
fn mapped(x: &[f64]) -> f64 {
    let v: [f64; 3] = std::array::from_fn(|i| x[i] * (i as f64 + 0.5));
    let w = v.map(|v| v.tanh());
    w[0] * w[1] * w[2] + v.iter().sum::<f64>()
}

#[autodiff_reverse(split_halves_vjp, Duplicated, Active)]
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
    check("matrix_square", matrix_square, matrix_square_vjp, 4);
    check("table_lookup", table_lookup, table_lookup_vjp, 5);
    check("sorted_weights", sorted_weights, sorted_weights_vjp, 4);
    check("prefix_in_place", prefix_in_place, prefix_in_place_vjp, 4);
    check("mapped", mapped, mapped_vjp, 3);
    check("split_halves", split_halves, split_halves_vjp, 4);
}
