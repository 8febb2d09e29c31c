//! A gradient that is returned by value has no memory for what a reference in it points to.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[derive(Clone, Copy)]
struct Samples<'a> {
    scale: f64,
    values: &'a [f64],
}

#[autodiff_reverse(scaled_vjp, Active, Active)] //~ `Active` parameter `samples` holds a reference
fn scaled(samples: Samples) -> f64 {
    samples.scale * samples.values.iter().sum::<f64>()
}

fn main() {
    scaled_vjp(Samples { scale: 2.0, values: &[1.0] }, 1.0);
}
