//! Traits: generic calls, associated constants, trait objects and function pointers.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

trait Activation {
    const SCALE: f64;
    fn apply(&self, v: f64) -> f64;
    fn scaled(&self, v: f64) -> f64 {
        Self::SCALE * self.apply(v)
    }
}

struct Tanh;
struct Leaky(f64);

impl Activation for Tanh {
    const SCALE: f64 = 1.5;
    fn apply(&self, v: f64) -> f64 {
        v.tanh()
    }
}

impl Activation for Leaky {
    const SCALE: f64 = 0.5;
    fn apply(&self, v: f64) -> f64 {
        if v > 0.0 { v } else { self.0 * v }
    }
}

fn layer<A: Activation>(activation: &A, x: &[f64]) -> f64 {
    x.iter().map(|v| activation.scaled(*v)).sum()
}

#[autodiff_forward(statically_jvp, Dual, Dual)]
fn statically(x: &[f64]) -> f64 {
    layer(&Tanh, x) + layer(&Leaky(0.1), x) * x[0]
}

trait Curve {
    fn at(&self, t: f64) -> f64;
}

struct Line(f64, f64);
struct Wave(f64);

impl Curve for Line {
    fn at(&self, t: f64) -> f64 {
        self.0 * t + self.1
    }
}

impl Curve for Wave {
    fn at(&self, t: f64) -> f64 {
        (self.0 * t).sin()
    }
}

#[autodiff_forward(dynamically_jvp, Dual, Dual)]
fn dynamically(x: &[f64]) -> f64 {
    let (line, wave) = (Line(x[0], x[1]), Wave(x[2]));
    let (a, b): (&dyn Curve, &dyn Curve) = (&line, &wave);
    a.at(0.7) * b.at(x[0]) + b.at(0.3)
}

#[autodiff_forward(boxed_jvp, Dual, Dual)]
fn boxed(x: &[f64]) -> f64 {
    let f: Box<dyn Fn(f64) -> f64> = Box::new(|t| t * x[0] + x[1]);
    f(2.0) * f(x[1])
}

fn square(v: f64) -> f64 {
    v * v
}

fn twice(f: fn(f64) -> f64, v: f64) -> f64 {
    f(f(v))
}

#[autodiff_forward(pointers_jvp, Dual, Dual)]
fn pointers(x: &[f64]) -> f64 {
    twice(square, x[0]) + twice(f64::sin, x[1])
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
    check("statically", statically, statically_jvp, 4);
    check("dynamically", dynamically, dynamically_jvp, 3);
    check("boxed", boxed, boxed_jvp, 2);
    check("pointers", pointers, pointers_jvp, 2);
}
