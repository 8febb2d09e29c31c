#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(always)]
fn log_sum_exp<T: Real>(x: &[T]) -> T {
    let mut m = x[0];
    for &v in x {
        if v.value() > m.value() {
            m = v;
        }
    }
    let mut s = T::of(0.0);
    for &v in x {
        s = s + (v - m).exp();
    }
    m + s.ln()
}

#[autodiff_forward(fwd1, Dual, Dual)]
#[autodiff_forward(fwd4, 4, Dualv, Dual)]
#[autodiff_forward(fwd8, 8, Dualv, Dual)]
#[autodiff_forward(fwd16, 16, Dualv, Dual)]
#[autodiff_reverse(rev, Duplicated, Active)]
fn primal(x: &[f64]) -> f64 { log_sum_exp(x) }

#[inline(never)]
fn by_dual(x: &[DualNumber]) -> DualNumber { log_sum_exp(x) }

#[inline(never)]
fn tangent_by_hand(x: &[f64], t: &[f64]) -> (f64, f64) {
    let m = x.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    let (mut s, mut ds) = (0.0, 0.0);
    for (v, d) in x.iter().zip(t) {
        let e = (v - m).exp();
        s += e;
        ds += e * d;
    }
    (m + s.ln(), ds / s)
}

fn main() {
    let n = 1000;
    let mut s = Stream::new();
    let x = s.vec(n);
    let t = s.vec(16 * n);
    let bench = Bench;
    agree("forward", &[fwd1(&x, &t[..n]).1], &[tangent_by_hand(&x, &t[..n]).1], 1e-11);
    let batch = fwd16(&x, &t);
    for k in 0..16 {
        agree("lane", &[batch[k + 1]], &[fwd1(&x, &t[k * n..(k + 1) * n]).1], 1e-11);
    }
    let mut g = vec![0.0; n];
    rev(&x, &mut g, 1.0);
    let dotted: f64 = g.iter().zip(&t).map(|(a, b)| a * b).sum();
    agree("reverse against forward", &[dotted], &[fwd1(&x, &t[..n]).1], 1e-11);

    bench.time("primal", || primal(black_box(&x)));
    bench.time("fwd1", || fwd1(black_box(&x), black_box(&t[..n])));
    bench.time("fwd4", || fwd4(black_box(&x), black_box(&t[..4 * n])));
    bench.time("fwd8", || fwd8(black_box(&x), black_box(&t[..8 * n])));
    bench.time("fwd16", || fwd16(black_box(&x), black_box(&t)));
    bench.time("rev", || rev(black_box(&x), black_box(&mut g), 1.0));
    let both = duals(&x, &t[..n]);
    bench.time("dual numbers", || by_dual(black_box(&both)));
    bench.time("tangent by hand", || tangent_by_hand(black_box(&x), black_box(&t[..n])));
    let (mut up, mut down) = (x.clone(), x.clone());
    bench.time("finite differences", || {
        for i in 0..n {
            up[i] = x[i] + 1e-6 * t[i];
            down[i] = x[i] - 1e-6 * t[i];
        }
        (primal(black_box(&up)) - primal(black_box(&down))) / 2e-6
    });
}
