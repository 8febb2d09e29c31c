//! Results that go through a Const buffer have no shadow to go through, not in a recursive function either.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[inline(never)]
fn fill(scratch: &mut [f64], x: f64, n: usize) -> f64 {
    if n == 0 {
        return x;
    }
    let r = fill(scratch, x * 1.1, n - 1);
    scratch[n - 1] = r * x; //~ pass the buffer as `Duplicated`
    scratch[n - 1] + r
}

#[autodiff_reverse(filled_vjp, Const, Active, Active)]
fn filled(scratch: &mut [f64], x: f64) -> f64 {
    fill(scratch, x, 4) + scratch[0] * scratch[1]
}

fn main() {
    filled_vjp(&mut [0.0; 4], 0.8, 1.0);
}
