//! Nested structs, tuples, integers between floats, operator traits.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

use std::ops::{Add, Mul};

#[derive(Clone, Copy)]
struct Vec3 {
    x: f64,
    y: f64,
    z: f64,
}

impl Add for Vec3 {
    type Output = Vec3;
    fn add(self, o: Vec3) -> Vec3 {
        Vec3 { x: self.x + o.x, y: self.y + o.y, z: self.z + o.z }
    }
}

impl Mul<f64> for Vec3 {
    type Output = Vec3;
    fn mul(self, k: f64) -> Vec3 {
        Vec3 { x: self.x * k, y: self.y * k, z: self.z * k }
    }
}

impl Vec3 {
    fn dot(self, o: Vec3) -> f64 {
        self.x * o.x + self.y * o.y + self.z * o.z
    }
}

struct Particle {
    id: u32,
    position: Vec3,
    charge: f32,
    velocity: Vec3,
    alive: bool,
}

#[autodiff_reverse(energy_vjp, Duplicated, Active)]
fn energy(x: &[f64]) -> f64 {
    let mut particles = [
        Particle {
            id: 1,
            position: Vec3 { x: x[0], y: x[1], z: 0.5 },
            charge: 1.5,
            velocity: Vec3 { x: 0.1, y: x[2], z: x[3] },
            alive: true,
        },
        Particle {
            id: 2,
            position: Vec3 { x: 2.0, y: -x[0], z: x[3] },
            charge: -0.5,
            velocity: Vec3 { x: x[1], y: 0.2, z: 0.3 },
            alive: true,
        },
    ];
    for p in &mut particles {
        p.position = p.position + p.velocity * 0.1;
        p.id += 1;
    }
    let kinetic: f64 = particles.iter().filter(|p| p.alive).map(|p| 0.5 * p.velocity.dot(p.velocity)).sum();
    let d = particles[0].position + particles[1].position * -1.0;
    kinetic + (particles[0].charge * particles[1].charge) as f64 / d.dot(d).sqrt() + particles[0].id as f64
}

#[autodiff_reverse(tuples_vjp, Duplicated, Active)]
fn tuples(x: &[f64]) -> f64 {
    fn min_max(x: &[f64]) -> (f64, f64, usize) {
        let mut at = 0;
        let (mut lo, mut hi) = (x[0], x[0]);
        for (i, &v) in x.iter().enumerate() {
            if v < lo {
                lo = v;
                at = i;
            }
            hi = if v > hi { v } else { hi };
        }
        (lo, hi, at)
    }
    let (lo, hi, at) = min_max(x);
    (hi - lo) * (hi + lo) + at as f64 * lo
}

/// Derivative along coordinate `i` by central differences.
fn slope(f: fn(&[f64]) -> f64, x: &[f64], i: usize) -> f64 {
    let h = 1e-5;
    let (mut up, mut down) = (x.to_vec(), x.to_vec());
    up[i] += h;
    down[i] -= h;
    (f(&up) - f(&down)) / (2.0 * h)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 2e-7 * (1.0 + b.abs())
}

fn check(name: &str, f: fn(&[f64]) -> f64, vjp: fn(&[f64], &mut [f64], f64) -> f64, n: usize) {
    let x = &[0.62, -0.35, 1.4, 0.81, -1.2, 0.27, 1.9][..n];
    let mut gradient = vec![1.0; n];
    let value = vjp(x, &mut gradient, 2.0);
    assert!(close(value, f(x)), "{name}: primal {value}, expected {}", f(x));
    for i in 0..n {
        let expected = 1.0 + 2.0 * slope(f, x, i);
        assert!(close(gradient[i], expected), "{name}, input {i}: {}, expected {expected}", gradient[i]);
    }
}

#[derive(Clone, Copy)]
struct Flagged {
    flag: u8,
    values: [f64; 4],
}

/// Copies floats that it never looks at; recursion keeps it a function of its own.
fn flagged(turns: u32, a: &Flagged, b: &Flagged, out: &mut Flagged) {
    if turns > 1 {
        flagged(turns - 2, b, a, out);
        flagged(turns - 1, a, b, out);
    } else if a.flag > 0 {
        *out = *a;
    } else {
        *out = *b;
    }
}

#[autodiff_reverse(moved_vjp, Duplicated, Active)]
fn moved(x: &[f64]) -> f64 {
    let a = Flagged { flag: 1, values: [x[0], x[1], 2.0, 3.0] };
    let b = Flagged { flag: 0, values: [1.0; 4] };
    let mut out = b;
    flagged(5, &a, &b, &mut out);
    out.values[0] * out.values[1] + out.flag as f64
}

#[autodiff_reverse(between_vjp, Duplicated, Const, Active)]
fn between(x: &[f64], range: std::ops::RangeInclusive<usize>) -> f64 {
    x[range].iter().product()
}

fn main() {
    let mut gradient = [0.0; 2];
    assert_eq!(moved_vjp(&[3.0, 5.0], &mut gradient, 1.0), 16.0);
    assert_eq!(gradient, [5.0, 3.0]);
    let mut gradient = [0.0; 4];
    assert_eq!(between_vjp(&[1.0, 2.0, 3.0, 4.0], &mut gradient, 1..=2, 1.0), 6.0);
    assert_eq!(gradient, [0.0, 3.0, 2.0, 0.0]);
    check("energy", energy, energy_vjp, 4);
    check("tuples", tuples, tuples_vjp, 5);
}
