//! Methods in reverse mode: the shadow of a struct holds the gradient of its fields.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[derive(Clone)]
struct Model {
    weights: Vec<f64>,
    name: &'static str,
    bias: f64,
}

impl Model {
    #[autodiff_reverse(predict_vjp, Duplicated, Duplicated, Active)]
    #[autodiff_reverse(predict_dx, Const, Duplicated, Active)]
    fn predict(&self, x: &[f64]) -> f64 {
        self.weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>().tanh() + self.bias + self.name.len() as f64
    }

    #[autodiff_reverse(scale_vjp, Duplicated, Active)]
    fn scale(&mut self, k: f64) {
        for w in &mut self.weights {
            *w *= k;
        }
    }

    #[autodiff_reverse(logistic_vjp, Active, Active)]
    fn logistic(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }
}

struct Spring {
    k: f64,
}

trait Energy {
    fn energy(&self, x: f64) -> f64;
    fn force(&self, x: f64, dret: f64) -> (f64, f64);
}

impl Energy for Spring {
    #[autodiff_reverse(force, Const, Active, Active)]
    fn energy(&self, x: f64) -> f64 {
        0.5 * self.k * x * x
    }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-13 * (1.0 + b.abs()), "{a}, expected {b}");
}

fn main() {
    let model = Model { weights: vec![0.5, -1.0], name: "net", bias: 0.25 };
    let mut d = Model { weights: vec![0.0, 0.0], name: "gradient", bias: 1.0 };
    let (x, mut dx) = ([0.3, 0.2], [0.0, 0.0]);
    let inner: f64 = 0.5 * 0.3 - 1.0 * 0.2;
    let slope = 1.0 - inner.tanh().powi(2);
    close(model.predict_vjp(&mut d, &x, &mut dx, 2.0), inner.tanh() + 3.25);
    close(d.weights[0], 2.0 * slope * 0.3);
    close(d.weights[1], 2.0 * slope * 0.2);
    close(d.bias, 3.0);
    close(dx[0], 2.0 * slope * 0.5);
    close(dx[1], -2.0 * slope);
    let mut dx = [0.0, 0.0];
    model.predict_dx(&x, &mut dx, 1.0);
    close(dx[1], -slope);

    let mut scaled = model.clone();
    let mut d = Model { weights: vec![1.0, 10.0], name: "", bias: 0.0 };
    let dk = scaled.scale_vjp(&mut d, 3.0);
    close(scaled.weights[1], -3.0);
    close(dk, 0.5 - 10.0);
    close(d.weights[0], 3.0);
    close(d.weights[1], 30.0);

    let (y, dy) = Model::logistic_vjp(0.0, 1.0);
    close(y, 0.5);
    close(dy, 0.25);
    assert_eq!(Spring { k: 2.0 }.force(3.0, 1.0), (9.0, 6.0));
}
