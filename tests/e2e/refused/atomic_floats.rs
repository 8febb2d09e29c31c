//! Atomic operations that exchange the bits of floats have no derivative here.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};
use std::sync::atomic::{AtomicU64, Ordering};

#[autodiff_forward(exchanged_jvp, Dual, Dual)]
#[autodiff_reverse(exchanged_vjp, Active, Active)]
fn exchanged(x: f64) -> f64 {
    let kept = AtomicU64::new(x.to_bits());
    let first = kept.compare_exchange(0, (x * x).to_bits(), Ordering::SeqCst, Ordering::SeqCst); //~ atomic
    f64::from_bits(first.unwrap_or_else(|bits| bits)) + f64::from_bits(kept.into_inner())
}

fn main() {
    exchanged_jvp(1.0, 1.0);
    exchanged_vjp(1.0, 1.0);
}
