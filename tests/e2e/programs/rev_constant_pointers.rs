//! Pointers to constants that meet pointers to active data: in choices, in containers, in structs, in copies.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

static TABLE: [f64; 3] = [7.0, 8.0, 9.0];

#[autodiff_reverse(chosen_vjp, Duplicated, Active)]
fn chosen(x: &[f64]) -> f64 {
    let values: &[f64] = if x[0] > 1.0 { x } else { &TABLE };
    values.iter().map(|v| v * v).sum::<f64>() + x[1]
}

#[autodiff_reverse(rows_vjp, Duplicated, Active)]
fn rows(x: &[f64]) -> f64 {
    let local = [1.0, 2.0];
    let all: Vec<&[f64]> = vec![x, &local, &[3.0, 4.0], &x[1..]];
    (0..all.len()).map(|i| all[i][0] * all[(i + 1) % 4][0]).sum()
}

struct Model<'a> {
    weights: &'a [f64],
    data: &'a [f64],
    links: [Option<&'a f64>; 2],
}

#[inline(never)]
fn evaluate(model: &Model) -> f64 {
    let dot: f64 = model.weights.iter().zip(model.data).map(|(a, b)| a * b).sum();
    dot + model.links.iter().flatten().map(|v| **v * **v).sum::<f64>()
}

#[autodiff_reverse(mixed_vjp, Duplicated, Const, Active)]
fn mixed(weights: &[f64], data: &[f64]) -> f64 {
    let model = Model { weights, data, links: [Some(&weights[2]), Some(&data[0])] };
    let copy = Model { weights: model.data, data: model.weights, links: [None, model.links[0]] };
    evaluate(&model) + 10.0 * evaluate(&copy)
}

#[autodiff_reverse(gathered_vjp, 2, Duplicated, Const, Active)]
fn gathered(x: &[f64], constant: &[f64]) -> f64 {
    let sources = [x, constant];
    let mut buffer = vec![0.0; 2 * x.len()];
    for (k, part) in buffer.chunks_mut(x.len()).enumerate() {
        part.copy_from_slice(sources[k]);
    }
    let head: [f64; 2] = sources[x.len() % 2][..2].try_into().unwrap();
    buffer.iter().zip(1..).map(|(v, k)| v * v * k as f64).sum::<f64>() + head[0] * head[1]
}

#[autodiff_reverse(scattered_vjp, Duplicated, Duplicated)]
fn scattered(x: &[f64], out: &mut [f64]) {
    let mut scratch = [5.0, 5.0];
    {
        let places: [&mut [f64]; 2] = [&mut scratch, out];
        for (place, v) in places.into_iter().zip(x) {
            place[0] = v * v;
            place[1] *= *v;
        }
    }
    out[0] += scratch[0] * scratch[1];
}

trait Layer {
    fn apply(&self, v: f64) -> f64;
}
struct Scale<'a>(&'a f64);
struct Shift(f64);
impl Layer for Scale<'_> {
    fn apply(&self, v: f64) -> f64 {
        self.0 * v
    }
}
impl Layer for Shift {
    fn apply(&self, v: f64) -> f64 {
        self.0 + v.sin()
    }
}

#[autodiff_reverse(layered_vjp, Duplicated, Const, Active)]
fn layered(x: &[f64], fixed: &f64) -> f64 {
    fn through(layer: &dyn Layer, v: f64) -> f64 {
        layer.apply(v)
    }
    through(&Scale(&x[0]), x[1]) * through(&Scale(fixed), x[0]) + through(&Shift(x[1]), x[0])
}

fn near(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12 * (1.0 + y.abs())), "{a:?} is not {b:?}");
}

fn main() {
    let mut g = [0.0; 3];
    assert_eq!(chosen_vjp(&[2.0, 3.0, 5.0], &mut g, 1.0), 41.0);
    near(&g, &[4.0, 7.0, 10.0]);
    let mut g = [0.0; 3];
    assert_eq!(chosen_vjp(&[0.5, 3.0, 5.0], &mut g, 1.0), 197.0);
    near(&g, &[0.0, 1.0, 0.0]);

    let mut g = [0.0; 3];
    assert_eq!(rows_vjp(&[2.0, 3.0, 5.0], &mut g, 1.0), 20.0);
    near(&g, &[4.0, 5.0, 0.0]);

    let mut g = [0.0; 3];
    assert_eq!(mixed_vjp(&[0.5, 1.0, 2.0], &mut g, &[3.0, 4.0, 5.0], 1.0), 15.5 + 13.0 + 10.0 * (15.5 + 4.0));
    near(&g, &[33.0, 44.0, 55.0 + 4.0 + 40.0]);

    let (mut a, mut b) = ([0.0; 3], [1.0; 3]);
    gathered_vjp(&[1.0, 2.0, 3.0], &mut a, &mut b, &[4.0, 5.0, 6.0], 1.0);
    near(&a, &[2.0, 8.0, 18.0]);
    near(&b, &[3.0, 9.0, 19.0]);
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    gathered_vjp(&[1.0, 2.0], &mut a, &mut b, &[4.0, 5.0], 1.0);
    near(&a, &[4.0, 9.0]);
    near(&b, &a);

    let (mut g, mut out, mut seed) = ([0.0; 2], [1.0, 4.0], [1.0, 1.0]);
    scattered_vjp(&[2.0, 3.0], &mut g, &mut out, &mut seed);
    assert_eq!(out, [9.0 + 4.0 * 10.0, 12.0]);
    near(&g, &[4.0 * 10.0 + 4.0 * 5.0, 6.0 + 4.0]);
    near(&seed, &[0.0, 3.0]);

    let mut g = [0.0; 2];
    layered_vjp(&[0.5, 2.0], &mut g, &3.0, 1.0);
    near(&g, &[2.0 * 0.5 * 2.0 * 3.0 + 0.5_f64.cos(), 0.5 * 0.5 * 3.0 + 1.0]);
}
