//! Bytes of a float that are turned round twice are not followed backwards.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[autodiff_reverse(turned_vjp, Active, Active)]
fn turned(x: f64) -> f64 {
    let bytes = x.to_le_bytes();
    let mut turned = [0u8; 8];
    for i in 0..8 {
        turned[i] = bytes[7 - i];
    }
    turned.reverse();
    f64::from_le_bytes(turned) * x //~ bits
}

fn main() {
    turned_vjp(1.0, 1.0);
}
