//! How a solution moves when its parameters do: forward sensitivities of the Van der Pol oscillator and of the
//! Lorenz system, through a Runge-Kutta integrator.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

/// A dynamical system with `D` state variables and `P` parameters.
trait System<const D: usize, const P: usize> {
    fn rhs(state: &[f64; D], parameters: &[f64; P]) -> [f64; D];
}

struct VanDerPol;

impl System<2, 1> for VanDerPol {
    fn rhs(&[x, v]: &[f64; 2], &[mu]: &[f64; 1]) -> [f64; 2] {
        [v, mu * (1.0 - x * x) * v - x]
    }
}

struct Lorenz;

impl System<3, 3> for Lorenz {
    fn rhs(&[x, y, z]: &[f64; 3], &[sigma, rho, beta]: &[f64; 3]) -> [f64; 3] {
        [sigma * (y - x), x * (rho - z) - y, x * y - beta * z]
    }
}

fn moved<const D: usize>(state: &[f64; D], slope: &[f64; D], dt: f64) -> [f64; D] {
    std::array::from_fn(|i| state[i] + dt * slope[i])
}

fn integrate<S: System<D, P>, const D: usize, const P: usize>(
    start: [f64; D],
    parameters: &[f64; P],
    time: f64,
    steps: usize,
) -> [f64; D] {
    let dt = time / steps as f64;
    let mut state = start;
    for _ in 0..steps {
        let k1 = S::rhs(&state, parameters);
        let k2 = S::rhs(&moved(&state, &k1, dt / 2.0), parameters);
        let k3 = S::rhs(&moved(&state, &k2, dt / 2.0), parameters);
        let k4 = S::rhs(&moved(&state, &k3, dt), parameters);
        for i in 0..D {
            state[i] += dt / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        }
    }
    state
}

/// State of the oscillator at `time` for damping `mu`.
#[autodiff_forward(oscillator_dmu, Dual, Const, Dual)]
fn oscillator(mu: f64, time: f64) -> [f64; 2] {
    integrate::<VanDerPol, 2, 1>([2.0, 0.0], &[mu], time, 400)
}

/// Final state of a Lorenz trajectory, written to `out`; all three sensitivities at once.
#[autodiff_forward(lorenz_sensitivities, 3, Dual, Const, Dual)]
fn lorenz(parameters: &[f64; 3], time: f64, out: &mut [f64; 3]) {
    *out = integrate::<Lorenz, 3, 3>([1.0, 1.0, 1.0], parameters, time, 500);
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + b.abs())
}

fn main() {
    println!("Van der Pol, mu = 1.5");
    println!("   t          x            v          dx/dmu       dv/dmu     (finite differences)");
    let (mu, h) = (1.5, 1e-5);
    for step in 1..=5 {
        let time = step as f64;
        let (state, tangent) = oscillator_dmu(mu, 1.0, time);
        let (up, down) = (oscillator(mu + h, time), oscillator(mu - h, time));
        let fd = [(up[0] - down[0]) / (2.0 * h), (up[1] - down[1]) / (2.0 * h)];
        println!(
            "{time:>4}  {:>11.6}  {:>11.6}  {:>11.6}  {:>11.6}   ({:.6}, {:.6})",
            state[0], state[1], tangent[0], tangent[1], fd[0], fd[1]
        );
        for i in 0..2 {
            assert!(close(tangent[i], fd[i], 1e-6));
        }
    }

    println!("Lorenz at t = 1.5: d(state)/d(sigma, rho, beta)");
    let parameters = [10.0, 28.0, 8.0 / 3.0];
    let mut state = [0.0; 3];
    let (mut d_sigma, mut d_rho, mut d_beta) = ([0.0; 3], [0.0; 3], [0.0; 3]);
    lorenz_sensitivities(
        &parameters, &[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0],
        1.5,
        &mut state, &mut d_sigma, &mut d_rho, &mut d_beta,
    );
    for (name, index, column) in [("sigma", 0, d_sigma), ("rho", 1, d_rho), ("beta", 2, d_beta)] {
        let (mut up, mut down) = (parameters, parameters);
        up[index] += h;
        down[index] -= h;
        let (mut f_up, mut f_down) = ([0.0; 3], [0.0; 3]);
        lorenz(&up, 1.5, &mut f_up);
        lorenz(&down, 1.5, &mut f_down);
        println!("{name:>6}  {:>12.6}  {:>12.6}  {:>12.6}", column[0], column[1], column[2]);
        for i in 0..3 {
            assert!(close(column[i], (f_up[i] - f_down[i]) / (2.0 * h), 1e-5));
        }
    }
}
