//! Much of the standard library, so that its code is read and written too.
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, mpsc};

pub trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> String;
}
pub struct Square(pub f64);
pub struct Circle {
    pub radius: f64,
    pub tag: i32,
}
impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
    fn name(&self) -> String {
        format!("square {}", self.0)
    }
}
impl Shape for Circle {
    fn area(&self) -> f64 {
        self.radius * self.radius * std::f64::consts::PI
    }
    fn name(&self) -> String {
        format!("circle {:?} {:>8.3}", self.tag, self.radius)
    }
}
pub fn total(shapes: &[Box<dyn Shape>]) -> (f64, String) {
    let names: Vec<String> = shapes.iter().map(|s| s.name()).collect();
    (shapes.iter().map(|s| s.area()).sum(), names.join(", "))
}
pub fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_string()).or_insert(0) += 1;
    }
    counts
}
pub fn trees(v: &[i64]) -> BTreeMap<i64, String> {
    v.iter().map(|x| (*x, x.to_string())).collect()
}
pub fn sorted(v: &mut Vec<f64>) {
    v.sort_by(|a, b| a.partial_cmp(b).unwrap());
    v.dedup();
    v.sort_unstable_by(|a, b| b.total_cmp(a));
}
pub fn wide(a: u128, b: u128) -> (u128, u128, i128) {
    (a.wrapping_mul(b), a / (b | 1), (a as i128) >> 3)
}
static COUNTER: AtomicU64 = AtomicU64::new(0);
thread_local! { static LOCAL: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![1, 2, 3]); }
pub fn atomics(x: &AtomicU64) -> u64 {
    fence(Ordering::SeqCst);
    let a = x.fetch_add(1, Ordering::AcqRel);
    let _ = x.compare_exchange(a, 5, Ordering::SeqCst, Ordering::Relaxed);
    let _ = x.compare_exchange_weak(a, 5, Ordering::SeqCst, Ordering::Relaxed);
    x.swap(2, Ordering::SeqCst) + COUNTER.load(Ordering::Relaxed) + x.fetch_max(7, Ordering::SeqCst)
}
pub fn locals() -> usize {
    LOCAL.with(|t| {
        t.borrow_mut().push(4);
        t.borrow().len()
    })
}
pub fn threads(n: u64) -> u64 {
    let sum = Arc::new(Mutex::new(0u64));
    let (sender, receiver) = mpsc::channel();
    let handles: Vec<_> = (0..n)
        .map(|i| {
            let (sum, sender) = (sum.clone(), sender.clone());
            std::thread::spawn(move || {
                *sum.lock().unwrap() += i;
                sender.send(i).unwrap();
            })
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
    drop(sender);
    let result = *sum.lock().unwrap();
    result + receiver.iter().sum::<u64>()
}
pub enum Value {
    Number(f64),
    Pair { x: i32, y: f64 },
    Text(String),
    Nothing,
}
pub fn matched(e: &Value) -> f64 {
    match e {
        Value::Number(x) => *x,
        Value::Pair { x, y } => *x as f64 * y,
        Value::Text(s) => s.parse().unwrap_or(0.5),
        Value::Nothing => panic!("no {}", 1),
    }
}
pub fn caught(v: Vec<String>) -> Result<f64, Box<dyn std::error::Error>> {
    let mut s = std::panic::catch_unwind(|| 3.0f64).unwrap_or(1.0);
    for x in v {
        s += x.trim().parse::<f64>()?;
    }
    Ok(s)
}
pub fn queue(n: usize) -> (VecDeque<f32>, HashSet<u16>) {
    let mut q = VecDeque::new();
    for i in 0..n {
        q.push_front(i as f32 * 0.25);
        if i % 3 == 0 {
            q.pop_back();
        }
    }
    let set = q.iter().map(|x| *x as u16).collect();
    (q, set)
}
pub fn written(v: &[f32]) -> String {
    let mut out = String::new();
    for (i, x) in v.iter().enumerate() {
        write!(out, "{i}:{x:e};").unwrap();
    }
    println!("{out}");
    out
}
#[cfg(target_arch = "x86_64")]
pub fn assembly(x: u64) -> u64 {
    let mut y: u64;
    unsafe { std::arch::asm!("lea {0}, [{1} + 1]", out(reg) y, in(reg) x) };
    y += 1;
    y
}
pub fn variadic(f: unsafe extern "C" fn(*const u8, ...) -> i32) -> i32 {
    unsafe { f(c"%d".as_ptr() as *const u8, 3i32, 2.5f64) }
}
pub fn closure(k: f64) -> Box<dyn Fn(f64) -> f64> {
    Box::new(move |x| x * k)
}
pub unsafe fn volatile(p: *mut u32) -> u32 {
    unsafe {
        p.write_volatile(3);
        p.read_volatile().rotate_left(5).swap_bytes().leading_zeros()
    }
}
