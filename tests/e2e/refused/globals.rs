//! A value that goes through a mutable static has no shadow to go through.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

static mut KEPT: f64 = 0.0;

#[inline(never)]
fn keep(x: f64) {
    unsafe { std::ptr::write_volatile(&raw mut KEPT, x) } //~ stored in memory
}

#[autodiff_forward(through_static_jvp, Dual, Dual)]
#[autodiff_reverse(through_static_vjp, Active, Active)]
fn through_static(x: f64) -> f64 {
    keep(x * x);
    unsafe { std::ptr::read_volatile(&raw const KEPT) }
}

fn main() {
    through_static_jvp(1.0, 1.0);
    through_static_vjp(1.0, 1.0);
}
