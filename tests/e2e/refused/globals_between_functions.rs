//! Active data that one function leaves in memory without a shadow must not be read back by another.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::cell::Cell;

thread_local! {
    static KEPT: Cell<f64> = const { Cell::new(0.0) };
}

#[inline(never)]
fn keep(x: f64) {
    KEPT.with(|kept| kept.set(3.0 * x)) //~ stored in memory
}

#[inline(never)]
fn kept() -> f64 {
    KEPT.with(|kept| kept.get())
}

#[autodiff_forward(through_thread_local_jvp, Dual, Dual)]
fn through_thread_local(x: f64) -> f64 {
    keep(x);
    kept()
}

fn main() {
    through_thread_local_jvp(1.0, 1.0);
}
