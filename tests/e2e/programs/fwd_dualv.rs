//! One long shadow for all lanes.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[autodiff_forward(smooth_lanes, 4, Dualv, Dualv)]
#[autodiff_forward(smooth_one, Dual, Dual)]
fn smooth(x: &[f64], out: &mut [f64]) {
    for i in 1..x.len() - 1 {
        out[i] = 0.25 * (x[i - 1] + 2.0 * x[i] + x[i + 1]).powi(2);
    }
    out[0] = x[0];
    out[x.len() - 1] = x[x.len() - 1] * x[0];
}

#[autodiff_forward(dot_lanes, 3, Dualv, Const, Dual)]
fn dot(x: &[f64], w: &[f64]) -> f64 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

#[autodiff_forward(cumulate_lanes, 2, Dualv, Const)]
fn cumulate(x: &mut [f64], k: f64) {
    for i in 1..x.len() {
        x[i] += k * x[i - 1] * x[i];
    }
}

#[autodiff_forward(points_lanes, 2, Dualv, DualOnly)]
fn points(p: &[[f64; 2]]) -> f64 {
    p.iter().map(|[x, y]| x * y).sum()
}

fn main() {
    let x: Vec<f64> = (0..5).map(|i| 1.0 + 0.5 * i as f64).collect();
    let bx: Vec<f64> = (0..20).map(|i| (i as f64).cos()).collect();
    let (mut out, mut bout) = (vec![0.0; 5], vec![0.0; 20]);
    smooth_lanes(&x, &bx, &mut out, &mut bout);
    for k in 0..4 {
        let (mut single, mut tangent) = (vec![0.0; 5], vec![0.0; 5]);
        smooth_one(&x, &bx[5 * k..5 * k + 5], &mut single, &mut tangent);
        assert_eq!(single, out);
        for (a, b) in tangent.iter().zip(&bout[5 * k..]) {
            assert!((a - b).abs() < 1e-13);
        }
    }

    // A shadow may be longer than the lanes need.
    let long = [1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 77.0];
    assert_eq!(dot_lanes(&[3.0, 4.0], &long, &[10.0, 1.0]), [34.0, 10.0, 1.0, 22.0]);

    let mut x = [1.0, 2.0, 3.0];
    let mut bx = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    cumulate_lanes(&mut x, &mut bx, 0.5);
    assert_eq!(x, [1.0, 3.0, 7.5]);
    assert_eq!(bx, [1.0, 1.0, 1.5, 0.0, 1.5, 2.25]);

    let p = [[1.0, 2.0], [3.0, 4.0]];
    let bp = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0]];
    assert_eq!(points_lanes(&p, &bp), [2.0, 5.0]);
}
