const WEIGHTS: [f64; 3] = [0.7, -1.1, 0.4];

fn weigh(x: &[f64]) -> f64 {
    x.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum()
}

type Primal = fn(&[f64; 3]) -> f64;
type Forward = fn(&[f64; 3], &[f64; 3]) -> (f64, f64);
type Lanes = fn(&[f64; 3], &[f64; 3], &[f64; 3], &[f64; 3]) -> [f64; 4];
type Reverse = fn(&[f64; 3], &mut [f64; 3], f64) -> f64;

/// The first lanes of a batch in the order in which `check` wants them.
fn exchange(all: [f64; 4]) -> [f64; 4] {
    [all[0], all[3], all[2], all[1]]
}

fn slope(f: Primal, x: &[f64; 3], i: usize, h: f64) -> f64 {
    let (mut up, mut down) = (*x, *x);
    up[i] += h;
    down[i] -= h;
    (f(&up) - f(&down)) / (2.0 * h)
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// The number of disagreements.
fn check(
    name: &str, slack: f64, f: Primal, twin: Primal, forward: Forward, lanes: Lanes, reverse: Option<Reverse>,
) -> usize {
    let mut wrong = 0;
    for x in [[0.62, -0.35, 1.4], [1.21, 0.77, -0.9], [-1.33, 0.18, 0.49]] {
        let mut gradient = [0.0; 3];
        let value = reverse.map_or(f(&x), |reverse| reverse(&x, &mut gradient, 1.0));
        let all = lanes(&x, &[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]);
        for i in 0..3 {
            let mut seed = [0.0; 3];
            seed[i] = 1.0;
            let (y, tangent) = forward(&x, &seed);
            if reverse.is_none() {
                gradient[i] = tangent;
            }
            // Differences of single-precision steps say nothing; the twin's steps are all in double precision.
            let (fine, coarse) = (slope(twin, &x, i, 1e-6), slope(twin, &x, i, 3e-6));
            let smooth = close(fine, coarse, 1e-6);
            let good = close(y, f(&x), 1e-13)
                && close(value, y, 1e-13)
                && close(all[0], y, 1e-13)
                && close(all[1 + i], tangent, 1e-11 * slack)
                && close(gradient[i], tangent, 1e-10 * slack)
                && (!smooth || close(tangent, fine, if slack == 1.0 { 1e-5 } else { 1e-3 }));
            if !good {
                wrong += 1;
                println!(
                    "{name} at {x:?}, input {i}: primal {} {y} {value} {}, forward {tangent}, lane {}, \
                     reverse {}, finite difference {fine}",
                    f(&x), all[0], all[1 + i], gradient[i]
                );
            }
        }
    }
    wrong
}
