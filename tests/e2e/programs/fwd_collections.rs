//! Owned containers: VecDeque, HashMap lookups, Rc, linked lists, strings beside floats.

#![feature(autodiff)]

use std::autodiff::autodiff_forward;

use std::collections::VecDeque;
use std::rc::Rc;

#[autodiff_forward(moving_average_jvp, Dual, Dual)]
fn moving_average(x: &[f64]) -> f64 {
    let mut window = VecDeque::new();
    let mut sum = 0.0;
    for v in x {
        window.push_back(v * v);
        if window.len() > 3 {
            window.pop_front();
        }
        sum += window.iter().sum::<f64>() / window.len() as f64;
    }
    sum
}

enum List {
    Cons(f64, Box<List>),
    Nil,
}

fn build(x: &[f64]) -> List {
    match x {
        [] => List::Nil,
        [first, rest @ ..] => List::Cons(first * 2.0, Box::new(build(rest))),
    }
}

fn fold(list: &List) -> f64 {
    match list {
        List::Nil => 1.0,
        List::Cons(v, rest) => v * v + 0.5 * fold(rest),
    }
}

#[autodiff_forward(linked_list_jvp, Dual, Dual)]
fn linked_list(x: &[f64]) -> f64 {
    fold(&build(x))
}

#[autodiff_forward(shared_jvp, Dual, Dual)]
fn shared(x: &[f64]) -> f64 {
    let held = Rc::new(x.iter().map(|v| v.sin()).collect::<Vec<f64>>());
    let other = Rc::clone(&held);
    held.iter().zip(other.iter().rev()).map(|(a, b)| a * b).sum()
}

struct Named {
    name: String,
    value: f64,
}

#[autodiff_forward(named_jvp, Dual, Dual)]
fn named(x: &[f64]) -> f64 {
    let all: Vec<Named> =
        x.iter().enumerate().map(|(i, v)| Named { name: "x".repeat(i + 1), value: v * v }).collect();
    all.iter().map(|n| n.value * n.name.len() as f64).sum()
}

#[autodiff_forward(stack_machine_jvp, Dual, Dual)]
fn stack_machine(x: &[f64]) -> f64 {
    let mut stack = Vec::new();
    for op in ["0", "1", "*", "2", "+", "0", "*", "s"] {
        match op {
            "*" => {
                let (b, a) = (stack.pop().unwrap(), stack.pop().unwrap());
                stack.push(a * b);
            }
            "+" => {
                let (b, a): (f64, f64) = (stack.pop().unwrap(), stack.pop().unwrap());
                stack.push(a + b);
            }
            "s" => {
                let a: f64 = stack.pop().unwrap();
                stack.push(a.sin());
            }
            digit => stack.push(x[(digit.as_bytes()[0] - b'0') as usize]),
        }
    }
    stack[0]
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

fn check(name: &str, f: fn(&[f64]) -> f64, jvp: fn(&[f64], &[f64]) -> (f64, f64), n: usize) {
    let x = &[0.62, -0.35, 1.4, 0.81, -1.2, 0.27, 1.9][..n];
    for i in 0..n {
        let mut seed = vec![0.0; n];
        seed[i] = 1.0;
        let (value, tangent) = jvp(x, &seed);
        assert!(close(value, f(x)), "{name}: primal {value}, expected {}", f(x));
        let expected = slope(f, x, i);
        assert!(close(tangent, expected), "{name}, input {i}: {tangent}, expected {expected}");
    }
}

fn main() {
    check("moving_average", moving_average, moving_average_jvp, 6);
    check("linked_list", linked_list, linked_list_jvp, 4);
    check("shared", shared, shared_jvp, 4);
    check("named", named, named_jvp, 3);
    check("stack_machine", stack_machine, stack_machine_jvp, 3);
}
