//! A small network trained by stochastic gradient descent, its gradient by reverse mode.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

const HIDDEN: usize = 12;

/// Two dense layers. Fields are plain arrays, so a shadow of the network is a network of gradients.
#[derive(Clone)]
struct Network {
    w1: [[f64; 2]; HIDDEN],
    b1: [f64; HIDDEN],
    w2: [f64; HIDDEN],
    b2: f64,
}

impl Network {
    fn zero() -> Self {
        Network { w1: [[0.0; 2]; HIDDEN], b1: [0.0; HIDDEN], w2: [0.0; HIDDEN], b2: 0.0 }
    }

    fn random(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
        };
        let mut net = Network::zero();
        net.w1.iter_mut().flatten().for_each(|w| *w = next());
        net.w2.iter_mut().for_each(|w| *w = next());
        net
    }

    fn output(&self, x: &[f64; 2]) -> f64 {
        let mut y = self.b2;
        for ((row, bias), weight) in self.w1.iter().zip(&self.b1).zip(&self.w2) {
            y += weight * (row[0] * x[0] + row[1] * x[1] + bias).tanh();
        }
        y
    }

    /// Squared error on one sample. `dself_0` receives the gradient with respect to every weight.
    #[autodiff_reverse(sample_gradient, Duplicated, Const, Const, Active)]
    fn sample_loss(&self, x: &[f64; 2], target: f64) -> f64 {
        let error = self.output(x) - target;
        error * error
    }

    fn weights_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.w1
            .iter_mut()
            .flatten()
            .chain(self.b1.iter_mut())
            .chain(self.w2.iter_mut())
            .chain(std::iter::once(&mut self.b2))
    }
}

fn target(x: &[f64; 2]) -> f64 {
    (2.0 * x[0]).sin() * x[1]
}

fn sample(i: usize) -> [f64; 2] {
    let t = i as f64;
    [(t * 0.618).fract() * 2.0 - 1.0, (t * 0.414).fract() * 2.0 - 1.0]
}

fn mean_loss(net: &Network) -> f64 {
    (0..500).map(|i| net.sample_loss(&sample(i), target(&sample(i)))).sum::<f64>() / 500.0
}

fn check_gradient(net: &Network) {
    let x = [0.3, -0.8];
    let mut gradient = Network::zero();
    net.sample_gradient(&mut gradient, &x, 0.25, 1.0);
    let h = 1e-6;
    let count = gradient.weights_mut().count();
    for i in 0..count {
        let (mut up, mut down) = (net.clone(), net.clone());
        *up.weights_mut().nth(i).unwrap() += h;
        *down.weights_mut().nth(i).unwrap() -= h;
        let fd = (up.sample_loss(&x, 0.25) - down.sample_loss(&x, 0.25)) / (2.0 * h);
        let exact = *gradient.weights_mut().nth(i).unwrap();
        assert!((exact - fd).abs() < 1e-7 * (1.0 + fd.abs()), "weight {i}: {exact} against {fd}");
    }
    println!("gradient of {count} weights agrees with finite differences");
}

fn main() {
    let mut net = Network::random(7);
    check_gradient(&net);
    let first = mean_loss(&net);
    println!("epoch   mean loss");
    println!("{:>5}   {first:.6}", 0);
    for epoch in 1..=40 {
        for i in 0..500 {
            let x = sample(i * 7 + epoch);
            let mut gradient = Network::zero();
            net.sample_gradient(&mut gradient, &x, target(&x), 1.0);
            for (w, g) in net.weights_mut().zip(gradient.weights_mut()) {
                *w -= 0.05 * *g;
            }
        }
        if epoch % 10 == 0 {
            println!("{epoch:>5}   {:.6}", mean_loss(&net));
        }
    }
    let last = mean_loss(&net);
    assert!(last < 0.05 * first, "training did not converge: {first} -> {last}");
}
