//! Forward mode: the reference values of the specification.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-14 * (1.0 + b.abs()), "{a}, expected {b}");
}

#[autodiff_forward(sine_jvp, Dual, Dual)]
fn sine(t: f64) -> f64 {
    t.sin()
}

#[autodiff_forward(product_jvp, Dual, Dual, Dual)]
fn product(u: f64, v: f64) -> f64 {
    u * v
}

#[autodiff_forward(store_jvp, Dual, Dual)]
fn store(w: &[f64], out: &mut f64) {
    *out = w[0] * w[1];
}

#[autodiff_forward(add_to_jvp, Dual, Dual)]
fn add_to(w: &[f64], out: &mut f64) {
    *out += w[0] * w[1];
}

#[autodiff_forward(cube_jvp2, 2, Dual, Dual)]
#[autodiff_forward(cube_tangents2, 2, Dual, DualOnly)]
#[autodiff_forward(cube_tangent, Dual, DualOnly)]
#[autodiff_forward(cube_const, Dual, Const)]
fn cube(t: f64) -> f64 {
    t * t * t
}

#[autodiff_forward(double_jvp3, 3, Dualv, Dualv)]
fn double(x: &[f64], out: &mut [f64]) {
    for i in 0..x.len() {
        out[i] = 2.0 * x[i];
    }
}

#[autodiff_forward(rosenbrock_jvp, Dual, Dual, Dual)]
#[autodiff_forward(rosenbrock_dx, Dual, Const, Dual)]
fn rosenbrock(x: f64, y: f64) -> f64 {
    (1.0 - x).powi(2) + 100.0 * (y - x.powi(2)).powi(2)
}

#[autodiff_forward(cross_crate_jvp, Dual, Dual)]
fn cross_crate(x: f64) -> f64 {
    (2.0 * x + x) * x.sin()
}

fn main() {
    let (y, dy) = sine_jvp(0.5, 1.0);
    close(y, 0.479425538604203);
    close(dy, 0.8775825618903728);

    assert_eq!(product_jvp(2.0, 1.0, 5.0, 1.0), (10.0, 7.0));

    let (w, bw) = ([2.0, 5.0], [1.0, 0.0]);
    let (mut out, mut bout) = (0.0, 99.0);
    store_jvp(&w, &bw, &mut out, &mut bout);
    assert_eq!((out, bout, bw), (10.0, 5.0, [1.0, 0.0]));

    let (mut out, mut bout) = (1.0, 0.5);
    add_to_jvp(&w, &bw, &mut out, &mut bout);
    assert_eq!((out, bout), (11.0, 5.5));

    assert_eq!(cube_jvp2(2.0, 1.0, 10.0), [8.0, 12.0, 120.0]);
    assert_eq!(cube_tangents2(2.0, 1.0, 10.0), [12.0, 120.0]);
    assert_eq!(cube_tangent(2.0, 1.0), 12.0);
    assert_eq!(cube_const(2.0, 1.0), 12.0);

    let bx = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    let (mut out, mut bout) = ([0.0; 2], [7.0; 6]);
    double_jvp3(&[3.0, 4.0], &bx, &mut out, &mut bout);
    assert_eq!(out, [6.0, 8.0]);
    assert_eq!(bout, [2.0, 0.0, 0.0, 2.0, 2.0, 2.0]);

    assert_eq!(rosenbrock_jvp(1.0, 1.0, 3.0, 0.0), (400.0, -800.0));
    assert_eq!(rosenbrock_jvp(1.0, 0.0, 3.0, 1.0), (400.0, 400.0));
    assert_eq!(rosenbrock_jvp(1.0, 1.0, 3.0, 1.0), (400.0, -400.0));
    assert_eq!(rosenbrock_dx(1.0, 1.0, 3.0), (400.0, -800.0));

    let (y, dy) = cross_crate_jvp(1.5, 1.0);
    close(y, 4.488727439718245);
    close(dy, 3.0 * 1.5_f64.sin() + 4.5 * 1.5_f64.cos());
}
