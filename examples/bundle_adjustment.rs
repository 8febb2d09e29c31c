//! Bundle adjustment by Gauss-Newton: cameras and points are found from the points' images.
//!
//! A residual block depends on one camera (6 numbers) and one point (3): reverse mode with width 2 gives both rows
//! of its Jacobian in one sweep.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

type Camera = [f64; 6]; // rotation vector, translation
type Point = [f64; 3];

/// Rodrigues' formula: `p` turned about the axis `w` by the angle |w|.
fn rotate(w: &[f64], p: &Point) -> Point {
    let angle2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    let cross = [w[1] * p[2] - w[2] * p[1], w[2] * p[0] - w[0] * p[2], w[0] * p[1] - w[1] * p[0]];
    if angle2 < 1e-12 {
        return [p[0] + cross[0], p[1] + cross[1], p[2] + cross[2]];
    }
    let angle = angle2.sqrt();
    let (sin, cos) = angle.sin_cos();
    let dot = (w[0] * p[0] + w[1] * p[1] + w[2] * p[2]) * (1.0 - cos) / angle2;
    std::array::from_fn(|i| p[i] * cos + cross[i] * sin / angle + w[i] * dot)
}

/// Image error of one point in one camera, in units of the focal length.
#[autodiff_reverse(residual_rows, 2, Duplicated, Duplicated, Const, Duplicated)]
fn residual(camera: &Camera, point: &Point, seen: &[f64; 2], out: &mut [f64; 2]) {
    let p = rotate(&camera[..3], point);
    let depth = p[2] + camera[5];
    out[0] = (p[0] + camera[3]) / depth - seen[0];
    out[1] = (p[1] + camera[4]) / depth - seen[1];
}

struct Problem {
    cameras: Vec<Camera>,
    points: Vec<Point>,
    observations: Vec<(usize, usize, [f64; 2])>,
}

fn scene() -> Problem {
    let cameras: Vec<Camera> = (0..4)
        .map(|i| {
            let t = i as f64 * 0.25 - 0.375;
            [0.1 * t, t, -0.05 * t, 1.5 * t, 0.2 * t * t, 6.0]
        })
        .collect();
    let points: Vec<Point> = (0..12)
        .map(|i| {
            let t = i as f64;
            [(t * 1.7).sin() * 1.5, (t * 2.3).cos(), (t * 0.9).sin()]
        })
        .collect();
    let mut observations = Vec::new();
    for (c, camera) in cameras.iter().enumerate() {
        for (p, point) in points.iter().enumerate() {
            let mut image = [0.0; 2];
            residual(camera, point, &[0.0, 0.0], &mut image);
            observations.push((c, p, image));
        }
    }
    Problem { cameras, points, observations }
}

/// Solves a symmetric positive definite system in place by Cholesky factorisation.
fn solve(a: &mut [Vec<f64>], b: &mut [f64]) {
    let n = b.len();
    for j in 0..n {
        for k in 0..j {
            let f = a[j][k];
            for i in j..n {
                a[i][j] -= a[i][k] * f;
            }
        }
        let d = a[j][j].sqrt();
        for i in j..n {
            a[i][j] /= d;
        }
    }
    for i in 0..n {
        let s: f64 = (0..i).map(|k| a[i][k] * b[k]).sum();
        b[i] = (b[i] - s) / a[i][i];
    }
    for i in (0..n).rev() {
        let s: f64 = (i + 1..n).map(|k| a[k][i] * b[k]).sum();
        b[i] = (b[i] - s) / a[i][i];
    }
}

