// Numbers behind locks, cells and atomics, beside printing and reading of constant text.
#![feature(autodiff)]
use std::autodiff::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

#[autodiff_forward(locked_fwd, Dual, Dual)]
#[autodiff_reverse(locked_rev, Active, Active)]
fn locked(x: f64) -> f64 {
    let mutex = Mutex::new(3.0 * x);
    *mutex.lock().unwrap() *= x;
    *mutex.lock().unwrap() += x;
    mutex.into_inner().unwrap()
}

#[autodiff_forward(celled_fwd, Dual, Dual)]
#[autodiff_reverse(celled_rev, Active, Active)]
fn celled(x: f64) -> f64 {
    let cell = Cell::new(x);
    cell.set(cell.get() * x);
    let shared = Rc::new(RefCell::new(cell.get()));
    let other = Rc::clone(&shared);
    *other.borrow_mut() += x.sin();
    let value = *shared.borrow();
    value
}

#[autodiff_forward(atomic_fwd, Dual, Dual)]
#[autodiff_reverse(atomic_rev, Active, Active)]
fn atomic(x: f64) -> f64 {
    let bits = AtomicU64::new(0);
    bits.store((x * x).to_bits(), Ordering::SeqCst);
    f64::from_bits(bits.load(Ordering::SeqCst)) * 3.0
}

#[autodiff_forward(spoken_fwd, Dual, Const, Dual)]
#[autodiff_reverse(spoken_rev, Active, Const, Active)]
fn spoken(x: f64, factor: &str) -> f64 {
    eprintln!("x is {x}");
    let label = format!("{:.3}", x);
    eprintln!("{label}");
    assert!(x > 0.0, "x = {x}");
    factor.parse::<f64>().unwrap() * x * x
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} {expected}");
}

fn main() {
    let x: f64 = 1.25;
    close(locked_fwd(x, 1.0).1, 6.0 * x + 1.0);
    close(locked_rev(x, 1.0).1, 6.0 * x + 1.0);
    close(celled_fwd(x, 1.0).1, 2.0 * x + x.cos());
    close(celled_rev(x, 1.0).1, 2.0 * x + x.cos());
    close(atomic_fwd(x, 1.0).1, 6.0 * x);
    close(atomic_rev(x, 1.0).1, 6.0 * x);
    close(spoken_fwd(x, 1.0, "2.5").1, 5.0 * x);
    close(spoken_rev(x, "2.5", 1.0).1, 5.0 * x);
}
