#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(always)]
fn dot<T: Real>(x: &[T], y: &[T]) -> T {
    x.iter().zip(y).fold(T::of(0.0), |s, (&a, &b)| s + a * b)
}

#[autodiff_forward(fwd1, Dual, Dual, Dual)]
#[autodiff_forward(fwd4, 4, Dualv, Dualv, Dual)]
#[autodiff_forward(fwd8, 8, Dualv, Dualv, Dual)]
#[autodiff_forward(fwd16, 16, Dualv, Dualv, Dual)]
#[autodiff_reverse(rev, Duplicated, Duplicated, Active)]
fn primal(x: &[f64], y: &[f64]) -> f64 { dot(x, y) }

#[inline(never)]
fn by_dual(x: &[DualNumber], y: &[DualNumber]) -> DualNumber { dot(x, y) }

#[inline(never)]
fn tangent_by_hand(x: &[f64], dx: &[f64], y: &[f64], dy: &[f64]) -> (f64, f64) {
    let (mut s, mut ds) = (0.0, 0.0);
    for i in 0..x.len() {
        s += x[i] * y[i];
        ds += dx[i] * y[i] + x[i] * dy[i];
    }
    (s, ds)
}

#[inline(never)]
fn gradient_by_hand(x: &[f64], gx: &mut [f64], y: &[f64], gy: &mut [f64]) -> f64 {
    let mut s = 0.0;
    for i in 0..x.len() {
        s += x[i] * y[i];
        gx[i] += y[i];
        gy[i] += x[i];
    }
    s
}

fn main() {
    let n = 1000;
    let mut s = Stream::new();
    let (x, y) = (s.vec(n), s.vec(n));
    let (dx, dy) = (s.vec(16 * n), s.vec(16 * n));
    let bench = Bench;
    let by_hand = tangent_by_hand(&x, &dx[..n], &y, &dy[..n]).1;
    agree("forward", &[fwd1(&x, &dx[..n], &y, &dy[..n]).1], &[by_hand], 1e-11);
    let (mut gx, mut gy) = (vec![0.0; n], vec![0.0; n]);
    rev(&x, &mut gx, &y, &mut gy, 1.0);
    agree("gradient x", &gx, &y, 1e-15);
    agree("gradient y", &gy, &x, 1e-15);

    bench.time("primal", || primal(black_box(&x), black_box(&y)));
    bench.time("fwd1", || fwd1(black_box(&x), black_box(&dx[..n]), black_box(&y), black_box(&dy[..n])));
    bench.time("fwd4", || fwd4(black_box(&x), black_box(&dx[..4 * n]), black_box(&y), black_box(&dy[..4 * n])));
    bench.time("fwd8", || fwd8(black_box(&x), black_box(&dx[..8 * n]), black_box(&y), black_box(&dy[..8 * n])));
    bench.time("fwd16", || fwd16(black_box(&x), black_box(&dx), black_box(&y), black_box(&dy)));
    bench.time("rev", || rev(black_box(&x), black_box(&mut gx), black_box(&y), black_box(&mut gy), 1.0));
    let (ux, uy) = (duals(&x, &dx[..n]), duals(&y, &dy[..n]));
    bench.time("dual numbers", || by_dual(black_box(&ux), black_box(&uy)));
    bench.time("tangent by hand", || tangent_by_hand(black_box(&x), black_box(&dx[..n]), black_box(&y), black_box(&dy[..n])));
    bench.time("gradient by hand", || gradient_by_hand(black_box(&x), black_box(&mut gx), black_box(&y), black_box(&mut gy)));
    let (mut ax, mut ay, mut bx, mut by) = (x.clone(), y.clone(), x.clone(), y.clone());
    bench.time("finite differences", || {
        for i in 0..n {
            ax[i] = x[i] + 1e-6 * dx[i];
            bx[i] = x[i] - 1e-6 * dx[i];
            ay[i] = y[i] + 1e-6 * dy[i];
            by[i] = y[i] - 1e-6 * dy[i];
        }
        (primal(black_box(&ax), black_box(&ay)) - primal(black_box(&bx), black_box(&by))) / 2e-6
    });
}