/// Adds the normal equations of all residuals; returns half the sum of squares.
fn normal_equations(problem: &Problem, h: &mut [Vec<f64>], g: &mut [f64]) -> f64 {
    let mut cost = 0.0;
    let point_base = problem.cameras.len() * 6;
    for (c, p, seen) in &problem.observations {
        let (mut c0, mut c1, mut p0, mut p1) = ([0.0; 6], [0.0; 6], [0.0; 3], [0.0; 3]);
        let (mut r, mut seed0, mut seed1) = ([0.0; 2], [1.0, 0.0], [0.0, 1.0]);
        residual_rows(
            &problem.cameras[*c], &mut c0, &mut c1,
            &problem.points[*p], &mut p0, &mut p1,
            seen,
            &mut r, &mut seed0, &mut seed1,
        );
        for (row_c, row_p, r) in [(c0, p0, r[0]), (c1, p1, r[1])] {
            cost += 0.5 * r * r;
            let entries: Vec<(usize, f64)> = (0..6)
                .map(|i| (c * 6 + i, row_c[i]))
                .chain((0..3).map(|i| (point_base + p * 3 + i, row_p[i])))
                .collect();
            for &(i, a) in &entries {
                g[i] -= a * r;
                for &(j, b) in &entries {
                    h[i][j] += a * b;
                }
            }
        }
    }
    cost
}

fn check_rows(camera: &Camera, point: &Point, seen: &[f64; 2]) {
    let (mut c0, mut c1, mut p0, mut p1) = ([0.0; 6], [0.0; 6], [0.0; 3], [0.0; 3]);
    let mut r = [0.0; 2];
    let (mut s0, mut s1) = ([1.0, 0.0], [0.0, 1.0]);
    residual_rows(camera, &mut c0, &mut c1, point, &mut p0, &mut p1, seen, &mut r, &mut s0, &mut s1);
    assert_eq!((s0, s1), ([0.0; 2], [0.0; 2]), "an overwritten output's seed is consumed");
    let h = 1e-6;
    for i in 0..9 {
        let difference = |sign: f64| {
            let (mut camera, mut point, mut out) = (*camera, *point, [0.0; 2]);
            if i < 6 { camera[i] += sign * h } else { point[i - 6] += sign * h }
            residual(&camera, &point, seen, &mut out);
            out
        };
        let (up, down) = (difference(1.0), difference(-1.0));
        let rows = if i < 6 { [c0[i], c1[i]] } else { [p0[i - 6], p1[i - 6]] };
        for k in 0..2 {
            let fd = (up[k] - down[k]) / (2.0 * h);
            assert!((rows[k] - fd).abs() < 1e-7, "row {k}, column {i}: {} against {fd}", rows[k]);
        }
    }
}

fn main() {
    let truth = scene();
    let (c, p, seen) = truth.observations[5];
    check_rows(&truth.cameras[c], &truth.points[p], &seen);

    // Start from disturbed cameras and points; the first camera stays fixed.
    let mut problem = scene();
    for (i, camera) in problem.cameras.iter_mut().enumerate().skip(1) {
        camera.iter_mut().enumerate().for_each(|(k, v)| *v += 0.02 * ((i * 7 + k * 3) as f64).sin());
    }
    for (i, point) in problem.points.iter_mut().enumerate() {
        point.iter_mut().enumerate().for_each(|(k, v)| *v += 0.05 * ((i * 5 + k * 2) as f64).cos());
    }

    let size = problem.cameras.len() * 6 + problem.points.len() * 3;
    println!("iteration   cost");
    let (mut first, mut last) = (0.0, 0.0);
    for iteration in 0..12 {
        let mut h = vec![vec![0.0; size]; size];
        let mut step = vec![0.0; size];
        last = normal_equations(&problem, &mut h, &mut step);
        if iteration == 0 {
            first = last;
        }
        println!("{iteration:>9}   {last:.6e}");
        for i in 0..size {
            h[i][i] += if i < 6 { 1e12 } else { 1e-9 };
        }
        solve(&mut h, &mut step);
        let (camera_steps, point_steps) = step.split_at(problem.cameras.len() * 6);
        problem.cameras.iter_mut().flatten().zip(camera_steps).for_each(|(v, s)| *v += s);
        problem.points.iter_mut().flatten().zip(point_steps).for_each(|(v, s)| *v += s);
    }
    assert!(last < 1e-12 * first, "cost only fell from {first} to {last}");
}
