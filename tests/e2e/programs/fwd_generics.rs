//! Type parameters, const parameters, lifetimes, `where` clauses, `impl Trait`.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;
use std::ops::{Add, Mul};

trait Real: Copy + Add<Output = Self> + Mul<Output = Self> {
    fn zero() -> Self;
}

impl Real for f32 {
    fn zero() -> f32 {
        0.0
    }
}

impl Real for f64 {
    fn zero() -> f64 {
        0.0
    }
}

#[autodiff_forward(square_jvp, Dual, Dual)]
fn square<T: Copy + Mul<Output = T>>(x: T) -> T {
    x * x
}

#[autodiff_forward(dot_jvp, Dual, Dual, Dual)]
fn dot<T, const N: usize>(a: &[T; N], b: &[T; N]) -> T
where
    T: Real,
{
    let mut sum = T::zero();
    for i in 0..N {
        sum = sum + a[i] * b[i];
    }
    sum
}

#[autodiff_forward(pick_jvp, Dual, Const, Dual)]
fn pick<'a>(x: &'a [f64], i: usize) -> f64 {
    let chosen: &'a f64 = &x[i];
    *chosen * *chosen
}

#[autodiff_forward(power_jvp, Dual, Dual)]
fn power<const N: usize>(x: f64) -> f64 {
    let mut p = 1.0;
    for _ in 0..N {
        p *= x;
    }
    p
}

struct Grid<const W: usize>([f64; W]);

impl<const W: usize> Grid<W> {
    #[autodiff_forward(weighted_jvp, Dual, Dual, Dual)]
    fn weighted<T: Into<f64> + Copy>(&self, by: &[T; W]) -> f64 {
        self.0.iter().zip(by).map(|(a, b)| a * (*b).into()).sum()
    }
}

#[autodiff_forward(mapped_jvp, Dual, Const, Dual)]
fn mapped(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    f(x) * x
}

fn main() {
    assert_eq!(square_jvp(3.0_f64, 1.0), (9.0, 6.0));
    assert_eq!(square_jvp(3.0_f32, 0.5), (9.0, 3.0));
    assert_eq!(dot_jvp(&[1.0, 2.0], &[1.0, 0.0], &[3.0, 4.0], &[0.0, 1.0]), (11.0, 5.0));
    assert_eq!(dot_jvp(&[1.0_f32; 5], &[1.0; 5], &[2.0; 5], &[0.0; 5]), (10.0, 10.0));
    assert_eq!(pick_jvp(&[1.0, 3.0], &[5.0, 1.0], 1), (9.0, 6.0));
    assert_eq!(power_jvp::<5>(2.0, 1.0), (32.0, 80.0));
    assert_eq!(power_jvp::<0>(2.0, 1.0), (1.0, 0.0));
    let (grid, d) = (Grid([1.0, 2.0]), Grid([1.0, 1.0]));
    assert_eq!(grid.weighted_jvp(&d, &[3.0_f32, 4.0], &[0.0, 1.0]), (11.0, 9.0));
    let k = 3.0;
    assert_eq!(mapped_jvp(2.0, 1.0, move |v| k * v), (12.0, 12.0));
}
