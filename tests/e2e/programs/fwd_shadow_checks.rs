//! A shadow that is too short panics before anything is written.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};
use std::panic::catch_unwind;

#[autodiff_forward(sum_jvp, Dual, Dual)]
#[autodiff_forward(sum_lanes, 4, Dualv, Dual)]
#[autodiff_reverse(sum_vjp, Duplicated, Active)]
fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

#[autodiff_forward(total_jvp, Dual, Dual)]
fn total(values: &Vec<f64>) -> f64 {
    values.iter().sum()
}

fn message(run: impl FnOnce() + std::panic::UnwindSafe) -> String {
    match catch_unwind(run) {
        Ok(()) => String::from("no panic"),
        Err(payload) => payload.downcast_ref::<String>().cloned().unwrap_or_default(),
    }
}

fn main() {
    if cfg!(panic = "abort") {
        return;
    }
    std::panic::set_hook(Box::new(|_| {}));
    let text = message(|| { let _ = sum_jvp(&[1.0; 5], &[1.0; 3]); });
    assert_eq!(text, "shadow `bvalues_0` of `values` has length 3, but `values` has length 5");
    let text = message(|| { let _ = sum_lanes(&[1.0; 5], &[1.0; 19]); });
    assert!(text.starts_with("shadow `bvalues_0` of `values` has length 19, but `values` has length 5"), "{text}");
    let text = message(|| { let _ = sum_vjp(&[1.0; 5], &mut [0.0; 4], 1.0); });
    assert_eq!(text, "shadow `dvalues_0` of `values` has length 4, but `values` has length 5");
    let text = message(|| { let _ = total_jvp(&vec![1.0; 2], &vec![1.0; 1]); });
    assert_eq!(text, "shadow `bvalues_0` of `values` has length 1, but `values` has length 2");
    assert_eq!(sum_jvp(&[1.0; 2], &[1.0; 3]), (2.0, 2.0));
}
