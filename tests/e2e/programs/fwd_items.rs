//! Where annotations stand: modules, nested functions, traits, several on one function, odd headers and names.

#![feature(autodiff)]
#![deny(warnings)]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

use std::autodiff::autodiff_forward as jvp;
#[allow(unused_imports)]
use std::{autodiff::autodiff_reverse, fmt::Debug};

/// Outer.
pub mod outer {
    /// Inner.
    pub mod inner {
        use std::autodiff::*;

        /// Documented above.
        #[autodiff_forward(cube_jvp, Dual, Dual)]
        /// Documented below.
        #[inline]
        #[must_use]
        pub fn cube(x: f64) -> f64 {
            x * x * x
        }

        /// Kept attributes stand first.
        #[must_use]
        #[inline(always)]
        #[std::autodiff::autodiff_forward(square_jvp, Dual, Dual)]
        pub(crate) fn square(r#type: f64) -> f64 {
            r#type * r#type
        }
    }
}

/// A function with everything in its header.
#[jvp(both_jvp, Dual, Const, Dual)]
#[std::autodiff::autodiff_forward(
    both_jvp2, // the name
    2,
    Dual,  /* x */
    Const,
    Dual,
)]
pub extern "C" fn both(mut x: f64, _k: i32) -> f64 {
    x *= 2.0;
    x * x
}

/// Has `größe` in its name.
#[jvp(größe_jvp, Dual, Dual)]
const fn größe(größe: f64) -> f64 {
    größe * 3.0
}

/// A trait with a provided derivative.
trait Shape: Debug {
    /// Area scaled by `k`.
    #[jvp(area_jvp, Dual, Dual, Dual)]
    fn area(&self, k: f64) -> f64;

    /// Twice the area.
    #[jvp(twice_jvp, Dual, Dual)]
    fn twice(&self) -> f64 {
        2.0 * self.area(1.0)
    }
}

#[derive(Debug)]
struct Square(f64);

impl Shape for Square {
    fn area(&self, k: f64) -> f64 {
        k * self.0 * self.0
    }
}

macro_rules! polynomial {
    ($name:ident, $($c:expr),*) => {
        fn $name(x: f64) -> f64 {
            let mut sum = 0.0;
            $(sum = sum * x + $c;)*
            sum
        }
    };
}

polynomial!(p, 1.0, 2.0, 3.0);

#[cfg(not(any()))]
#[jvp(p_jvp, Dual, Dual)]
fn through_macro(x: f64) -> f64 {
    p(x)
}

#[cfg(any())]
#[jvp(p_jvp, Dual, Dual)]
fn not_compiled(x: Missing) -> Missing {
    x
}

fn main() {
    #[jvp(local_jvp, Dual, Dual)]
    fn local(x: f64) -> f64 {
        x + 1.0 / x
    }
    assert_eq!(outer::inner::cube_jvp(2.0, 1.0), (8.0, 12.0));
    assert_eq!(outer::inner::square_jvp(2.0, 1.0), (4.0, 4.0));
    assert_eq!(both_jvp(3.0, 1.0, 0), (36.0, 24.0));
    assert_eq!(both_jvp2(3.0, 1.0, 2.0, 0), [36.0, 24.0, 48.0]);
    assert_eq!(größe_jvp(1.0, 2.0), (3.0, 6.0));
    assert_eq!(Square(3.0).area_jvp(&Square(1.0), 2.0, 0.0), (18.0, 12.0));
    assert_eq!(Square(3.0).twice_jvp(&Square(1.0)), (18.0, 12.0));
    assert_eq!(p_jvp(2.0, 1.0), (11.0, 6.0));
    assert_eq!(local_jvp(2.0, 1.0), (2.5, 0.75));
}
