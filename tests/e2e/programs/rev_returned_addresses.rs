//! Addresses that functions hand back: to their arguments, to new memory, through recursion and choices.
#![feature(autodiff)]
use std::autodiff::*;
use std::cell::{Cell, RefCell};

#[inline(never)]
fn pick(a: &mut [f64], i: usize) -> &mut f64 {
    &mut a[i % 3]
}

#[autodiff_reverse(picked_vjp, Duplicated, Active, Active)]
fn picked(a: &mut [f64], x: f64) -> f64 {
    for i in 0..5 {
        let p = pick(a, i);
        *p = *p * x + 1.0;
    }
    a[0] * a[1] + a[2] * x
}

#[inline(never)]
fn walk(a: &mut [f64], n: usize) -> &mut f64 {
    if n == 0 {
        &mut a[0]
    } else if n % 2 == 0 {
        walk(&mut a[1..], n - 1)
    } else {
        let r = walk(&mut a[..], n - 1);
        *r *= 1.5;
        r
    }
}

#[autodiff_reverse(walked_vjp, Duplicated, Active, Active)]
fn walked(a: &mut [f64], x: f64) -> f64 {
    *walk(a, 4) *= x;
    *walk(a, 2) *= x * x;
    a.iter().map(|v| v * v).sum()
}

#[inline(never)]
fn either<'a>(first: bool, a: &'a mut f64, b: &'a mut f64) -> &'a mut f64 {
    if first { a } else { b }
}

#[autodiff_reverse(chosen_vjp, Active, Active, Active)]
fn chosen(x: f64, y: f64) -> f64 {
    let (mut a, mut b) = (x, y);
    for i in 0..6 {
        let p = either(i % 3 == 0, &mut a, &mut b);
        *p = *p * y + x.sin();
    }
    a * b
}

#[inline(never)]
fn fill(scratch: &mut [f64], x: f64, n: usize) -> f64 {
    if n == 0 {
        return x;
    }
    let r = fill(scratch, x * 1.1, n - 1);
    scratch[n - 1] = r * x;
    scratch[n - 1] + r
}

#[autodiff_reverse(filled_vjp, Active, Active)]
fn filled(x: f64) -> f64 {
    let mut scratch = [0.0; 4];
    let r = fill(&mut scratch, x, 4);
    r + scratch[0] * scratch[1] + scratch[2] * scratch[3]
}

#[autodiff_reverse(cells_vjp, Active, Active, Active)]
fn cells(x: f64, y: f64) -> f64 {
    let c = Cell::new(x);
    let r = RefCell::new(vec![y]);
    for i in 0..4 {
        c.set(c.get() * y + i as f64);
        r.borrow_mut().push(c.get() * x);
    }
    let s: f64 = r.borrow().iter().sum();
    s * c.replace(0.0)
}

#[inline(never)]
fn leak(v: f64) -> &'static mut f64 {
    Box::leak(Box::new(v))
}

#[autodiff_reverse(leaked_vjp, Active, Active, Active)]
fn leaked(x: f64, y: f64) -> f64 {
    let a = leak(x);
    let b = leak(*a * y);
    *a *= *b;
    *b += *a;
    *a * *b
}

fn close(what: &str, found: f64, f: impl Fn(f64) -> f64, at: f64) {
    let right = (f(at + 1e-6) - f(at - 1e-6)) / 2e-6;
    assert!(
        (found - right).abs() <= 1e-6 * right.abs().max(1.0),
        "{what}: {found}, not {right}"
    );
}

fn main() {
    let a0 = [0.7, 1.2, -0.4];
    let with = |f: fn(&mut [f64], f64) -> f64, i: usize, t: f64, x: f64| {
        let mut a = a0;
        a[i] = t;
        f(&mut a, x)
    };
    let (mut a, mut d) = (a0, [0.0; 3]);
    let (_, gx) = picked_vjp(&mut a, &mut d, 1.3, 1.0);
    close("picked x", gx, |x| with(picked, 0, a0[0], x), 1.3);
    for i in 0..3 {
        close("picked a", d[i], |t| with(picked, i, t, 1.3), a0[i]);
    }
    let (mut a, mut d) = (a0, [0.0; 3]);
    let (_, gx) = walked_vjp(&mut a, &mut d, 1.3, 1.0);
    close("walked x", gx, |x| with(walked, 0, a0[0], x), 1.3);
    for i in 0..3 {
        close("walked a", d[i], |t| with(walked, i, t, 1.3), a0[i]);
    }
    let (_, gx, gy) = chosen_vjp(0.8, 1.1, 1.0);
    close("chosen x", gx, |x| chosen(x, 1.1), 0.8);
    close("chosen y", gy, |y| chosen(0.8, y), 1.1);
    let (_, gx) = filled_vjp(0.8, 1.0);
    close("filled", gx, filled, 0.8);
    let (_, gx, gy) = cells_vjp(0.8, 1.1, 1.0);
    close("cells x", gx, |x| cells(x, 1.1), 0.8);
    close("cells y", gy, |y| cells(0.8, y), 1.1);
    let (_, gx, gy) = leaked_vjp(0.8, 1.1, 1.0);
    close("leaked x", gx, |x| leaked(x, 1.1), 0.8);
    close("leaked y", gy, |y| leaked(0.8, y), 1.1);
}
