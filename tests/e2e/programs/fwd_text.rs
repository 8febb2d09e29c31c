//! Active numbers may be printed and written down, and constants read from text, as long as the two do not meet.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

#[autodiff_forward(noted_jvp, Dual, Dual)]
#[autodiff_reverse(noted_vjp, Active, Active)]
fn noted(x: f64) -> f64 {
    let note = format!("at {x:.3}");
    println!("{note} {x:e}");
    assert!(x < 5.0, "large: {x}");
    x * x * note.len() as f64
}

#[inline(never)]
fn parse(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[autodiff_forward(tabled_jvp, Dual, Dual)]
#[autodiff_reverse(tabled_vjp, Active, Active)]
fn tabled(x: f64) -> f64 {
    let owned = String::from("1.0 2.0 3.5");
    println!("{x}");
    parse(&owned).iter().enumerate().map(|(k, c)| c * x.powi(k as i32)).sum()
}

#[autodiff_forward(given_jvp, Dual, Const, Dual)]
#[autodiff_reverse(given_vjp, Active, Const, Active)]
fn given(x: f64, text: &str) -> f64 {
    let note = x.to_string();
    parse(text).iter().sum::<f64>() * x * x + 0.0 * note.len() as f64
}

#[autodiff_forward(flat_jvp, Dual, Dual)]
#[autodiff_reverse(flat_vjp, Active, Active)]
fn flat(x: f64) -> f64 {
    println!("{x}");
    if x > 100.0 { 3.0 } else { 2.0 }
}

fn main() {
    assert_eq!(flat_jvp(0.5, 1.0), (2.0, 0.0));
    assert_eq!(flat_vjp(0.5, 1.0), (2.0, 0.0));
    assert_eq!(noted_jvp(0.5, 1.0), (2.0, 8.0));
    assert_eq!(noted_vjp(0.5, 1.0), (2.0, 8.0));
    assert_eq!(tabled_jvp(2.0, 1.0), (19.0, 16.0));
    assert_eq!(tabled_vjp(2.0, 1.0), (19.0, 16.0));
    assert_eq!(given_jvp(3.0, 1.0, "1.5 2.5"), (36.0, 24.0));
    assert_eq!(given_vjp(3.0, "1.5 2.5", 1.0), (36.0, 24.0));
}
