//! Small floats side by side in one integer: stored, loaded and returned so.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

fn pack(x: f32, y: f32) -> u64 {
    (x.to_bits() as u64) << 32 | y.to_bits() as u64
}

fn unpack(bits: u64) -> (f32, f32) {
    (f32::from_bits((bits >> 32) as u32), f32::from_bits(bits as u32))
}

#[autodiff_reverse(stored_vjp, Duplicated, Active)]
fn stored(x: &[f64]) -> f64 {
    let all: Vec<u64> = x.iter().map(|v| pack(*v as f32, (v * v) as f32)).collect();
    let product = |bits: &u64| {
        let (a, b) = unpack(*bits);
        (a * b) as f64
    };
    all.iter().map(product).sum()
}

/// `Result<f32, i32>` is returned in one register; recursion keeps it a function of its own.
fn checked(turns: u32, v: f32) -> Result<f32, i32> {
    if turns == 0 {
        if v > 3.0 { Err(7) } else { Ok(v) }
    } else {
        checked(turns - 1, v * 2.0).map(|w| w * v).or_else(|e| if turns == 2 { Ok(v * e as f32) } else { Err(e) })
    }
}

#[autodiff_reverse(returned_vjp, Duplicated, Active)]
fn returned(x: &[f64]) -> f64 {
    x.iter().map(|v| checked(2, *v as f32).unwrap_or(0.5) as f64).sum()
}

fn main() {
    let mut gradient = [0.0; 2];
    assert_eq!(stored_vjp(&[1.0, 2.0], &mut gradient, 1.0), 9.0);
    assert_eq!(gradient, [3.0, 12.0]);
    // 8 v^3 while 4 v is at most 3, else 7 v
    let mut gradient = [0.0; 3];
    assert_eq!(returned_vjp(&[0.5, 0.25, 2.0], &mut gradient, 1.0), 1.0 + 0.125 + 14.0);
    assert_eq!(gradient, [6.0, 1.5, 7.0]);
}
