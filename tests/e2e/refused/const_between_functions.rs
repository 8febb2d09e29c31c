//! A Const buffer has no shadow: what a callee leaves there must not be read back.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[inline(never)]
fn fill(buffer: &mut [f64], x: f64) {
    for (k, place) in buffer.iter_mut().enumerate() {
        *place = x * k as f64;
    }
}

#[autodiff_forward(buffered_jvp, Dual, Const, Dual)]
fn buffered(x: f64, buffer: &mut [f64]) -> f64 {
    fill(buffer, x); //~ stored in memory
    buffer[1] + buffer[2]
}

fn main() {
    buffered_jvp(1.0, 1.0, &mut [0.0; 4]);
}
