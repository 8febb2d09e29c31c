//! Forward mode through a small simulation: n bodies with softening, leapfrog steps, energy drift.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[derive(Clone, Copy)]
struct Body {
    mass: f64,
    position: [f64; 3],
    velocity: [f64; 3],
}

fn accelerations(bodies: &[Body]) -> Vec<[f64; 3]> {
    let mut acc = vec![[0.0; 3]; bodies.len()];
    for i in 0..bodies.len() {
        for j in 0..i {
            let mut d = [0.0; 3];
            for k in 0..3 {
                d[k] = bodies[j].position[k] - bodies[i].position[k];
            }
            let r2 = d.iter().map(|d| d * d).sum::<f64>() + 0.01;
            let f = 1.0 / (r2 * r2.sqrt());
            for k in 0..3 {
                acc[i][k] += bodies[j].mass * f * d[k];
                acc[j][k] -= bodies[i].mass * f * d[k];
            }
        }
    }
    acc
}

#[autodiff_forward(energy_after_jvp, Dual, Const, Const, Dual)]
fn energy_after(bodies: &[Body], dt: f64, steps: usize) -> f64 {
    let mut bodies = bodies.to_vec();
    for _ in 0..steps {
        for phase in 0..2 {
            let acc = accelerations(&bodies);
            for (body, a) in bodies.iter_mut().zip(&acc) {
                for k in 0..3 {
                    body.velocity[k] += 0.5 * dt * a[k];
                    if phase == 0 {
                        body.position[k] += dt * body.velocity[k];
                    }
                }
            }
        }
    }
    bodies.iter().map(|b| 0.5 * b.mass * b.velocity.iter().map(|v| v * v).sum::<f64>()).sum()
}

fn main() {
    let bodies: Vec<Body> = (0..4)
        .map(|i| {
            let t = i as f64;
            Body {
                mass: 1.0 + 0.1 * t,
                position: [t.cos(), t.sin(), 0.3 * t],
                velocity: [0.1 * t.sin(), -0.1, 0.05 * t.cos()],
            }
        })
        .collect();
    let zero = Body { mass: 0.0, position: [0.0; 3], velocity: [0.0; 3] };
    for i in 0..4 {
        for k in 0..7 {
            let set = |b: &mut Body, v: f64| match k {
                0 => b.mass += v,
                1..=3 => b.position[k - 1] += v,
                _ => b.velocity[k - 4] += v,
            };
            let mut seed = vec![zero; 4];
            set(&mut seed[i], 1.0);
            let (value, tangent) = energy_after_jvp(&bodies, &seed, 0.02, 10);
            let h = 1e-6;
            let (mut up, mut down) = (bodies.clone(), bodies.clone());
            set(&mut up[i], h);
            set(&mut down[i], -h);
            let fd = (energy_after(&up, 0.02, 10) - energy_after(&down, 0.02, 10)) / (2.0 * h);
            assert!((value - energy_after(&bodies, 0.02, 10)).abs() < 1e-12);
            assert!((tangent - fd).abs() < 1e-7 * (1.0 + fd.abs()), "{i},{k}: {tangent} against {fd}");
        }
    }
}
