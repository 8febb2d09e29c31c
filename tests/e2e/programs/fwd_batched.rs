//! Widths 1 to 16, mixed activities in one call, lanes equal to single calls.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(f1, Dual, Const, Dual)]
#[autodiff_forward(f3, 3, Dual, Const, Dual)]
#[autodiff_forward(f5, 5, Dual, Const, Dual)]
#[autodiff_forward(f16, 16, Dual, Const, DualOnly)]
fn f(x: f64, k: f64) -> f64 {
    (k * x).sin() + x.exp() / (1.0 + x * x)
}

#[autodiff_forward(scale1, Dual, Dual, Dual)]
#[autodiff_forward(scale4, 4, Dual, Dual, Dual)]
fn scale(x: &[f64], k: f64, out: &mut [f64]) {
    let mut carried = 1.0;
    for (o, v) in out.iter_mut().zip(x) {
        carried = 0.5 * carried + v * k;
        *o = carried.tanh() * v;
    }
}

#[autodiff_forward(norm4, 4, Dualv, Dual, Const, Dual)]
#[autodiff_forward(norm1, Dual, Dual, Const, Dual)]
fn norm(x: &[f32], w: &[f32], shift: f32) -> f32 {
    x.iter().zip(w).map(|(x, w)| w * (x - shift) * (x - shift)).sum::<f32>().sqrt()
}

fn lane(k: usize) -> Vec<f64> {
    (0..7).map(|i| ((i * 3 + k * 5) as f64).sin()).collect()
}

fn main() {
    let tangents: Vec<f64> = (0..16).map(|i| i as f64 * 0.25 - 1.0).collect();
    let t = &tangents;
    let (value, slope) = f1(0.8, 1.0, 1.7);
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-14 * (1.0 + b.abs()), "{a} against {b}");
    let three = f3(0.8, t[0], t[5], t[9], 1.7);
    for (got, want) in three.iter().zip([value, slope * t[0], slope * t[5], slope * t[9]]) {
        close(*got, want);
    }
    let five = f5(0.8, t[1], t[2], t[3], t[4], t[6], 1.7);
    for (got, want) in five.iter().zip([value, slope * t[1], slope * t[2], slope * t[3], slope * t[4], slope * t[6]]) {
        close(*got, want);
    }
    let many = f16(
        0.8, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15],
        1.7,
    );
    for (got, seed) in many.iter().zip(t) {
        close(*got, slope * seed);
    }

    let x = lane(9);
    let b: Vec<Vec<f64>> = (0..4).map(lane).collect();
    let mut out = vec![0.0; 7];
    let (mut b0, mut b1, mut b2, mut b3) = (vec![0.0; 7], vec![0.0; 7], vec![0.0; 7], vec![0.0; 7]);
    scale4(
        &x, &b[0], &b[1], &b[2], &b[3], 1.3, 0.1, 0.2, 0.3, 0.4, &mut out, &mut b0, &mut b1, &mut b2, &mut b3,
    );
    for (k, lanes) in [b0, b1, b2, b3].iter().enumerate() {
        let (mut single, mut tangent) = (vec![0.0; 7], vec![0.0; 7]);
        scale1(&x, &b[k], 1.3, 0.1 * (k + 1) as f64, &mut single, &mut tangent);
        assert_eq!(single, out);
        for (a, b) in lanes.iter().zip(&tangent) {
            close(*a, *b);
        }
    }

    let x = [1.0_f32, 2.0, 4.0];
    let w = [0.5_f32, 1.0, 0.25];
    let bx = [1.0_f32, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let zero = [0.0_f32; 3];
    let bw = [0.0_f32, 1.0, 0.0];
    let all = norm4(&x, &bx, &w, &zero, &zero, &zero, &bw, 0.5);
    for k in 0..4 {
        let (value, tangent) = norm1(&x, &bx[3 * k..3 * k + 3], &w, if k == 3 { &bw } else { &zero }, 0.5);
        assert!((all[0] - value).abs() < 1e-6 && (all[1 + k] - tangent).abs() < 1e-6);
    }
}
