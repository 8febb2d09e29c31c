#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

const K: usize = 8;
const D: usize = 4;

/// The log-likelihood of points under a mixture of K isotropic Gaussians in D dimensions. `p` holds K
/// log-weights, K log-precisions and K*D means; each point's K terms go through a scratch array.
#[inline(always)]
fn log_likelihood<T: Real>(p: &[T], points: &[f64]) -> T {
    let mut total = T::of(0.0);
    for q in points.chunks_exact(D) {
        let mut scratch = [T::of(0.0); K];
        for k in 0..K {
            let precision = p[K + k].exp();
            let mut distance = T::of(0.0);
            for d in 0..D {
                let e = T::of(q[d]) - p[2 * K + k * D + d];
                distance = distance + e * e;
            }
            scratch[k] = p[k] + T::of(0.5 * D as f64) * p[K + k] - T::of(0.5) * precision * distance;
        }
        let mut m = scratch[0];
        for &s in &scratch {
            if s.value() > m.value() {
                m = s;
            }
        }
        let mut s = T::of(0.0);
        for &v in &scratch {
            s = s + (v - m).exp();
        }
        total = total + m + s.ln();
    }
    total
}

#[autodiff_forward(fwd1, Dual, Const, Dual)]
#[autodiff_forward(fwd4, 4, Dualv, Const, Dual)]
#[autodiff_forward(fwd8, 8, Dualv, Const, Dual)]
#[autodiff_forward(fwd16, 16, Dualv, Const, Dual)]
#[autodiff_reverse(rev, Duplicated, Const, Active)]
fn primal(p: &[f64], points: &[f64]) -> f64 { log_likelihood(p, points) }

#[inline(never)]
fn by_dual(p: &[DualNumber], points: &[f64]) -> DualNumber { log_likelihood(p, points) }

fn main() {
    let mut stream = Stream::new();
    let n = 2 * K + K * D;
    let (p, points, t) = (stream.vec(n), stream.vec(200 * D), stream.vec(16 * n));
    let bench = Bench;
    let both = duals(&p, &t[..n]);
    agree("forward", &[fwd1(&p, &t[..n], &points).1], &[by_dual(&both, &points).t], 1e-11);
    let batch = fwd16(&p, &t, &points);
    for k in 0..16 {
        agree("lane", &[batch[k + 1]], &[fwd1(&p, &t[k * n..(k + 1) * n], &points).1], 1e-11);
    }
    let mut g = vec![0.0; n];
    rev(&p, &mut g, &points, 1.0);
    let dotted: f64 = g.iter().zip(&t).map(|(a, b)| a * b).sum();
    agree("reverse against forward", &[dotted], &[fwd1(&p, &t[..n], &points).1], 1e-11);

    bench.time("primal", || primal(black_box(&p), black_box(&points)));
    bench.time("fwd1", || fwd1(black_box(&p), black_box(&t[..n]), black_box(&points)));
    bench.time("fwd4", || fwd4(black_box(&p), black_box(&t[..4 * n]), black_box(&points)));
    bench.time("fwd8", || fwd8(black_box(&p), black_box(&t[..8 * n]), black_box(&points)));
    bench.time("fwd16", || fwd16(black_box(&p), black_box(&t), black_box(&points)));
    bench.time("rev", || rev(black_box(&p), black_box(&mut g), black_box(&points), 1.0));
    bench.time("dual numbers", || by_dual(black_box(&both), black_box(&points)));
    let (mut up, mut down) = (p.clone(), p.clone());
    bench.time("finite differences", || {
        for i in 0..n {
            up[i] = p[i] + 1e-6 * t[i];
            down[i] = p[i] - 1e-6 * t[i];
        }
        (primal(black_box(&up), &points) - primal(black_box(&down), &points)) / 2e-6
    });
}
