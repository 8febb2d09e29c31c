//! A predator-prey model fitted to measurements: the gradient of the misfit with respect to four rates, through
//! an explicit integrator, by reverse mode; the minimum by BFGS.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

const STEPS_PER_SAMPLE: usize = 20;
const DT: f64 = 0.025;

/// `[prey, predators]` growing and dying with rates `r`.
fn rhs(s: [f64; 2], r: &[f64; 4]) -> [f64; 2] {
    [s[0] * (r[0] - r[1] * s[1]), s[1] * (r[2] * s[0] - r[3])]
}

fn rk4_step(s: [f64; 2], r: &[f64; 4]) -> [f64; 2] {
    let along = |k: [f64; 2], t: f64| [s[0] + t * k[0], s[1] + t * k[1]];
    let k1 = rhs(s, r);
    let k2 = rhs(along(k1, DT / 2.0), r);
    let k3 = rhs(along(k2, DT / 2.0), r);
    let k4 = rhs(along(k3, DT), r);
    let mut next = s;
    for i in 0..2 {
        next[i] += DT / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    }
    next
}

fn simulate(r: &[f64; 4], samples: usize) -> Vec<[f64; 2]> {
    let mut state = [1.0, 0.6];
    let mut path = Vec::with_capacity(samples);
    for _ in 0..samples {
        for _ in 0..STEPS_PER_SAMPLE {
            state = rk4_step(state, r);
        }
        path.push(state);
    }
    path
}

#[autodiff_reverse(misfit_gradient, Duplicated, Const, Active)]
fn misfit(rates: &[f64; 4], data: &[[f64; 2]]) -> f64 {
    let mut state = [1.0, 0.6];
    let mut sum = 0.0;
    for measured in data {
        for _ in 0..STEPS_PER_SAMPLE {
            state = rk4_step(state, rates);
        }
        for i in 0..2 {
            sum += (state[i] - measured[i]).powi(2);
        }
    }
    sum / data.len() as f64
}

fn dot(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Product of a 4x4 matrix and a vector.
fn times(m: &[[f64; 4]; 4], v: &[f64; 4]) -> [f64; 4] {
    std::array::from_fn(|i| dot(&m[i], v))
}

fn value_and_gradient(r: &[f64; 4], data: &[[f64; 2]]) -> (f64, [f64; 4]) {
    let mut gradient = [0.0; 4];
    let value = misfit_gradient(r, &mut gradient, data, 1.0);
    (value, gradient)
}

fn main() {
    let truth = [1.1, 0.9, 0.7, 1.3];
    let data = simulate(&truth, 20);
    let mut r = [1.0, 1.0, 1.0, 1.0];

    let (mut value, mut gradient) = value_and_gradient(&r, &data);
    for i in 0..4 {
        let h = 1e-6;
        let (mut up, mut down) = (r, r);
        up[i] += h;
        down[i] -= h;
        let fd = (misfit(&up, &data) - misfit(&down, &data)) / (2.0 * h);
        assert!((gradient[i] - fd).abs() < 1e-6 * (1.0 + fd.abs()), "rate {i}: {} against {fd}", gradient[i]);
    }

    println!("iteration      misfit      |gradient|      rates");
    let mut inverse: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| (i == j) as u8 as f64 * 0.1));
    for iteration in 0..80 {
        let norm = dot(&gradient, &gradient).sqrt();
        if iteration % 10 == 0 {
            println!("{iteration:>9}  {value:>10.3e}  {norm:>14.3e}      {r:.5?}");
        }
        if norm < 1e-9 {
            break;
        }
        let step: [f64; 4] = times(&inverse, &gradient).map(|s| -s);
        let slope = dot(&step, &gradient);
        let mut length = 1.0;
        let moved = |t: f64| -> [f64; 4] { std::array::from_fn(|i| r[i] + t * step[i]) };
        while !(misfit(&moved(length), &data) <= value + 1e-4 * length * slope) && length > 1e-12 {
            length *= 0.5;
        }
        let next = moved(length);
        let (next_value, next_gradient) = value_and_gradient(&next, &data);
        let s: [f64; 4] = std::array::from_fn(|i| next[i] - r[i]);
        let y: [f64; 4] = std::array::from_fn(|i| next_gradient[i] - gradient[i]);
        let sy = dot(&s, &y);
        if sy > 1e-300 {
            let hy = times(&inverse, &y);
            let factor = (1.0 + dot(&y, &hy) / sy) / sy;
            for i in 0..4 {
                for j in 0..4 {
                    inverse[i][j] += factor * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / sy;
                }
            }
        }
        (r, value, gradient) = (next, next_value, next_gradient);
    }
    println!("found {r:.6?}, misfit {value:.3e}");
    for (found, true_rate) in r.iter().zip(truth) {
        assert!((found - true_rate).abs() < 1e-5);
    }
}
