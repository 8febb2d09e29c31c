#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

/* é😋 */ #[autodiff_reverse(dsquare, Active, Active)]
fn square(x: f64) -> f64 {
    x * x
}

#[autodiff_forward(dcube, Duel, Dual)]
fn cube(x: f64) -> f64 {
    x * x * x
}

fn main() {
    println!("{:?}", dsquare(3.0, 1.0));
}
