//! A foreign function's derivative is not known.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

unsafe extern "C" {
    fn nobody_knows_this(x: f64) -> f64;
}

#[autodiff_forward(foreign_jvp, Dual, Dual)]
#[autodiff_reverse(foreign_vjp, Active, Active)]
fn foreign(x: f64) -> f64 {
    unsafe { nobody_knows_this(x) } //~ nobody_knows_this
}

fn main() {
    foreign_jvp(1.0, 1.0);
    foreign_vjp(1.0, 1.0);
}
