#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(always)]
fn field<T: Real>(s: [T; 3], p: [T; 3]) -> [T; 3] {
    [p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]]
}

#[inline(always)]
fn step<T: Real>(s: [T; 3], k: [T; 3], h: f64) -> [T; 3] {
    let h = T::of(h);
    [s[0] + h * k[0], s[1] + h * k[1], s[2] + h * k[2]]
}

#[inline(always)]
fn integrate<T: Real>(start: [T; 3], p: [T; 3], steps: usize) -> [T; 3] {
    let h = 0.005;
    let mut s = start;
    for _ in 0..steps {
        let k1 = field(s, p);
        let k2 = field(step(s, k1, h / 2.0), p);
        let k3 = field(step(s, k2, h / 2.0), p);
        let k4 = field(step(s, k3, h), p);
        let sixth = T::of(h / 6.0);
        let two = T::of(2.0);
        for i in 0..3 {
            s[i] = s[i] + sixth * (k1[i] + two * k2[i] + two * k3[i] + k4[i]);
        }
    }
    s
}

#[autodiff_forward(fwd1, Dual, Dual, Const, Dual)]
#[autodiff_forward(fwd4, 4, Dual, Dual, Const, Dual)]
#[autodiff_forward(fwd8, 8, Dual, Dual, Const, Dual)]
#[autodiff_forward(fwd16, 16, Dual, Dual, Const, Dual)]
#[autodiff_reverse(rev, Duplicated, Duplicated, Const, Duplicated)]
fn primal(start: &[f64; 3], p: &[f64; 3], steps: usize, out: &mut [f64; 3]) { *out = integrate(*start, *p, steps) }

#[inline(never)]
fn by_dual(start: [DualNumber; 3], p: [DualNumber; 3], steps: usize) -> [DualNumber; 3] { integrate(start, p, steps) }

#[rustfmt::skip]
fn main() {
    let steps = 200;
    let start = [1.0, 1.5, 20.0];
    let p = [10.0, 28.0, 8.0 / 3.0];
    let mut stream = Stream::new();
    let ds: Vec<[f64; 3]> = (0..16).map(|_| [stream.next(), stream.next(), stream.next()]).collect();
    let dp: Vec<[f64; 3]> = (0..16).map(|_| [stream.next(), stream.next(), stream.next()]).collect();
    let mut out = [0.0; 3];
    let mut o = vec![[0.0f64; 3]; 16];
    let dual = |s: [f64; 3], t: [f64; 3]| [0, 1, 2].map(|i| DualNumber { v: s[i], t: t[i] });
    fwd1(&start, &ds[0], &p, &dp[0], steps, &mut out, &mut o[0]);
    let d = by_dual(dual(start, ds[0]), dual(p, dp[0]), steps);
    agree("forward against dual numbers", &o[0], &d.map(|x| x.t), 1e-9);
    let (mut gs, mut gp, mut seed) = ([0.0; 3], [0.0; 3], [0.3, -0.7, 1.1]);
    let weights = seed;
    rev(&start, &mut gs, &p, &mut gp, steps, &mut out, &mut seed);
    let lhs: f64 = (0..3).map(|i| weights[i] * o[0][i]).sum();
    let rhs: f64 = (0..3).map(|i| gs[i] * ds[0][i] + gp[i] * dp[0][i]).sum();
    agree("reverse against forward", &[lhs], &[rhs], 1e-9);

    let bench = Bench;
    bench.time("primal", || primal(black_box(&start), black_box(&p), steps, black_box(&mut out)));
    bench.time("fwd1", || { let [a, ..] = &mut o[..] else { panic!() }; fwd1(black_box(&start), &ds[0], black_box(&p), &dp[0], steps, black_box(&mut out), a) });
    bench.time("fwd4", || { let [a, b, c, d, ..] = &mut o[..] else { panic!() };
        fwd4(black_box(&start), &ds[0], &ds[1], &ds[2], &ds[3], black_box(&p), &dp[0], &dp[1], &dp[2], &dp[3], steps, black_box(&mut out), a, b, c, d) });
    bench.time("fwd8", || { let [a, b, c, d, e, f, g, h, ..] = &mut o[..] else { panic!() };
        fwd8(black_box(&start), &ds[0], &ds[1], &ds[2], &ds[3], &ds[4], &ds[5], &ds[6], &ds[7],
            black_box(&p), &dp[0], &dp[1], &dp[2], &dp[3], &dp[4], &dp[5], &dp[6], &dp[7], steps, black_box(&mut out), a, b, c, d, e, f, g, h) });
    bench.time("fwd16", || { let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, q, r] = &mut o[..] else { panic!() };
        fwd16(black_box(&start), &ds[0], &ds[1], &ds[2], &ds[3], &ds[4], &ds[5], &ds[6], &ds[7], &ds[8], &ds[9], &ds[10], &ds[11], &ds[12], &ds[13], &ds[14], &ds[15],
            black_box(&p), &dp[0], &dp[1], &dp[2], &dp[3], &dp[4], &dp[5], &dp[6], &dp[7], &dp[8], &dp[9], &dp[10], &dp[11], &dp[12], &dp[13], &dp[14], &dp[15],
            steps, black_box(&mut out), a, b, c, d, e, f, g, h, i, j, k, l, m, n, q, r) });
    bench.time("rev", || { seed = weights; rev(black_box(&start), &mut gs, black_box(&p), &mut gp, steps, black_box(&mut out), &mut seed) });
    bench.time("dual numbers", || by_dual(black_box(dual(start, ds[0])), black_box(dual(p, dp[0])), steps));
    bench.time("finite differences", || {
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        let shift = |s: [f64; 3], t: [f64; 3], h: f64| [0, 1, 2].map(|i| s[i] + h * t[i]);
        primal(black_box(&shift(start, ds[0], 1e-6)), black_box(&shift(p, dp[0], 1e-6)), steps, &mut a);
        primal(black_box(&shift(start, ds[0], -1e-6)), black_box(&shift(p, dp[0], -1e-6)), steps, &mut b);
        [0, 1, 2].map(|i| (a[i] - b[i]) / 2e-6)
    });
}
