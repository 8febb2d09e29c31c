//! Derivatives free all that they allocate: on every path, at any width, and when the primal panics.
#![feature(autodiff)]
use std::autodiff::autodiff_reverse;
use std::collections::VecDeque;
use std::fmt::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Panics after some iterations if an input is large.
#[autodiff_reverse(checked_vjp, Duplicated, Active)]
#[autodiff_reverse(checked_pair, 2, Duplicated, Active)]
fn checked(x: &[f64]) -> f64 {
    let mut t: f64 = 1.0;
    let mut kept = Vec::new();
    let mut k = 0;
    while k < 200 {
        t = t * 0.9 + x[k % x.len()].sin() * t.cos();
        kept.push(t * t);
        assert!(k < 150 || x[0] < 5.0, "too large");
        k += 1;
    }
    kept.iter().sum()
}

/// Leaves early, from inside two loops.
#[autodiff_reverse(early_vjp, Duplicated, Active)]
#[autodiff_reverse(early_pair, 2, Duplicated, Active)]
fn early(x: &[f64]) -> f64 {
    let mut rows = vec![vec![0.0; 8]; 8];
    for i in 0..8 {
        for j in 0..8 {
            rows[i][j] = (x[i % x.len()] * x[j % x.len()]).sin();
            if rows[i][j] > 0.95 {
                return rows[i].iter().sum();
            }
        }
    }
    rows.iter().map(|r| r.iter().product::<f64>()).sum()
}

#[inline(never)]
fn split(x: &[f64], depth: u32) -> Vec<f64> {
    if depth == 0 || x.len() < 2 {
        return x.iter().map(|v| v * v).collect();
    }
    let (a, b) = x.split_at(x.len() / 2);
    let mut all = split(a, depth - 1);
    all.extend(split(b, depth - 1).iter().map(|v| v.sin()));
    assert!(all[0] < 30.0, "too large");
    all
}

/// Recursive, with containers that are returned.
#[autodiff_reverse(recursive_vjp, Duplicated, Active)]
#[autodiff_reverse(recursive_pair, 2, Duplicated, Active)]
fn recursive(x: &[f64]) -> f64 {
    split(x, 4).iter().enumerate().map(|(i, v)| v * i as f64).sum()
}

/// Text beside floats: blocks of the library's own.
#[autodiff_reverse(named_vjp, Duplicated, Active)]
#[autodiff_reverse(named_pair, 2, Duplicated, Active)]
fn named(x: &[f64]) -> f64 {
    let mut names: Vec<(String, f64)> = x.iter().map(|v| (format!("{v:.1}"), v * v)).collect();
    names.reverse();
    let mut queue: VecDeque<(String, f64)> = names.into_iter().collect();
    let mut t = 0.5;
    let mut logs: Vec<(String, f64)> = Vec::new();
    while let Some((name, v)) = queue.pop_front() {
        t = t * v.cos() + name.len() as f64;
        let mut log = name.clone();
        write!(log, "{t:.3} after {v:.3}").unwrap();
        logs.push((log, v * v));
        if t < 2.0 {
            queue.push_back((name + "+", v * t));
        }
    }
    t + logs.iter().map(|(text, v)| text.len() as f64 * v).sum::<f64>()
}

/// Buffers that are exchanged, replaced and dropped inside loops; trait objects.
#[autodiff_reverse(exchanged_vjp, Duplicated, Active)]
#[autodiff_reverse(exchanged_pair, 2, Duplicated, Active)]
fn exchanged(x: &[f64]) -> f64 {
    let (mut u, mut v) = (x.to_vec(), vec![0.5; x.len()]);
    let layers: Vec<Box<dyn Fn(f64) -> f64>> = vec![Box::new(f64::sin), Box::new(|t| t * t * 0.5)];
    let mut old = Vec::new();
    for k in 0..20 {
        for i in 0..x.len() {
            v[i] = layers[k % 2](u[i]) + u[(i + 1) % x.len()];
        }
        std::mem::swap(&mut u, &mut v);
        let before = std::mem::replace(&mut old, u.clone());
        if k % 3 == 0 {
            u.extend_from_slice(&before);
            u.truncate(x.len());
        }
    }
    u.iter().sum::<f64>() + old[0]
}

type One = fn(&[f64], &mut [f64], f64) -> f64;
type Two = fn(&[f64], &mut [f64], &mut [f64], f64) -> f64;

unsafe extern "C" {
    fn dlsym(handle: *mut u8, name: *const u8) -> *const ();
}

/// Blocks alive, as the allocator that counts says.
fn alive() -> i64 {
    let found = unsafe { dlsym(std::ptr::null_mut(), c"live_blocks".as_ptr().cast()) };
    assert!(!found.is_null(), "run with the counting allocator");
    unsafe { std::mem::transmute::<*const (), extern "C" fn() -> i64>(found)() }
}

fn run(one: One, two: Two, x: &[f64]) {
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let _ = catch_unwind(AssertUnwindSafe(|| one(x, &mut a, 1.0)));
    let _ = catch_unwind(AssertUnwindSafe(|| two(x, &mut a, &mut b, 1.0)));
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let all: [(&str, One, Two); 5] = [
        ("checked", checked_vjp, checked_pair),
        ("early", early_vjp, early_pair),
        ("recursive", recursive_vjp, recursive_pair),
        ("named", named_vjp, named_pair),
        ("exchanged", exchanged_vjp, exchanged_pair),
    ];
    let inputs = [
        vec![0.3, -0.7, 1.1, 0.2, 0.9],
        vec![1.2; 7],
        vec![6.0, 0.1, 0.2],
        vec![0.5, 7.0, 2.0, 8.0],
    ];
    let calm = std::env::args().any(|a| a == "calm");
    let inputs = if calm { &inputs[..2] } else { &inputs[..] };
    let mut leaks = 0;
    for (name, one, two) in all {
        for (k, x) in inputs.iter().enumerate() {
            run(one, two, x);
            let before = alive();
            for _ in 0..3 {
                run(one, two, x);
            }
            let more = alive() - before;
            if more != 0 {
                leaks += 1;
                println!("{name}, input {k}: {more} blocks more after three runs");
            }
        }
    }
    println!("{leaks} leaks");
    std::process::exit((leaks > 0) as i32);
}
