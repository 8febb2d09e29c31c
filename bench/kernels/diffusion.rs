#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

/// Explicit one-dimensional diffusion: two buffers swapped after every step, the result left in `u`
/// (an even number of steps), its nonlinear conductivity depending on the solution.
#[inline(always)]
fn march<T: Real>(u: &mut [T], scratch: &mut [T], steps: usize) {
    let (mut now, mut next) = (u, scratch);
    for _ in 0..steps {
        let n = now.len();
        next[0] = now[0];
        next[n - 1] = now[n - 1];
        for i in 1..n - 1 {
            let flux = now[i - 1] - now[i] - now[i] + now[i + 1];
            next[i] = now[i] + T::of(0.2) * (T::of(1.0) + T::of(0.1) * now[i] * now[i]) * flux;
        }
        std::mem::swap(&mut now, &mut next);
    }
}

#[autodiff_forward(fwd1, Dual, Dual, Const)]
#[autodiff_forward(fwd4, 4, Dualv, Dualv, Const)]
#[autodiff_forward(fwd8, 8, Dualv, Dualv, Const)]
#[autodiff_forward(fwd16, 16, Dualv, Dualv, Const)]
#[autodiff_reverse(rev, Duplicated, Duplicated, Const)]
fn primal(u: &mut [f64], scratch: &mut [f64], steps: usize) { march(u, scratch, steps) }

#[inline(never)]
fn by_dual(u: &mut [DualNumber], scratch: &mut [DualNumber], steps: usize) { march(u, scratch, steps) }

fn main() {
    let (n, steps) = (200, 50);
    let mut s = Stream::new();
    let (start, t, weights) = (s.vec(n), s.vec(16 * n), s.vec(n));
    let (mut u, mut scratch) = (start.clone(), vec![0.0; n]);
    let (mut du, mut dscratch) = (t.clone(), vec![0.0; 16 * n]);
    let mut ud = duals(&start, &t[..n]);
    let mut sd = vec![DualNumber::default(); n];
    by_dual(&mut ud, &mut sd, steps);
    let expected: Vec<f64> = ud.iter().map(|d| d.t).collect();
    fwd1(&mut u, &mut du[..n], &mut scratch, &mut dscratch[..n], steps);
    agree("forward", &du[..n], &expected, 1e-11);
    u.copy_from_slice(&start);
    du.copy_from_slice(&t);
    dscratch.fill(0.0);
    fwd16(&mut u, &mut du, &mut scratch, &mut dscratch, steps);
    agree("lane 0", &du[..n], &expected, 1e-11);
    let (mut g, mut gs) = (weights.clone(), vec![0.0; n]);
    u.copy_from_slice(&start);
    rev(&mut u, &mut g, &mut scratch, &mut gs, steps);
    let dotted = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(p, q)| p * q).sum::<f64>();
    agree("reverse against forward", &[dotted(&g, &t[..n])], &[dotted(&weights, &expected)], 1e-11);

    let bench = Bench;
    bench.time("primal", || { u.copy_from_slice(&start); primal(black_box(&mut u), black_box(&mut scratch), steps) });
    for (name, width) in [("fwd1", 1), ("fwd4", 4), ("fwd8", 8), ("fwd16", 16)] {
        let (du, dscratch) = (&mut du[..width * n], &mut dscratch[..width * n]);
        let f = [fwd1, fwd4, fwd8, fwd16][[1, 4, 8, 16].iter().position(|&v| v == width).unwrap()];
        bench.time(name, || {
            u.copy_from_slice(&start);
            du.copy_from_slice(&t[..width * n]);
            f(black_box(&mut u), black_box(du), black_box(&mut scratch), black_box(dscratch), steps)
        });
    }
    bench.time("rev", || {
        u.copy_from_slice(&start);
        g.copy_from_slice(&weights);
        rev(black_box(&mut u), black_box(&mut g), black_box(&mut scratch), black_box(&mut gs), steps)
    });
    bench.time("dual numbers", || {
        for i in 0..n {
            ud[i] = DualNumber { v: start[i], t: t[i] };
        }
        by_dual(black_box(&mut ud), black_box(&mut sd), steps)
    });
    let mut down = start.clone();
    bench.time("finite differences", || {
        for i in 0..n {
            u[i] = start[i] + 1e-6 * t[i];
            down[i] = start[i] - 1e-6 * t[i];
        }
        primal(black_box(&mut u), black_box(&mut scratch), steps);
        primal(black_box(&mut down), black_box(&mut scratch), steps);
        for i in 0..n {
            down[i] = (u[i] - down[i]) / 2e-6;
        }
    });
}
