//! Derivatives against differences. `SINGLE` of the program is the tolerance in single precision.

pub type Lanes = fn(&[f64], &[f64]) -> [f64; 4];

/// Differences of the fourth order along a direction.
fn slope(f: fn(&[f64]) -> f64, x: &[f64], s: &[f64], h: f64) -> f64 {
    let at = |t: f64| f(&x.iter().zip(s).map(|(a, b)| a + t * b).collect::<Vec<f64>>());
    (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
}

/// Against differences; lanes against single calls, bit for bit.
pub fn check(
    name: &str,
    n: usize,
    single: bool,
    f: fn(&[f64]) -> f64,
    jvp: fn(&[f64], &[f64]) -> (f64, f64),
    lanes: Option<Lanes>,
) {
    let (h, tolerance) = if single { (3e-2, crate::SINGLE) } else { (1e-4, 1e-7) };
    let x = &[0.62, -0.35, 1.4, 0.81, -1.2, 0.27, 1.9, -0.44][..n];
    for first in (0..n).step_by(3) {
        let seeds: Vec<f64> = (0..3 * n).map(|k| if k % n == (first + k / n) % n { 1.0 } else { 0.0 }).collect();
        let all = lanes.map(|f| f(x, &seeds));
        for (lane, seed) in seeds.chunks(n).enumerate() {
            let (value, tangent) = jvp(x, seed);
            let expected = slope(f, x, seed, h);
            assert_eq!(value.to_bits(), f(x).to_bits(), "{name}: primal");
            let off = (tangent - expected).abs() / (1.0 + expected.abs());
            assert!(off < tolerance, "{name}, {seed:?}: {tangent}, expected {expected}");
            if let Some(all) = all {
                let (primal, found) = (all[0].to_bits(), all[lane + 1].to_bits());
                assert_eq!((primal, found), (value.to_bits(), tangent.to_bits()), "{name}, lane {lane}");
            }
        }
    }
}
