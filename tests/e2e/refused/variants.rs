//! An enum in which a small and a large float share their place is copied whole: which one it is, is not known.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[derive(Clone, Copy)]
enum Shape {
    Pair(f32, f32),
    Large(f64),
    Number(u8),
}

fn make(i: usize, v: f64) -> Shape {
    match i % 3 {
        0 => Shape::Pair(v as f32, (v * v) as f32),
        1 => Shape::Large(v.sin()),
        _ => Shape::Number(3),
    }
}

fn value(shape: &Shape) -> f64 {
    match *shape {
        Shape::Pair(a, b) => (a * b) as f64,
        Shape::Large(v) => v * v,
        Shape::Number(n) => n as f64,
    }
}

#[autodiff_reverse(shapes_vjp, Duplicated, Active)]
fn shapes(x: &[f64]) -> f64 {
    let all: Vec<Shape> = x.iter().enumerate().map(|(i, v)| make(i, *v)).collect();
    let mut more = all.clone();
    more.push(all[0]); //~ which of its bytes are floats is not known
    more.iter().zip(1..).map(|(s, k)| value(s) * k as f64).sum()
}

fn main() {
    shapes_vjp(&[1.0, 2.0, 3.0], &mut [0.0; 3], 1.0);
}
