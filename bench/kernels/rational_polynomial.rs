#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(always)]
fn rational<T: Real>(x: T) -> T {
    let p = T::of(1.0) + x * (T::of(2.0) + x * (T::of(-0.5) + x * (T::of(0.25) + x * T::of(0.125))));
    let q = T::of(2.0) + x * (T::of(0.5) + x * (T::of(0.75) + x * T::of(0.0625)));
    p / q
}

#[inline(always)]
fn over_slice<T: Real>(x: &[T], out: &mut [T]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = rational(v);
    }
}

#[inline(always)]
fn with_partial(x: f64) -> (f64, f64) {
    let p = 1.0 + x * (2.0 + x * (-0.5 + x * (0.25 + x * 0.125)));
    let q = 2.0 + x * (0.5 + x * (0.75 + x * 0.0625));
    let dp = 2.0 + x * (-1.0 + x * (0.75 + x * 0.5));
    let dq = 0.5 + x * (1.5 + x * 0.1875);
    (p / q, (dp * q - p * dq) / (q * q))
}

#[autodiff_forward(fwd1, Dual, Dual)]
#[autodiff_forward(fwd4, 4, Dualv, Dualv)]
#[autodiff_forward(fwd8, 8, Dualv, Dualv)]
#[autodiff_forward(fwd16, 16, Dualv, Dualv)]
#[autodiff_forward(apart4, 4, Dual, Dual)]
#[autodiff_reverse(rev, Duplicated, Duplicated)]
fn primal(x: &[f64], out: &mut [f64]) { over_slice(x, out) }

#[inline(never)]
fn by_dual(x: &[DualNumber], out: &mut [DualNumber]) { over_slice(x, out) }

#[inline(never)]
fn tangent_by_hand(x: &[f64], t: &[f64], out: &mut [f64], dout: &mut [f64]) {
    for i in 0..x.len() {
        let (value, partial) = with_partial(x[i]);
        out[i] = value;
        dout[i] = partial * t[i];
    }
}

fn main() {
    let n = 1000;
    let mut s = Stream::new();
    let x: Vec<f64> = s.vec(n).iter().map(|v| v + 0.5).collect();
    let t = s.vec(16 * n);
    let (mut out, mut dout, mut expected) = (vec![0.0; n], vec![0.0; 16 * n], vec![0.0; n]);
    fwd1(&x, &t[..n], &mut out, &mut dout[..n]);
    tangent_by_hand(&x, &t[..n], &mut out, &mut expected);
    agree("forward", &dout[..n], &expected, 1e-11);
    fwd16(&x, &t, &mut out, &mut dout);
    for k in 0..16 {
        tangent_by_hand(&x, &t[k * n..(k + 1) * n], &mut out, &mut expected);
        agree("lane", &dout[k * n..(k + 1) * n], &expected, 1e-11);
    }
    let (mut g, mut seed) = (vec![0.0; n], s.vec(n));
    tangent_by_hand(&x, &seed, &mut out, &mut expected);
    rev(&x, &mut g, &mut out, &mut seed);
    agree("reverse", &g, &expected, 1e-11);

    let bench = Bench;
    bench.time("primal", || primal(black_box(&x), black_box(&mut out)));
    for (name, width) in [("fwd1", 1), ("fwd4", 4), ("fwd8", 8), ("fwd16", 16)] {
        let (t, dout) = (&t[..width * n], &mut dout[..width * n]);
        let f = [fwd1, fwd4, fwd8, fwd16][[1, 4, 8, 16].iter().position(|&v| v == width).unwrap()];
        bench.time(name, || f(black_box(&x), black_box(t), black_box(&mut out), black_box(dout)));
    }
    let [a, b, c, d, ..] = &mut dout.chunks_mut(n).collect::<Vec<_>>()[..] else { panic!() };
    bench.time("fwd4, four slices", || apart4(black_box(&x), &t[..n], &t[n..2 * n], &t[2 * n..3 * n], &t[3 * n..4 * n], black_box(&mut out), a, b, c, d));
    bench.time("rev", || rev(black_box(&x), black_box(&mut g), black_box(&mut out), black_box(&mut seed)));
    let both = duals(&x, &t[..n]);
    let mut both_out = vec![DualNumber::default(); n];
    bench.time("dual numbers", || by_dual(black_box(&both), black_box(&mut both_out)));
    bench.time("tangent by hand", || tangent_by_hand(black_box(&x), black_box(&t[..n]), black_box(&mut out), black_box(&mut expected)));
    let (mut up, mut down) = (x.clone(), x.clone());
    bench.time("finite differences", || {
        for i in 0..n {
            up[i] = x[i] + 1e-6 * t[i];
            down[i] = x[i] - 1e-6 * t[i];
        }
        primal(black_box(&up), black_box(&mut out));
        primal(black_box(&down), black_box(&mut expected));
        for i in 0..n {
            expected[i] = (out[i] - expected[i]) / 2e-6;
        }
    });
}
