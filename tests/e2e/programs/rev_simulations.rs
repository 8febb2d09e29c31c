//! Simulations and dynamic programmes: control loop, ray tracing, time warping, Monte Carlo, splines.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

struct Controller {
    gains: [f64; 3],
    integral: f64,
    previous: f64,
}

impl Controller {
    fn output(&mut self, error: f64, dt: f64) -> f64 {
        self.integral += error * dt;
        let slope = (error - self.previous) / dt;
        self.previous = error;
        (self.gains[0] * error + self.gains[1] * self.integral + self.gains[2] * slope).clamp(-2.0, 2.0)
    }
}

#[autodiff_reverse(control_loop_vjp, Duplicated, Active)]
fn control_loop(x: &[f64]) -> f64 {
    let mut controller = Controller { gains: [x[0], x[1], 0.1 * x[2]], integral: 0.0, previous: 1.0 };
    let (mut position, mut velocity, mut cost) = (0.0, 0.0, 0.0);
    for step in 0..40 {
        let error = if step < 20 { 1.0 } else { 0.3 } - position;
        let force = controller.output(error, 0.05);
        velocity += 0.05 * (force - 0.4 * velocity);
        position += 0.05 * velocity;
        cost += error * error + 0.01 * force * force;
    }
    cost
}

#[derive(Clone, Copy)]
struct Ray {
    origin: [f64; 3],
    direction: [f64; 3],
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn hit(ray: &Ray, center: [f64; 3], radius: f64) -> Option<f64> {
    let offset = [ray.origin[0] - center[0], ray.origin[1] - center[1], ray.origin[2] - center[2]];
    let b = dot(offset, ray.direction);
    let c = dot(offset, offset) - radius * radius;
    let discriminant = b * b - c;
    if discriminant < 0.0 {
        return None;
    }
    let t = -b - discriminant.sqrt();
    (t > 1e-6).then_some(t)
}

#[autodiff_reverse(trace_vjp, Duplicated, Active)]
fn trace(x: &[f64]) -> f64 {
    let spheres = [([0.0, 0.0, 5.0], 1.0 + 0.2 * x[0]), ([0.5 * x[1], 2.5, 4.0], 1.0), ([0.0, -101.0, 0.0], 100.0)];
    let mut ray = Ray { origin: [0.0, 0.1, 0.0], direction: [0.1 * x[2], 0.05, 1.0] };
    let length = dot(ray.direction, ray.direction).sqrt();
    ray.direction = ray.direction.map(|v| v / length);
    let (mut light, mut weight) = (0.0, 1.0);
    for _ in 0..4 {
        let nearest = spheres
            .iter()
            .filter_map(|&(center, radius)| hit(&ray, center, radius).map(|t| (t, center, radius)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((t, center, radius)) = nearest else {
            light += weight * (0.5 + 0.5 * ray.direction[1]);
            break;
        };
        let point: [f64; 3] = std::array::from_fn(|i| ray.origin[i] + t * ray.direction[i]);
        let normal: [f64; 3] = std::array::from_fn(|i| (point[i] - center[i]) / radius);
        let along = 2.0 * dot(ray.direction, normal);
        light += weight * 0.2 * t;
        weight *= 0.6;
        ray = Ray { origin: point, direction: std::array::from_fn(|i| ray.direction[i] - along * normal[i]) };
    }
    light
}

fn soft_min(a: f64, b: f64, c: f64) -> f64 {
    -((-a).exp() + (-b).exp() + (-c).exp()).ln()
}

#[autodiff_reverse(time_warping_vjp, Duplicated, Active)]
fn time_warping(x: &[f64]) -> f64 {
    let other = [0.1, 0.9, 1.2, 0.3];
    let (n, m) = (x.len(), other.len());
    let mut table = vec![vec![50.0; m + 1]; n + 1];
    table[0][0] = 0.0;
    for i in 1..=n {
        for j in 1..=m {
            let d = x[i - 1] - other[j - 1];
            table[i][j] = d * d + soft_min(table[i - 1][j], table[i][j - 1], table[i - 1][j - 1]);
        }
    }
    table[n][m]
}

struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}

#[autodiff_reverse(monte_carlo_vjp, Duplicated, Active)]
fn monte_carlo(x: &[f64]) -> f64 {
    let mut random = Random(88172645463325252);
    let mut total = 0.0;
    for _ in 0..50 {
        let mut price = 1.0 + 0.1 * x[0];
        for _ in 0..5 {
            price *= (0.02 * x[1] + 0.1 * (1.0 + 0.3 * x[2]) * random.normal()).exp();
        }
        total += (price - 0.9).max(0.0);
    }
    total / 50.0
}

#[autodiff_reverse(spline_vjp, Duplicated, Active)]
fn spline(x: &[f64]) -> f64 {
    // natural cubic spline through (i, x[i]) by the Thomas algorithm, integrated
    let n = x.len();
    let (mut diagonal, mut rhs, mut second) = (vec![4.0; n], vec![0.0; n], vec![0.0; n]);
    for i in 1..n - 1 {
        rhs[i] = 6.0 * (x[i + 1] - 2.0 * x[i] + x[i - 1]);
    }
    for i in 2..n - 1 {
        let f = 1.0 / diagonal[i - 1];
        diagonal[i] -= f;
        rhs[i] -= f * rhs[i - 1];
    }
    for i in (1..n - 1).rev() {
        second[i] = (rhs[i] - second[i + 1]) / diagonal[i];
    }
    (0..n - 1).map(|i| 0.5 * (x[i] + x[i + 1]) - (second[i] + second[i + 1]) / 24.0).sum()
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

fn main() {
    check("control_loop", control_loop, control_loop_vjp, 3);
    check("trace", trace, trace_vjp, 3);
    check("time_warping", time_warping, time_warping_vjp, 4);
    check("monte_carlo", monte_carlo, monte_carlo_vjp, 3);
    check("spline", spline, spline_vjp, 6);
}
