#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

/// Reprojection residual of one point in one camera: rotation vector, centre, focal length, principal
/// point and two radial distortion coefficients (11 camera parameters, Agarwal et al. 2010).
#[inline(always)]
fn residual<T: Real>(cam: &[T; 11], x: &[T; 3], feature: &[f64; 2]) -> [T; 2] {
    let c = [x[0] - cam[3], x[1] - cam[4], x[2] - cam[5]];
    let theta2 = cam[0] * cam[0] + cam[1] * cam[1] + cam[2] * cam[2];
    let theta = theta2.sqrt();
    let inverse = T::of(1.0) / theta;
    let axis = [cam[0] * inverse, cam[1] * inverse, cam[2] * inverse];
    let (cos, sin) = (theta.cos(), theta.sin());
    let cross = [
        axis[1] * c[2] - axis[2] * c[1],
        axis[2] * c[0] - axis[0] * c[2],
        axis[0] * c[1] - axis[1] * c[0],
    ];
    let along = (axis[0] * c[0] + axis[1] * c[1] + axis[2] * c[2]) * (T::of(1.0) - cos);
    let mut r = c;
    for i in 0..3 {
        r[i] = c[i] * cos + cross[i] * sin + axis[i] * along;
    }
    let (px, py) = (r[0] / r[2], r[1] / r[2]);
    let rr = px * px + py * py;
    let l = T::of(1.0) + cam[9] * rr + cam[10] * rr * rr;
    [cam[6] * l * px + cam[7] - T::of(feature[0]), cam[6] * l * py + cam[8] - T::of(feature[1])]
}

#[autodiff_forward(fwd1, Dual, Dual, Const, Dual)]
#[autodiff_forward(fwd4, 4, Dual, Dual, Const, Dual)]
#[autodiff_forward(fwd8, 8, Dual, Dual, Const, Dual)]
#[autodiff_reverse(rev, Duplicated, Duplicated, Const, Duplicated)]
fn primal(cam: &[f64; 11], x: &[f64; 3], feature: &[f64; 2], out: &mut [f64; 2]) { *out = residual(cam, x, feature) }

#[inline(never)]
fn by_dual(cam: &[DualNumber; 11], x: &[DualNumber; 3], feature: &[f64; 2]) -> [DualNumber; 2] { residual(cam, x, feature) }

#[rustfmt::skip]
fn main() {
    let mut s = Stream::new();
    let cam: [f64; 11] = [0.1, -0.2, 0.3, 0.5, -0.4, -6.0, 700.0, 320.0, 240.0, 0.01, -0.002];
    let (x, feature) = ([0.3, 0.2, 1.0], [300.0, 200.0]);
    let dc: Vec<[f64; 11]> = (0..8).map(|_| std::array::from_fn(|_| s.next())).collect();
    let dx: Vec<[f64; 3]> = (0..8).map(|_| std::array::from_fn(|_| s.next())).collect();
    let mut out = [0.0; 2];
    let mut o = [[0.0; 2]; 8];
    let uc: [DualNumber; 11] = std::array::from_fn(|i| DualNumber { v: cam[i], t: dc[0][i] });
    let ux: [DualNumber; 3] = std::array::from_fn(|i| DualNumber { v: x[i], t: dx[0][i] });
    fwd1(&cam, &dc[0], &x, &dx[0], &feature, &mut out, &mut o[0]);
    agree("forward", &o[0], &by_dual(&uc, &ux, &feature).map(|v| v.t), 1e-10);
    let (mut gc, mut gx, mut seed) = ([0.0; 11], [0.0; 3], [0.7, -1.3]);
    rev(&cam, &mut gc, &x, &mut gx, &feature, &mut out, &mut seed);
    let lhs = 0.7 * o[0][0] - 1.3 * o[0][1];
    let rhs: f64 = (0..11).map(|i| gc[i] * dc[0][i]).sum::<f64>() + (0..3).map(|i| gx[i] * dx[0][i]).sum::<f64>();
    agree("reverse against forward", &[lhs], &[rhs], 1e-10);

    let bench = Bench;
    bench.time("primal", || primal(black_box(&cam), black_box(&x), black_box(&feature), black_box(&mut out)));
    bench.time("fwd1", || { let [a, ..] = &mut o; fwd1(black_box(&cam), &dc[0], black_box(&x), &dx[0], black_box(&feature), black_box(&mut out), a) });
    bench.time("fwd4", || { let [a, b, c, d, ..] = &mut o; fwd4(black_box(&cam), &dc[0], &dc[1], &dc[2], &dc[3], black_box(&x), &dx[0], &dx[1], &dx[2], &dx[3], black_box(&feature), black_box(&mut out), a, b, c, d) });
    bench.time("fwd8", || { let [a, b, c, d, e, f, g, h] = &mut o; fwd8(black_box(&cam), &dc[0], &dc[1], &dc[2], &dc[3], &dc[4], &dc[5], &dc[6], &dc[7],
        black_box(&x), &dx[0], &dx[1], &dx[2], &dx[3], &dx[4], &dx[5], &dx[6], &dx[7], black_box(&feature), black_box(&mut out), a, b, c, d, e, f, g, h) });
    bench.time("rev", || { seed = [0.7, -1.3]; rev(black_box(&cam), &mut gc, black_box(&x), &mut gx, black_box(&feature), black_box(&mut out), &mut seed) });
    bench.time("dual numbers", || by_dual(black_box(&uc), black_box(&ux), black_box(&feature)));
    let (mut ca, mut cb) = (cam, cam);
    bench.time("finite differences", || {
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        for i in 0..11 { ca[i] = cam[i] + 1e-6 * dc[0][i]; cb[i] = cam[i] - 1e-6 * dc[0][i]; }
        primal(black_box(&ca), black_box(&x), &feature, &mut a);
        primal(black_box(&cb), black_box(&x), &feature, &mut b);
        [(a[0] - b[0]) / 2e-6, (a[1] - b[1]) / 2e-6]
    });
}
