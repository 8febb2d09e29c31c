#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(always)]
fn chain<T: Real>(x: &[T]) -> T {
    let mut s = T::of(0.0);
    for w in x.windows(2) {
        let a = w[1] - w[0] * w[0];
        let b = T::of(1.0) - w[0];
        s = s + T::of(100.0) * a * a + b * b;
    }
    s
}

#[autodiff_forward(fwd1, Dual, Dual)]
#[autodiff_forward(fwd4, 4, Dualv, Dual)]
#[autodiff_forward(fwd8, 8, Dualv, Dual)]
#[autodiff_forward(fwd16, 16, Dualv, Dual)]
#[autodiff_reverse(rev, Duplicated, Active)]
fn primal(x: &[f64]) -> f64 { chain(x) }

#[inline(never)]
fn by_dual(x: &[DualNumber]) -> DualNumber { chain(x) }

#[inline(never)]
fn tangent_by_hand(x: &[f64], t: &[f64]) -> (f64, f64) {
    let (mut s, mut ds) = (0.0, 0.0);
    for (w, d) in x.windows(2).zip(t.windows(2)) {
        let a = w[1] - w[0] * w[0];
        let b = 1.0 - w[0];
        s += 100.0 * a * a + b * b;
        ds += 200.0 * a * (d[1] - 2.0 * w[0] * d[0]) - 2.0 * b * d[0];
    }
    (s, ds)
}

#[inline(never)]
fn gradient_by_hand(x: &[f64], g: &mut [f64]) -> f64 {
    let mut s = 0.0;
    for i in 0..x.len() - 1 {
        let a = x[i + 1] - x[i] * x[i];
        let b = 1.0 - x[i];
        s += 100.0 * a * a + b * b;
        g[i + 1] += 200.0 * a;
        g[i] += -400.0 * a * x[i] - 2.0 * b;
    }
    s
}

fn main() {
    let n = 1000;
    let mut s = Stream::new();
    let x = s.vec(n);
    let t = s.vec(16 * n);
    let bench = Bench;
    let (_, d) = fwd1(&x, &t[..n]);
    agree("forward", &[d], &[tangent_by_hand(&x, &t[..n]).1], 1e-11);
    let batch = fwd16(&x, &t);
    for k in 0..16 {
        agree("lane", &[batch[k + 1]], &[fwd1(&x, &t[k * n..(k + 1) * n]).1], 1e-11);
    }
    let (mut g, mut h) = (vec![0.0; n], vec![0.0; n]);
    rev(&x, &mut g, 1.0);
    gradient_by_hand(&x, &mut h);
    agree("gradient", &g, &h, 1e-11);

    bench.time("primal", || primal(black_box(&x)));
    bench.time("fwd1", || fwd1(black_box(&x), black_box(&t[..n])));
    bench.time("fwd4", || fwd4(black_box(&x), black_box(&t[..4 * n])));
    bench.time("fwd8", || fwd8(black_box(&x), black_box(&t[..8 * n])));
    bench.time("fwd16", || fwd16(black_box(&x), black_box(&t)));
    bench.time("rev", || rev(black_box(&x), black_box(&mut g), 1.0));
    let both = duals(&x, &t[..n]);
    bench.time("dual numbers", || by_dual(black_box(&both)));
    bench.time("tangent by hand", || tangent_by_hand(black_box(&x), black_box(&t[..n])));
    bench.time("gradient by hand", || gradient_by_hand(black_box(&x), black_box(&mut h)));
    let (mut up, mut down) = (x.clone(), x.clone());
    bench.time("finite differences", || {
        for i in 0..n {
            up[i] = x[i] + 1e-6 * t[i];
            down[i] = x[i] - 1e-6 * t[i];
        }
        (primal(black_box(&up)) - primal(black_box(&down))) / 2e-6
    });
}
