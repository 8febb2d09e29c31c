//! Hessian-vector products: the forward derivative of a function that calls a reverse derivative.
//!
//! They drive a Newton iteration whose linear systems are solved by conjugate gradients, so the Hessian is never
//! formed.

#![feature(autodiff)]

use std::autodiff::{autodiff_forward, autodiff_reverse};

/// Rosenbrock's function in `x.len()` variables.
#[autodiff_reverse(rosenbrock_gradient, Duplicated, Active)]
fn rosenbrock(x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..x.len() - 1 {
        let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
        sum += a * a + 100.0 * b * b;
    }
    sum
}

/// Writes the gradient to `g`. Its own derivative along a direction is the Hessian times that direction.
#[autodiff_forward(hessian_times, Dual, Dual)]
fn gradient(x: &[f64], g: &mut [f64]) {
    g.fill(0.0);
    rosenbrock_gradient(x, g, 1.0);
}

/// The Hessian by hand.
fn closed_form(x: &[f64], v: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut out = vec![0.0; n];
    for i in 0..n - 1 {
        out[i] += (2.0 - 400.0 * (x[i + 1] - 3.0 * x[i] * x[i])) * v[i] - 400.0 * x[i] * v[i + 1];
        out[i + 1] += 200.0 * v[i + 1] - 400.0 * x[i] * v[i];
    }
    out
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product(x: &[f64], v: &[f64]) -> Vec<f64> {
    let (mut g, mut hv) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    hessian_times(x, v, &mut g, &mut hv);
    hv
}

/// Solves `H s = -g` by conjugate gradients, stopping at directions of negative curvature.
fn newton_step(x: &[f64], g: &[f64]) -> Vec<f64> {
    let mut s = vec![0.0; x.len()];
    let mut r: Vec<f64> = g.iter().map(|g| -g).collect();
    let mut p = r.clone();
    let mut rr = dot(&r, &r);
    for _ in 0..4 * x.len() {
        if rr < 1e-28 {
            break;
        }
        let hp = product(x, &p);
        let curvature = dot(&p, &hp);
        if curvature <= 0.0 {
            return if s.iter().all(|v| *v == 0.0) { p } else { s };
        }
        let a = rr / curvature;
        for i in 0..x.len() {
            s[i] += a * p[i];
            r[i] -= a * hp[i];
        }
        let next = dot(&r, &r);
        for i in 0..x.len() {
            p[i] = r[i] + next / rr * p[i];
        }
        rr = next;
    }
    s
}

fn main() {
    let n = 8;
    let mut x: Vec<f64> = (0..n).map(|i| -1.2 + 0.3 * i as f64).collect();
    let v: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();

    let (hv, by_hand) = (product(&x, &v), closed_form(&x, &v));
    let h = 1e-6;
    let shifted = |sign: f64| {
        let at: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + sign * h * v).collect();
        let mut g = vec![0.0; n];
        gradient(&at, &mut g);
        g
    };
    let (up, down) = (shifted(1.0), shifted(-1.0));
    println!(" i        H v       closed form   finite difference");
    for i in 0..n {
        let fd = (up[i] - down[i]) / (2.0 * h);
        println!("{i:>2}  {:>12.5}  {:>12.5}  {fd:>12.5}", hv[i], by_hand[i]);
        assert!((hv[i] - by_hand[i]).abs() < 1e-10 * (1.0 + by_hand[i].abs()));
        assert!((hv[i] - fd).abs() < 1e-5 * (1.0 + fd.abs()));
    }

    println!("Newton   f(x)           |g|");
    for iteration in 0..100 {
        let mut g = vec![0.0; n];
        gradient(&x, &mut g);
        let norm = dot(&g, &g).sqrt();
        if iteration % 5 == 0 || norm < 1e-10 {
            println!("{iteration:>6}   {:.6e}   {norm:.3e}", rosenbrock(&x));
        }
        if norm < 1e-10 {
            break;
        }
        let step = newton_step(&x, &g);
        let slope = dot(&g, &step);
        let mut t = 1.0;
        loop {
            let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x + t * s).collect();
            if rosenbrock(&trial) <= rosenbrock(&x) + 1e-4 * t * slope || t < 1e-10 {
                x = trial;
                break;
            }
            t *= 0.5;
        }
    }
    assert!(rosenbrock(&x) < 1e-18, "the minimum was not found: {x:?}");
}
