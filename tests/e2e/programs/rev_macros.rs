//! Annotated functions that macros make, or are handed.

#![feature(autodiff)]

use std::autodiff::*;

macro_rules! plain {
    () => {
        #[std::autodiff::autodiff_reverse(d_plain, Active, Active)]
        fn plain(x: f64) -> f64 {
            x * x
        }
    };
}
plain!();

macro_rules! powers {
    ($($(#[$meta:meta])* $vis:vis $name:ident / $grad:ident / $push:ident : $t:ty => $power:literal),* $(,)?) => {
        $(
            $(#[$meta])*
            #[autodiff_reverse($grad, Active, Active)]
            #[autodiff_forward($push, Dual, Dual)]
            #[inline]
            $vis fn $name(base: $t) -> $t {
                base.powi($power)
            }
        )*
    };
}
powers! {
    /// A square.
    pub square / d_square / t_square: f64 => 2,
    pub(crate) cube / d_cube / t_cube: f32 => 3,
}

macro_rules! written {
    ($name:ident, $grad:ident, ($x:ident : $t:ty) $body:block) => {
        #[autodiff_reverse($grad, Duplicated, Active)]
        fn $name($x: &$t) -> $t $body
    };
    (method $owner:ident, $factor:expr) => {
        impl $owner {
            #[autodiff_reverse(d_eval, Duplicated, Active, Active)]
            fn eval(&self, x: f64) -> f64 {
                let factor: f64 = $factor;
                factor * self.a * x * x
            }
        }
    };
}
written!(doubled, d_doubled, (z: f64) { (2.0 * z).tanh() });
struct Parabola {
    a: f64,
}
written!(method Parabola, 1.0 + 2.0);

macro_rules! unchanged {
    ($($item:item)*) => { $($item)* };
}
unchanged! {
    #[autodiff_reverse(d_passed, Active, Active)]
    fn passed(x: f64) -> f64 { x.sqrt() }
    const FOUR: f64 = 4.0;
}

mod inner {
    macro_rules! local {
        ($name:ident) => {
            use std::autodiff::autodiff_reverse;
            #[autodiff_reverse(d_local, Active, Active)]
            pub fn $name(x: f64) -> f64 {
                x * x.ln()
            }
        };
    }
    local!(entropy);
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} is not {b}");
}

fn main() {
    assert_eq!(d_plain(3.0, 1.0), (9.0, 6.0));
    assert_eq!(d_square(3.0, 1.0), (square(3.0), 6.0));
    assert_eq!(t_square(3.0, 2.0), (9.0, 12.0));
    assert_eq!(d_cube(2.0, 1.0), (8.0f32, 12.0f32));
    assert_eq!(t_cube(2.0, 1.0), (cube(2.0), 12.0));
    let mut gradient = 0.0;
    near(d_doubled(&0.1, &mut gradient, 1.0), doubled(&0.1));
    near(gradient, 2.0 / 0.2f64.cosh().powi(2));
    let mut shadow = Parabola { a: 0.0 };
    assert_eq!(Parabola { a: 2.0 }.d_eval(&mut shadow, 3.0, 1.0), (54.0, 36.0));
    assert_eq!(shadow.a, 27.0);
    assert_eq!(d_passed(FOUR, 1.0), (passed(FOUR), 0.25));
    let (value, slope) = inner::d_local(2.0, 1.0);
    near(value, inner::entropy(2.0));
    near(slope, 1.0 + 2f64.ln());
    macro_rules! statement {
        ($name:ident, $grad:ident) => {
            #[autodiff_reverse($grad, Active, Active)]
            fn $name(x: f64) -> f64 {
                x.exp_m1()
            }
        };
    }
    statement!(grown, d_grown);
    let (value, slope) = d_grown(0.5, 1.0);
    near(value, grown(0.5));
    near(slope, 0.5f64.exp());
}
