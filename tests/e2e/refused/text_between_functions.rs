//! A number that one function writes as text and another reads in again has lost its derivative.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(never)]
fn show(x: f64) -> String {
    format!("{:.17}", 3.0 * x) //~ written as text
}

#[inline(never)]
fn read(text: &str) -> f64 {
    text.trim().parse().unwrap()
}

#[autodiff_forward(between_jvp, Dual, Dual)]
#[autodiff_reverse(between_vjp, Active, Active)]
fn between(x: f64) -> f64 {
    read(&show(x))
}

fn main() {
    between_jvp(1.0, 1.0);
    between_vjp(1.0, 1.0);
}
