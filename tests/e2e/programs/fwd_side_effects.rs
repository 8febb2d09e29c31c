//! Printing, assertions, counters and statics beside the numbers.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

static CALLS: AtomicUsize = AtomicUsize::new(0);
static WEIGHTS: [f64; 4] = [0.5, 1.5, -2.0, 3.0];

#[autodiff_forward(counted_jvp, Dual, Dual)]
fn counted(x: &[f64]) -> f64 {
    CALLS.fetch_add(1, Ordering::Relaxed);
    x.iter().zip(&WEIGHTS).map(|(v, w)| w * v * v).sum()
}

#[autodiff_forward(asserted_jvp, Dual, Dual)]
fn asserted(x: &[f64]) -> f64 {
    assert!(!x.is_empty(), "no input");
    let norm: f64 = x.iter().map(|v| v * v).sum();
    assert!(norm.is_finite() && norm >= 0.0, "norm is {norm}");
    debug_assert!(norm < 1e9);
    if norm > 1e12 {
        panic!("too large: {norm} at {:?}", x);
    }
    norm.sqrt()
}

#[autodiff_forward(checked_jvp, Dual, Dual)]
fn checked(x: &[f64]) -> f64 {
    let first = x.first().copied().expect("no input");
    let last = *x.last().unwrap();
    let third = x.get(2).map_or(1.0, |v| v * v);
    first * last + third
}

#[autodiff_forward(logged_jvp, Dual, Dual)]
fn logged(x: &[f64]) -> f64 {
    let product = x[0] * x[1];
    if product > 1e6 {
        eprintln!("large product {product:.3}");
    }
    product.exp() + x[1]
}

static mut LAST: f64 = 0.0;
static MOST: Mutex<f64> = Mutex::new(0.0);

#[inline(never)]
fn note(value: f64) {
    unsafe { LAST = value };
    *MOST.lock().unwrap() = value;
}

#[autodiff_forward(noted_jvp, Dual, Dual)]
fn noted(x: f64) -> f64 {
    note(x);
    let y = x * x;
    note(y);
    y
}

#[autodiff_forward(integers_beside_jvp, Dual, Dual)]
fn integers_beside(x: &[f64]) -> f64 {
    let mut seen = 0u64;
    let mut sum = 0.0;
    for (i, v) in x.iter().enumerate() {
        seen = seen.wrapping_mul(31).wrapping_add(i as u64 + (*v > 0.0) as u64);
        sum += v * (seen % 7) as f64;
    }
    sum
}

/// Derivative along coordinate `i` by central differences.
fn slope(f: fn(&[f64]) -> f64, x: &[f64], i: usize) -> f64 {
    let h = 1e-5;
    let (mut up, mut down) = (x.to_vec(), x.to_vec());
    up[i] += h;
    down[i] -= h;
    (f(&up) - f(&down)) / (2.0 * h)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 2e-7 * (1.0 + b.abs())
}

fn check(name: &str, f: fn(&[f64]) -> f64, jvp: fn(&[f64], &[f64]) -> (f64, f64), n: usize) {
    let x = &[0.62, -0.35, 1.4, 0.81, -1.2, 0.27, 1.9][..n];
    for i in 0..n {
        let mut seed = vec![0.0; n];
        seed[i] = 1.0;
        let (value, tangent) = jvp(x, &seed);
        assert!(close(value, f(x)), "{name}: primal {value}, expected {}", f(x));
        let expected = slope(f, x, i);
        assert!(close(tangent, expected), "{name}, input {i}: {tangent}, expected {expected}");
    }
}

#[autodiff_forward(hidden_jvp, Dual, Dual)]
fn hidden(x: &[f64]) -> f64 {
    std::hint::black_box(x[0]) * std::hint::black_box(x)[1]
}

fn positive(v: &[f64]) -> std::borrow::Cow<'_, [f64]> {
    if v[0] > 0.0 { v.into() } else { v.iter().map(|a| -a).collect::<Vec<_>>().into() }
}

/// What is freed at the end may be borrowed.
#[autodiff_forward(lent_jvp, Dual, Dual)]
fn lent(x: &[f64]) -> f64 {
    let negated: Vec<f64> = x.iter().map(|v| -v).collect();
    positive(x).iter().zip(positive(&negated).iter()).map(|(a, b)| a * b * b).sum()
}

fn main() {
    assert_eq!(noted_jvp(3.0, 2.0), (9.0, 12.0));
    assert_eq!((unsafe { LAST }, *MOST.lock().unwrap()), (9.0, 9.0));
    assert_eq!(hidden_jvp(&[2.0, 5.0], &[1.0, 10.0]), (10.0, 25.0));
    for sign in [1.0, -1.0] {
        assert_eq!(lent_jvp(&[sign, 2.0 * sign], &[1.0, 1.0]), (9.0, 15.0 * sign));
    }
    check("counted", counted, counted_jvp, 4);
    check("asserted", asserted, asserted_jvp, 4);
    check("checked", checked, checked_jvp, 4);
    check("logged", logged, logged_jvp, 2);
    check("integers_beside", integers_beside, integers_beside_jvp, 5);
}
