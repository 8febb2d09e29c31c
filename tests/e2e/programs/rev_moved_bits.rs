//! Floats that are moved as integers: priority queues, swaps of raw memory, a vector that may be empty.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(PartialEq, PartialOrd)]
struct Priority(f64);

impl Eq for Priority {}

impl Ord for Priority {
    fn cmp(&self, other: &Priority) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[autodiff_reverse(ranked_vjp, Duplicated, Active)]
fn ranked(x: &[f64]) -> f64 {
    let mut heap = BinaryHeap::new();
    for v in x {
        heap.push(Priority(v * v));
    }
    let (mut rank, mut sum) = (1.0, 0.0);
    while let Some(Priority(v)) = heap.pop() {
        sum += v * rank;
        rank += 1.0;
    }
    sum
}

#[autodiff_reverse(rotated_vjp, Duplicated, Active)]
fn rotated(x: &[f64]) -> f64 {
    let mut h: Vec<f64> = x.iter().map(|v| v * v).collect();
    let (mut sum, mut k) = (0.0, 1.0);
    for n in (1..3).rev() {
        let p = h.as_mut_ptr();
        unsafe {
            std::ptr::swap(p, p.add(n));
            sum += *p.add(n) * k;
            let first = *p;
            let mut at = 0;
            while at + 1 < n {
                *p.add(at) = *p.add(at + 1);
                at += 1;
            }
            *p.add(at) = first;
        }
        k += 1.0;
    }
    sum
}

fn main() {
    let x = [0.5, -0.25, 2.0];
    let mut g = [0.0; 3];
    assert_eq!(ranked_vjp(&x, &mut g, 1.0), 4.0 + 2.0 * 0.25 + 3.0 * 0.0625);
    assert_eq!(g, [2.0, -1.5, 4.0]);
    let mut g = [0.0; 3];
    assert_eq!(rotated_vjp(&x, &mut g, 1.0), 0.25 + 2.0 * 0.0625);
    assert_eq!(g, [1.0, -1.0, 0.0]);
}
