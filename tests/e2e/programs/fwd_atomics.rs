//! Atomic operations on the bits of floats: what they read has a tangent.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock};

#[autodiff_forward(swapped_jvp, 2, Dual, Dual)]
fn swapped(x: f64) -> f64 {
    let cell = AtomicU64::new(x.to_bits());
    let kept = black_box(&cell);
    let before = kept.swap(2.5f64.to_bits(), SeqCst);
    f64::from_bits(before) * 3.0 + f64::from_bits(kept.load(SeqCst))
}

#[autodiff_forward(read_jvp, 2, Dual, Dual)]
fn read(x: f64) -> f64 {
    let cell = AtomicU32::new((x as f32).to_bits());
    f64::from(f32::from_bits(black_box(&cell).fetch_add(0, SeqCst))) * 3.0
}

#[autodiff_forward(compared_jvp, 2, Dual, Dual)]
fn compared(x: f64) -> f64 {
    let cell = AtomicU64::new(x.to_bits());
    let kept = black_box(&cell);
    let failed = kept.compare_exchange(0, 2.5f64.to_bits(), SeqCst, SeqCst).unwrap_or_else(|bits| bits);
    let done = kept.compare_exchange(x.to_bits(), 0, SeqCst, SeqCst).unwrap_or_else(|bits| bits);
    f64::from_bits(failed) * 3.0 + f64::from_bits(done) + f64::from_bits(kept.load(SeqCst))
}

#[autodiff_forward(locked_jvp, 2, Dual, Dual)]
fn locked(x: f64) -> f64 {
    let count = AtomicUsize::new(0);
    let mutex = Mutex::new(x);
    for _ in 0..3 {
        count.fetch_add(1, SeqCst);
        *mutex.lock().unwrap() *= x;
    }
    let pair = RwLock::new([x, x * x]);
    pair.write().unwrap()[0] *= 2.0;
    let shared = Arc::new(x * x);
    let sum = pair.read().unwrap().iter().sum::<f64>();
    let last = *mutex.lock().unwrap();
    last * count.load(SeqCst) as f64 + sum * *Arc::clone(&shared)
}

fn main() {
    assert_eq!(swapped_jvp(2.0, 1.0, 2.0), [8.5, 3.0, 6.0]);
    assert_eq!(read_jvp(2.0, 1.0, 2.0), [6.0, 3.0, 6.0]);
    assert_eq!(compared_jvp(2.0, 1.0, 2.0), [8.0, 4.0, 8.0]);
    let (x, y): (f64, f64) = (1.5, 12.0 * 1.5f64.powi(3) + 6.0 * 1.5f64.powi(2) + 4.0 * 1.5f64.powi(3));
    let found = locked_jvp(x, 1.0, 2.0);
    assert!((found[1] - y).abs() < 1e-12 && found[2] == 2.0 * found[1], "{found:?} {y}");
}
