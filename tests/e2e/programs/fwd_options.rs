//! Option, Result, enums that carry floats, closures.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

enum Shape {
    Circle(f64),
    Rectangle { width: f64, height: f64 },
    Nothing,
}

fn area(shape: &Shape) -> f64 {
    match shape {
        Shape::Circle(r) => std::f64::consts::PI * r * r,
        Shape::Rectangle { width, height } => width * height,
        Shape::Nothing => 0.0,
    }
}

#[autodiff_forward(shapes_jvp, Dual, Dual)]
fn shapes(x: &[f64]) -> f64 {
    let all = [
        Shape::Circle(x[0]),
        Shape::Rectangle { width: x[1], height: x[2] },
        Shape::Nothing,
        Shape::Circle(x[0] * x[1]),
    ];
    all.iter().map(area).sum()
}

fn safe_ln(v: f64) -> Option<f64> {
    if v > 0.0 { Some(v.ln()) } else { None }
}

#[autodiff_forward(optional_jvp, Dual, Dual)]
fn optional(x: &[f64]) -> f64 {
    x.iter().filter_map(|v| safe_ln(*v)).sum::<f64>() + safe_ln(x[0]).unwrap_or(x[1]) + safe_ln(x[1]).map_or(0.0, |l| l * l)
}

fn chained(x: &[f64]) -> Option<f64> {
    let a = safe_ln(x[0] + 3.0)?;
    let b = safe_ln(a + x[1] * x[1] + 1.0)?;
    Some(a * b)
}

#[autodiff_forward(question_mark_jvp, Dual, Dual)]
fn question_mark(x: &[f64]) -> f64 {
    chained(x).unwrap_or(0.0)
}

fn apply_twice(f: impl Fn(f64) -> f64, v: f64) -> f64 {
    f(f(v))
}

#[autodiff_forward(closures_jvp, Dual, Dual)]
fn closures(x: &[f64]) -> f64 {
    let (a, b) = (x[1], x[2]);
    apply_twice(|v| a * v + b, x[0]) + apply_twice(f64::sin, x[0])
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
    check("shapes", shapes, shapes_jvp, 3);
    check("optional", optional, optional_jvp, 5);
    check("question_mark", question_mark, question_mark_jvp, 2);
    check("closures", closures, closures_jvp, 3);
}
