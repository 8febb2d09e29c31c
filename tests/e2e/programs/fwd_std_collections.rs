//! Collections and iterators of the standard library.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::borrow::Cow;
use std::collections::*;

#[autodiff_forward(dedup_retain_drain_jvp, Dual, Dual)]
fn dedup_retain_drain(x: &[f64]) -> f64 {
    let mut v: Vec<f64> = x.iter().flat_map(|a| [*a, *a, a * a]).collect();
    v.dedup();
    v.retain(|a| *a > -0.4);
    let d: f64 = v.drain(1..4).map(|a| a.exp()).sum();
    v.insert(1, d);
    v.remove(0);
    v.truncate(6);
    v.extend_from_slice(&x[..2]);
    v.splice(0..1, [x[0] * 2.0, x[1] * 3.0, d]);
    v.iter().rev().enumerate().map(|(i, a)| a * (i as f64 + 0.5)).sum()
}

#[autodiff_forward(bsearch_jvp, Dual, Dual)]
#[autodiff_forward(bsearch_lanes, 3, Dualv, Dual)]
fn bsearch(x: &[f64]) -> f64 {
    let knots: Vec<f64> = x
        .iter()
        .scan(0.0, |s, v| {
            *s += v.abs() + 0.1;
            Some(*s)
        })
        .collect();
    let at = match knots.binary_search_by(|k| k.partial_cmp(&1.0).unwrap()) {
        Ok(i) | Err(i) => i,
    };
    let at = at.min(knots.len() - 1).max(1);
    (1.0 - knots[at - 1]) / (knots[at] - knots[at - 1]) + knots.partition_point(|k| *k < 0.8) as f64 * x[0]
}

#[autodiff_forward(windows_chunks_jvp, Dual, Dual)]
#[autodiff_forward(windows_chunks_lanes, 3, Dualv, Dual)]
fn windows_chunks(x: &[f64]) -> f64 {
    x.windows(3).map(|w| w[0] * w[2] - w[1]).sum::<f64>()
        * x.chunks(3).map(|c| c.iter().sum::<f64>().powi(c.len() as i32)).product::<f64>()
        + x.chunks_exact(3).remainder().iter().sum::<f64>()
        + x.rchunks(3).map(|c| c[0]).sum::<f64>()
        + x.split(|v| *v < 0.0).map(|s| s.iter().fold(1.0, |a, b| a * b)).sum::<f64>()
}

#[autodiff_forward(successors_jvp, Dual, Dual)]
#[autodiff_forward(successors_lanes, 3, Dualv, Dual)]
fn successors(x: &[f64]) -> f64 {
    let s: f64 = std::iter::successors(Some(x[0].abs() + 0.2), |v| (*v < 20.0).then(|| v * 1.7 + x[1])).sum();
    let r: f64 = std::iter::repeat(x[0]).take(4).map(|v| v * v).sum();
    let mut k = 0;
    let f: f64 = std::iter::from_fn(|| {
        k += 1;
        (k < 5).then_some(x[1] * k as f64)
    })
    .product();
    let w: f64 =
        std::iter::repeat_with(|| x[0].sin()).take(3).chain(std::iter::once(x[1])).chain(std::iter::empty()).sum();
    s + r * f + w
}

#[autodiff_forward(deque_jvp, Dual, Dual)]
fn deque(x: &[f64]) -> f64 {
    let mut d: VecDeque<f64> = x.iter().copied().collect();
    for i in 0..10 {
        let a = d.pop_front().unwrap();
        let b = *d.back().unwrap();
        d.push_back(a * 0.7 + b.sin());
        d.push_front(a * i as f64 * 0.1);
        d.rotate_left(2);
        if d.len() > 8 {
            d.pop_back();
        }
    }
    d.iter().enumerate().map(|(i, v)| v * i as f64).sum::<f64>()
        + d.make_contiguous().windows(2).map(|w| w[0] * w[1]).sum::<f64>()
}

#[autodiff_forward(cow_jvp, Dual, Dual)]
#[autodiff_forward(cow_lanes, 3, Dualv, Dual)]
fn cow(x: &[f64]) -> f64 {
    fn fix(v: &[f64]) -> Cow<'_, [f64]> {
        if v[0] > 0.5 {
            Cow::Borrowed(v)
        } else {
            Cow::Owned(v.iter().map(|a| a * a).collect())
        }
    }
    let a = fix(x);
    let b = fix(&x[1..]);
    let mut c = a.clone();
    c.to_mut()[0] = 3.0 * x[1];
    a.iter().sum::<f64>() * b.iter().product::<f64>() + c.iter().map(|v| v.exp()).sum::<f64>()
}

#[autodiff_forward(split_swap_jvp, Dual, Dual)]
#[autodiff_forward(split_swap_lanes, 3, Dualv, Dual)]
fn split_swap(x: &[f64]) -> f64 {
    let mut v = x.to_vec();
    {
        let (a, b) = v.split_at_mut(4);
        a.swap_with_slice(b);
        a[0] = b[1] * 2.0;
        std::mem::swap(&mut a[2], &mut b[3]);
    }
    v.rotate_right(3);
    v.reverse();
    v[2..6].copy_from_slice(&x[0..4]);
    v.copy_within(1..4, 4);
    v[..2].fill(x[7]);
    let old = std::mem::replace(&mut v[3], x[0]);
    let t = std::mem::take(&mut v);
    t.iter().enumerate().map(|(i, a)| a * a * i as f64).sum::<f64>() + old
}

#[autodiff_forward(array_fns_jvp, Dual, Dual)]
#[autodiff_forward(array_fns_lanes, 3, Dualv, Dual)]
fn array_fns(x: &[f64]) -> f64 {
    let a: [f64; 9] = std::array::from_fn(|i| x[i % 4] * i as f64);
    let b = a.map(|v| v.sin());
    let c: [f64; 4] = x.try_into().unwrap();
    let m: [[f64; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|j| x[(i + j) % 4] + if i == j { 2.0 } else { 0.0 }));
    let det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    b.iter().sum::<f64>()
        + c.iter().product::<f64>()
        + det
        + m.as_flattened().iter().sum::<f64>()
        + a.first_chunk::<2>().unwrap()[1]
        + x.iter().as_slice().len() as f64
}

#[path = "checks/differences.rs"]
mod differences;
use differences::check;

/// Relative tolerance of derivatives that pass single precision.
const SINGLE: f64 = 2e-3;

fn main() {
    check("dedup_retain_drain", 8, false, dedup_retain_drain, dedup_retain_drain_jvp, None);
    check("bsearch", 4, false, bsearch, bsearch_jvp, Some(bsearch_lanes));
    check("windows_chunks", 8, false, windows_chunks, windows_chunks_jvp, Some(windows_chunks_lanes));
    check("successors", 2, false, successors, successors_jvp, Some(successors_lanes));
    check("deque", 6, false, deque, deque_jvp, None);
    check("cow", 4, false, cow, cow_jvp, Some(cow_lanes));
    check("split_swap", 8, false, split_swap, split_swap_jvp, Some(split_swap_lanes));
    check("array_fns", 4, false, array_fns, array_fns_jvp, Some(array_fns_lanes));
}
