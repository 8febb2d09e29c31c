//! Generic functions in reverse mode: every instance has its own derivative.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;
use std::ops::{Add, Mul};

#[autodiff_reverse(square_vjp, Duplicated, Active)]
fn square<T: Copy + Mul<Output = T>>(x: &T) -> T {
    *x * *x
}

#[autodiff_reverse(dot_vjp, Duplicated, Duplicated, Active)]
fn dot<T, const N: usize>(a: &[T; N], b: &[T; N]) -> T
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    a.iter().zip(b).fold(T::default(), |sum, (a, b)| sum + *a * *b)
}

#[autodiff_reverse(longest_vjp, Duplicated, Duplicated, Active)]
fn longest<'a>(a: &'a [f64], b: &'a [f64]) -> f64 {
    let chosen: &'a [f64] = if a.len() >= b.len() { a } else { b };
    chosen.iter().map(|v| v * v * v).sum()
}

#[autodiff_reverse(power_vjp, Active, Active)]
fn power<const N: usize>(x: f64) -> f64 {
    (0..N).map(|_| x).product()
}

struct Scaled<T> {
    k: T,
}

impl<T: Copy + Mul<Output = T>> Scaled<T> {
    #[autodiff_reverse(apply_vjp, Duplicated, Active, Active)]
    fn apply(&self, x: T) -> T {
        self.k * x * x
    }
}

fn main() {
    let mut d = 0.0_f64;
    assert_eq!(square_vjp(&3.0, &mut d, 1.0), 9.0);
    assert_eq!(d, 6.0);
    let mut d = 1.0_f32;
    assert_eq!(square_vjp(&3.0, &mut d, 2.0), 9.0);
    assert_eq!(d, 13.0);

    let (mut da, mut db) = ([0.0; 3], [0.0; 3]);
    assert_eq!(dot_vjp(&[1.0, 2.0, 3.0], &mut da, &[4.0, 5.0, 6.0], &mut db, 1.0), 32.0);
    assert_eq!((da, db), ([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]));

    let (mut da, mut db) = ([0.0; 1], [0.0; 2]);
    assert_eq!(longest_vjp(&[5.0], &mut da, &[1.0, 2.0], &mut db, 1.0), 9.0);
    assert_eq!((da, db), ([0.0], [3.0, 12.0]));

    assert_eq!(power_vjp::<4>(2.0, 1.0), (16.0, 32.0));

    let mut shadow = Scaled { k: 0.0_f64 };
    assert_eq!(Scaled { k: 2.0 }.apply_vjp(&mut shadow, 3.0, 1.0), (18.0, 12.0));
    assert_eq!(shadow.k, 9.0);
}
