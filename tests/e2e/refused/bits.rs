//! Integer arithmetic on a float's bits has no derivative that could be known.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

#[autodiff_forward(fast_inverse_jvp, Dual, Dual)]
#[autodiff_reverse(fast_inverse_vjp, Active, Active)]
fn fast_inverse(x: f32) -> f32 {
    let guess = f32::from_bits(0x5f3759df - (x.to_bits() >> 1)); //~ bits
    guess * (1.5 - 0.5 * x * guess * guess)
}

fn main() {
    fast_inverse_jvp(1.0, 1.0);
    fast_inverse_vjp(1.0, 1.0);
}
