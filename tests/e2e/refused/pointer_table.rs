//! Which function a table's entry is cannot be known.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

fn square(v: f64) -> f64 {
    v * v
}

#[autodiff_forward(pointers_jvp, Dual, Const, Dual)]
#[autodiff_reverse(pointers_vjp, Duplicated, Const, Active)]
fn pointers(x: &[f64], table: &[fn(f64) -> f64]) -> f64 {
    x.iter().zip(table).map(|(v, f)| f(*v)).sum() //~ function
}

fn main() {
    pointers_jvp(&[1.0], &[1.0], &[square]);
    pointers_vjp(&[1.0], &mut [1.0], &[square], 1.0);
}
