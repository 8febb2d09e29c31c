//! Option, Result, enums that carry floats, closures.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

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

#[autodiff_reverse(shapes_vjp, Duplicated, Active)]
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

#[autodiff_reverse(optional_vjp, Duplicated, Active)]
fn optional(x: &[f64]) -> f64 {
    x.iter().filter_map(|v| safe_ln(*v)).sum::<f64>() + safe_ln(x[0]).unwrap_or(x[1]) + safe_ln(x[1]).map_or(0.0, |l| l * l)
}

fn chained(x: &[f64]) -> Option<f64> {
    let a = safe_ln(x[0] + 3.0)?;
    let b = safe_ln(a + x[1] * x[1] + 1.0)?;
    Some(a * b)
}

#[autodiff_reverse(question_mark_vjp, Duplicated, Active)]
fn question_mark(x: &[f64]) -> f64 {
    chained(x).unwrap_or(0.0)
}

fn apply_twice(f: impl Fn(f64) -> f64, v: f64) -> f64 {
    f(f(v))
}

#[autodiff_reverse(closures_vjp, Duplicated, Active)]
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
    check("shapes", shapes, shapes_vjp, 3);
    check("optional", optional, optional_vjp, 5);
    check("question_mark", question_mark, question_mark_vjp, 2);
    check("closures", closures, closures_vjp, 3);
}
