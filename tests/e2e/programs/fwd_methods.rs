//! Methods: receivers by reference, by mutable reference and by value; associated functions; trait methods.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

#[derive(Clone, Debug, PartialEq)]
struct Model {
    weights: Vec<f64>,
    bias: f64,
    calls: usize,
}

impl Model {
    #[autodiff_forward(predict_jvp, Dual, Dual, Dual)]
    #[autodiff_forward(predict_dx, Const, Dual, Dual)]
    fn predict(&self, x: &[f64]) -> f64 {
        self.weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>().tanh() + self.bias
    }

    #[autodiff_forward(step_jvp, Dual, Dual)]
    fn step(&mut self, rate: f64) {
        for w in &mut self.weights {
            *w -= rate * *w * *w;
        }
        self.bias *= rate;
        self.calls += 1;
    }

    #[autodiff_forward(logistic_jvp, Dual, Dual)]
    fn logistic(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }
}

#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

impl Point {
    #[autodiff_forward(norm_jvp, Dual, Dual)]
    fn norm(self) -> f64 {
        self.x.hypot(self.y)
    }
}

trait Energy {
    #[autodiff_forward(energy_jvp, Dual, Dual, Dual)]
    fn energy(&self, k: f64) -> f64;
}

impl Energy for Point {
    fn energy(&self, k: f64) -> f64 {
        0.5 * k * (self.x * self.x + self.y * self.y)
    }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-13 * (1.0 + b.abs()), "{a}, expected {b}");
}

fn main() {
    let model = Model { weights: vec![0.5, -1.0], bias: 0.25, calls: 0 };
    let shadow = Model { weights: vec![1.0, 0.0], bias: 2.0, calls: 0 };
    let (x, bx) = ([0.3, 0.2], [0.0, 1.0]);
    let inner: f64 = 0.5 * 0.3 - 1.0 * 0.2;
    let slope = 1.0 - inner.tanh().powi(2);
    let (y, dy) = model.predict_jvp(&shadow, &x, &bx);
    close(y, inner.tanh() + 0.25);
    close(dy, slope * (0.3 - 1.0) + 2.0);
    close(model.predict_dx(&x, &bx).1, -slope);

    let mut stepped = model.clone();
    let mut tangent = shadow.clone();
    stepped.step_jvp(&mut tangent, 0.1, 1.0);
    close(stepped.weights[0], 0.5 - 0.1 * 0.25);
    close(tangent.weights[0], 1.0 - 0.1 * 2.0 * 0.5 - 0.25);
    close(tangent.weights[1], -1.0);
    close(tangent.bias, 2.0 * 0.1 + 0.25);
    assert_eq!(stepped.calls, 1);

    let (y, dy) = Model::logistic_jvp(0.0, 1.0);
    close(y, 0.5);
    close(dy, 0.25);

    let (y, dy) = Point { x: 3.0, y: 4.0 }.norm_jvp(Point { x: 1.0, y: 0.0 });
    close(y, 5.0);
    close(dy, 0.6);

    let (y, dy) = Point { x: 3.0, y: 4.0 }.energy_jvp(&Point { x: 0.0, y: 1.0 }, 2.0, 1.0);
    close(y, 25.0);
    close(dy, 2.0 * 4.0 + 12.5);
}
