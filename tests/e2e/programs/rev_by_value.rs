//! Active arrays, tuples and structs by value; seeds of aggregate results.

#![feature(autodiff)]

use std::autodiff::autodiff_reverse;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

#[autodiff_reverse(sum_vjp, Active, Active)]
fn sum(x: [f64; 4]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[autodiff_reverse(pair_vjp, Active, Active)]
fn pair(p: (f64, f64)) -> (f64, f64) {
    (p.0 * p.1, p.0 + 3.0 * p.1)
}

#[autodiff_reverse(distance_vjp, Active, Active, Active)]
fn distance(a: Point, b: Point) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

#[autodiff_reverse(polar_vjp, Active, Active, Active)]
fn polar(r: f64, angle: f64) -> Point {
    Point { x: r * angle.cos(), y: r * angle.sin() }
}

#[autodiff_reverse(mixed_vjp, Active, Active, Active, ActiveOnly)]
fn mixed(a: f32, b: f64, c: f32) -> f64 {
    (a * c) as f64 * b
}

#[autodiff_reverse(unit_vjp, Active, Active, Duplicated)]
fn unit(u: f64, v: f64, out: &mut f64) {
    *out = u * u * v;
}

#[autodiff_reverse(explicit_unit_vjp, Active, Duplicated)]
fn explicit_unit(u: f64, out: &mut f64) -> () {
    *out = u * u;
}

#[autodiff_reverse(constant_vjp, Active, Const)]
fn constant(u: f64) -> f64 {
    u * u
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Circle(f64),
    Rectangle(f64, f64),
    Nothing,
}

#[autodiff_reverse(area_vjp, Active, Active)]
fn area(shape: Shape) -> f64 {
    match shape {
        Shape::Circle(r) => r * r,
        Shape::Rectangle(a, b) => a * b,
        Shape::Nothing => 0.0,
    }
}

#[autodiff_reverse(optional_vjp, Active, Active, Active)]
fn optional(x: Option<f64>, power: i32) -> f64 {
    x.map_or(1.0, |v| v.powi(power))
}

#[autodiff_reverse(from_bits_vjp, Duplicated, Active)]
fn from_bits(x: &[u64]) -> f64 {
    x.iter().map(|bits| f64::from_bits(*bits).powi(2)).sum()
}

fn main() {
    assert_eq!(area_vjp(Shape::Rectangle(2.0, 3.0), 1.0), (6.0, Shape::Rectangle(3.0, 2.0)));
    assert_eq!(area_vjp(Shape::Circle(2.0), 0.5), (4.0, Shape::Circle(2.0)));
    assert_eq!(area_vjp(Shape::Nothing, 1.0), (0.0, Shape::Nothing));
    assert_eq!(optional_vjp(Some(2.0), 3, 1.0), (8.0, Some(12.0), 0));
    assert_eq!(optional_vjp(None, 3, 1.0), (1.0, None, 0));
    let mut gradient = [0u64; 2];
    assert_eq!(from_bits_vjp(&[2.0_f64.to_bits(), 3.0_f64.to_bits()], &mut gradient, 1.0), 13.0);
    assert_eq!(gradient.map(f64::from_bits), [4.0, 6.0]);
    assert_eq!(sum_vjp([1.0, 2.0, 3.0, 4.0], 1.0), (30.0, [2.0, 4.0, 6.0, 8.0]));
    assert_eq!(pair_vjp((2.0, 5.0), (1.0, 10.0)), ((10.0, 17.0), (15.0, 32.0)));
    let (d, da, db) = distance_vjp(Point { x: 3.0, y: 0.0 }, Point { x: 0.0, y: 4.0 }, 10.0);
    assert_eq!(d, 5.0);
    assert!((da.x - 6.0).abs() < 1e-14 && (da.y + 8.0).abs() < 1e-14);
    assert_eq!((db.x, db.y), (-da.x, -da.y));
    let (p, dr, da) = polar_vjp(2.0, 0.5, Point { x: 1.0, y: 0.0 });
    assert_eq!(p, Point { x: 2.0 * 0.5_f64.cos(), y: 2.0 * 0.5_f64.sin() });
    assert!((dr - 0.5_f64.cos()).abs() < 1e-15 && (da + 2.0 * 0.5_f64.sin()).abs() < 1e-15);
    assert_eq!(mixed_vjp(2.0, 3.0, 4.0, 1.0), (12.0, 8.0, 6.0));
    let (mut out, mut dout) = (0.0, 2.0);
    assert_eq!(unit_vjp(3.0, 5.0, &mut out, &mut dout), (60.0, 18.0));
    assert_eq!((out, dout), (45.0, 0.0));
    let (mut out, mut dout) = (0.0, 1.0);
    assert_eq!(explicit_unit_vjp(3.0, &mut out, &mut dout), ((), 6.0));
    assert_eq!(constant_vjp(3.0), (9.0, 0.0));
}
