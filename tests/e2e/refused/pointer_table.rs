//! A table's entries may be functions of which only their names are known.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

unsafe extern "C" {
    safe fn cbrt(v: f64) -> f64;
}

#[autodiff_forward(pointers_jvp, Dual, Const, Dual)]
#[autodiff_reverse(pointers_vjp, Duplicated, Const, Active)]
fn pointers(x: &[f64], table: &[extern "C" fn(f64) -> f64]) -> f64 {
    x.iter().zip(table).map(|(v, f)| f(*v)).sum() //~ function
}

fn main() {
    pointers_jvp(&[1.0], &[1.0], &[cbrt]);
    pointers_vjp(&[1.0], &mut [1.0], &[cbrt], 1.0);
}
