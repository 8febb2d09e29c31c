// A number that is written as text and read in again has lost its derivative.
#![feature(autodiff)]
use std::autodiff::*;

#[autodiff_forward(through_text_fwd, Dual, Dual)]
#[autodiff_reverse(through_text_rev, Active, Active)]
fn through_text(x: f64) -> f64 {
    format!("{:.6e}", 3.0 * x).parse::<f64>().unwrap() //~ written as text
}

fn main() {
    println!("{:?} {:?}", through_text_fwd(1.0, 1.0), through_text_rev(1.0, 1.0));
}
