// Shared by every kernel: `bench/run.py` appends this file to the kernel's own text.

use std::hint::black_box;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::time::Instant;

/// The arithmetic a kernel is written in, so that one text serves `f64` and the dual-number baseline.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    fn of(x: f64) -> Self;
    fn value(self) -> f64;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn sqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tanh(self) -> Self;
    fn abs(self) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn of(x: f64) -> f64 { x }
    #[inline(always)]
    fn value(self) -> f64 { self }
    #[inline(always)]
    fn exp(self) -> f64 { f64::exp(self) }
    #[inline(always)]
    fn ln(self) -> f64 { f64::ln(self) }
    #[inline(always)]
    fn sqrt(self) -> f64 { f64::sqrt(self) }
    #[inline(always)]
    fn sin(self) -> f64 { f64::sin(self) }
    #[inline(always)]
    fn cos(self) -> f64 { f64::cos(self) }
    #[inline(always)]
    fn tanh(self) -> f64 { f64::tanh(self) }
    #[inline(always)]
    fn abs(self) -> f64 { f64::abs(self) }
}

/// What a person writes without a compiler's help: a value and one tangent.
#[derive(Clone, Copy, Default, Debug)]
pub struct DualNumber {
    pub v: f64,
    pub t: f64,
}

impl DualNumber {
    #[inline(always)]
    fn chain(self, v: f64, partial: f64) -> Self { Self { v, t: partial * self.t } }
}
impl Add for DualNumber {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self { Self { v: self.v + o.v, t: self.t + o.t } }
}
impl Sub for DualNumber {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self { Self { v: self.v - o.v, t: self.t - o.t } }
}
impl Mul for DualNumber {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self { Self { v: self.v * o.v, t: self.t * o.v + self.v * o.t } }
}
impl Div for DualNumber {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let r = self.v / o.v;
        Self { v: r, t: (self.t - r * o.t) / o.v }
    }
}
impl Neg for DualNumber {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self { Self { v: -self.v, t: -self.t } }
}
impl Real for DualNumber {
    #[inline(always)]
    fn of(x: f64) -> Self { Self { v: x, t: 0.0 } }
    #[inline(always)]
    fn value(self) -> f64 { self.v }
    #[inline(always)]
    fn exp(self) -> Self { let r = self.v.exp(); self.chain(r, r) }
    #[inline(always)]
    fn ln(self) -> Self { self.chain(self.v.ln(), 1.0 / self.v) }
    #[inline(always)]
    fn sqrt(self) -> Self { let r = self.v.sqrt(); self.chain(r, 0.5 / r) }
    #[inline(always)]
    fn sin(self) -> Self { self.chain(self.v.sin(), self.v.cos()) }
    #[inline(always)]
    fn cos(self) -> Self { self.chain(self.v.cos(), -self.v.sin()) }
    #[inline(always)]
    fn tanh(self) -> Self { let r = self.v.tanh(); self.chain(r, 1.0 - r * r) }
    #[inline(always)]
    fn abs(self) -> Self { self.chain(self.v.abs(), 1f64.copysign(self.v)) }
}

/// Pairs a slice with its tangent, element by element.
#[allow(dead_code)]
pub fn duals(x: &[f64], t: &[f64]) -> Vec<DualNumber> {
    x.iter().zip(t).map(|(&v, &t)| DualNumber { v, t }).collect()
}

/// A reproducible stream of numbers in (0, 1): the 64-bit linear congruence of Knuth's MMIX.
pub struct Stream(u64);
impl Stream {
    pub fn new() -> Self { Stream(0x9e3779b97f4a7c15) }
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
    pub fn vec(&mut self, n: usize) -> Vec<f64> { (0..n).map(|_| self.next()).collect() }
}

/// Times closures and prints one JSON object a line: `{"variant": ..., "ns": ...}`, the best of several
/// repetitions after a warm-up.
pub struct Bench;
impl Bench {
    pub fn time<R>(&self, variant: &str, mut f: impl FnMut() -> R) {
        let repetitions: usize = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(9);
        let start = Instant::now();
        let mut inner = 0u64;
        while start.elapsed().as_micros() < 3000 {
            black_box(f());
            inner += 1;
        }
        let inner = inner.max(1);
        let mut best = f64::INFINITY;
        for _ in 0..repetitions {
            let start = Instant::now();
            for _ in 0..inner {
                black_box(f());
            }
            best = best.min(start.elapsed().as_nanos() as f64 / inner as f64);
        }
        println!("{{\"variant\": \"{variant}\", \"ns\": {best:.1}}}");
    }
}

/// Stops the benchmark when two results that must agree do not: a fast wrong number is worth nothing.
pub fn agree(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (p, q)) in a.iter().zip(b).enumerate() {
        let scale = p.abs().max(q.abs()).max(1.0);
        assert!((p - q).abs() <= tolerance * scale, "{what}: component {i}: {p} against {q}");
    }
}
