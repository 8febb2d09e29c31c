#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};

#[inline(always)]
fn layer<T: Real>(w: &[T], x: &[T], b: &[T], out: &mut [T]) {
    let n = x.len();
    for (i, o) in out.iter_mut().enumerate() {
        let mut s = b[i];
        for (wij, xj) in w[i * n..(i + 1) * n].iter().zip(x) {
            s = s + *wij * *xj;
        }
        *o = s.tanh();
    }
}

#[autodiff_forward(fwd1, Dual, Dual, Dual, Dual)]
#[autodiff_forward(fwd4, 4, Dualv, Dualv, Dualv, Dualv)]
#[autodiff_forward(fwd8, 8, Dualv, Dualv, Dualv, Dualv)]
#[autodiff_forward(fwd16, 16, Dualv, Dualv, Dualv, Dualv)]
#[autodiff_reverse(rev, Duplicated, Duplicated, Duplicated, Duplicated)]
fn primal(w: &[f64], x: &[f64], b: &[f64], out: &mut [f64]) { layer(w, x, b, out) }

#[inline(never)]
fn by_dual(w: &[DualNumber], x: &[DualNumber], b: &[DualNumber], out: &mut [DualNumber]) { layer(w, x, b, out) }

#[inline(never)]
fn tangent_by_hand(w: &[f64], dw: &[f64], x: &[f64], dx: &[f64], b: &[f64], db: &[f64], out: &mut [f64], dout: &mut [f64]) {
    let n = x.len();
    for i in 0..out.len() {
        let (mut s, mut ds) = (b[i], db[i]);
        for j in 0..n {
            s += w[i * n + j] * x[j];
            ds += dw[i * n + j] * x[j] + w[i * n + j] * dx[j];
        }
        let r = s.tanh();
        out[i] = r;
        dout[i] = (1.0 - r * r) * ds;
    }
}

fn main() {
    let n = 64;
    let mut stream = Stream::new();
    let w: Vec<f64> = stream.vec(n * n).iter().map(|v| (v - 0.5) * 0.2).collect();
    let (x, b) = (stream.vec(n), stream.vec(n));
    let (dw, dx, db) = (stream.vec(16 * n * n), stream.vec(16 * n), stream.vec(16 * n));
    let (mut out, mut dout) = (vec![0.0; n], vec![0.0; 16 * n]);
    let mut expected = vec![0.0; n];
    fwd1(&w, &dw[..n * n], &x, &dx[..n], &b, &db[..n], &mut out, &mut dout[..n]);
    tangent_by_hand(&w, &dw[..n * n], &x, &dx[..n], &b, &db[..n], &mut out, &mut expected);
    agree("forward", &dout[..n], &expected, 1e-12);
    fwd16(&w, &dw, &x, &dx, &b, &db, &mut out, &mut dout);
    for k in 0..16 {
        tangent_by_hand(&w, &dw[k * n * n..(k + 1) * n * n], &x, &dx[k * n..(k + 1) * n], &b, &db[k * n..(k + 1) * n], &mut out, &mut expected);
        agree("lane", &dout[k * n..(k + 1) * n], &expected, 1e-12);
    }
    let weights = stream.vec(n);
    let (mut gw, mut gx, mut gb, mut seed) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n], weights.clone());
    rev(&w, &mut gw, &x, &mut gx, &b, &mut gb, &mut out, &mut seed);
    tangent_by_hand(&w, &dw[..n * n], &x, &dx[..n], &b, &db[..n], &mut out, &mut expected);
    let dotted = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(p, q)| p * q).sum::<f64>();
    agree("reverse against forward", &[dotted(&weights, &expected)], &[dotted(&gw, &dw) + dotted(&gx, &dx) + dotted(&gb, &db)], 1e-11);

    let bench = Bench;
    bench.time("primal", || primal(black_box(&w), black_box(&x), black_box(&b), black_box(&mut out)));
    for (name, width) in [("fwd1", 1), ("fwd4", 4), ("fwd8", 8), ("fwd16", 16)] {
        let (dw, dx, db, dout) = (&dw[..width * n * n], &dx[..width * n], &db[..width * n], &mut dout[..width * n]);
        let f = [fwd1, fwd4, fwd8, fwd16][[1, 4, 8, 16].iter().position(|&v| v == width).unwrap()];
        bench.time(name, || f(black_box(&w), black_box(dw), black_box(&x), black_box(dx), black_box(&b), black_box(db), black_box(&mut out), black_box(dout)));
    }
    bench.time("rev", || {
        seed.copy_from_slice(&weights);
        rev(black_box(&w), black_box(&mut gw), black_box(&x), black_box(&mut gx), black_box(&b), black_box(&mut gb), black_box(&mut out), black_box(&mut seed))
    });
    let (uw, ux, ub) = (duals(&w, &dw), duals(&x, &dx), duals(&b, &db));
    let mut uo = vec![DualNumber::default(); n];
    bench.time("dual numbers", || by_dual(black_box(&uw), black_box(&ux), black_box(&ub), black_box(&mut uo)));
    bench.time("tangent by hand", || tangent_by_hand(black_box(&w), black_box(&dw[..n * n]), black_box(&x), black_box(&dx[..n]), black_box(&b), black_box(&db[..n]), black_box(&mut out), black_box(&mut expected)));
    let (mut aw, mut bw) = (w.clone(), w.clone());
    bench.time("finite differences", || {
        for i in 0..n * n {
            aw[i] = w[i] + 1e-6 * dw[i];
            bw[i] = w[i] - 1e-6 * dw[i];
        }
        primal(black_box(&aw), black_box(&x), black_box(&b), black_box(&mut out));
        primal(black_box(&bw), black_box(&x), black_box(&b), black_box(&mut expected));
        for i in 0..n {
            expected[i] = (out[i] - expected[i]) / 2e-6;
        }
    });
}
