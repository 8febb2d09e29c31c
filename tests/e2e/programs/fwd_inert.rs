//! Activities on types that hold no float are accepted, and mean nothing.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

#[autodiff_forward(scaled_jvp, Dual, Dual, Dual, Dual)]
fn scaled(x: f64, n: usize, flags: &[bool]) -> f64 {
    if flags[0] { x * x * n as f64 } else { x }
}

#[autodiff_reverse(power_vjp, Active, Active, Duplicated, Active)]
fn power(x: f64, n: u32, table: &mut [i64]) -> f64 {
    table[0] += 1;
    (0..n).map(|_| x).product()
}

#[autodiff_forward(only_constants, Const, Const)]
fn constants(k: f64) -> f64 {
    k * 2.0
}

#[autodiff_reverse(no_inputs, ActiveOnly)]
fn nothing() -> f64 {
    3.0
}

fn main() {
    assert_eq!(scaled_jvp(2.0, 1.0, 3, 0, &[true], &[false]), (12.0, 12.0));
    let (mut table, mut shadow) = ([5], [7]);
    assert_eq!(power_vjp(2.0, 3, &mut table, &mut shadow, 1.0), (8.0, 12.0, 0));
    assert_eq!((table, shadow), ([6], [7]));
    assert_eq!(only_constants(2.0), 0.0);
    no_inputs(1.0);
}
