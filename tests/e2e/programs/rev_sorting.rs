//! Sorting and selecting: elements are moved as words, and compared as floats or as their bits.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

const N: usize = 61;

/// The weight of every element's rank.
fn expected(x: &[f64], weights: impl Fn(usize) -> f64) -> Vec<f64> {
    x.iter().map(|v| weights(x.iter().filter(|w| *w < v).count())).collect()
}

#[autodiff_reverse(by_bits_vjp, Duplicated, Active)]
fn by_bits(x: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = x.iter().map(|v| 2.0 * v).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.iter().enumerate().map(|(rank, v)| rank as f64 * v).sum()
}

#[autodiff_reverse(median_vjp, Duplicated, Active)]
fn median(x: &[f64]) -> f64 {
    let mut kept = x.to_vec();
    let middle = kept.len() / 2;
    *kept.select_nth_unstable_by(middle, |a, b| a.total_cmp(b)).1
}

#[autodiff_reverse(with_index_vjp, Duplicated, Active)]
fn with_index(x: &[f64]) -> f64 {
    let mut pairs: Vec<(f64, usize)> = x.iter().copied().zip(0..).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.iter().enumerate().map(|(rank, (v, index))| v * (3 * rank) as f64 + *index as f64).sum()
}

#[derive(Clone, Copy)]
struct Particle {
    label: u32,
    speed: f64,
    charge: f32,
}

#[autodiff_reverse(records_vjp, Duplicated, Active)]
fn records(x: &[f64]) -> f64 {
    let make = |(label, v): (usize, &f64)| Particle { label: label as u32, speed: *v, charge: *v as f32 };
    let mut all: Vec<Particle> = x.iter().enumerate().map(make).collect();
    all.sort_unstable_by(|a, b| a.speed.total_cmp(&b.speed));
    all.iter().enumerate().map(|(rank, p)| p.speed * rank as f64 + p.charge as f64 * p.label as f64).sum()
}

fn gradient(vjp: fn(&[f64], &mut [f64], f64) -> f64, x: &[f64]) -> Vec<f64> {
    let mut shadow = vec![0.0; x.len()];
    vjp(x, &mut shadow, 1.0);
    shadow
}

fn main() {
    let x: Vec<f64> = (0..N).map(|i| (i * 17 % N) as f64 + 0.5).collect();
    assert_eq!(gradient(by_bits_vjp, &x), expected(&x, |rank| 2.0 * rank as f64));
    assert_eq!(gradient(median_vjp, &x), expected(&x, |rank| if rank == N / 2 { 1.0 } else { 0.0 }));
    assert_eq!(gradient(with_index_vjp, &x), expected(&x, |rank| 3.0 * rank as f64));
    let both: Vec<f64> = expected(&x, |rank| rank as f64).iter().zip(0..).map(|(r, i)| r + i as f64).collect();
    assert_eq!(gradient(records_vjp, &x), both);
}
