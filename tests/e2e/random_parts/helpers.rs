#[derive(Clone, Copy)]
struct Body {
    p: f64,
    n: u32,
    q: [f64; 2],
}

impl Body {
    fn step(&mut self, k: f64) {
        for _ in 0..self.n {
            self.p += 0.1 * k * self.q[0];
            self.q.swap(0, 1);
            self.q[1] -= 0.2 * self.p;
        }
    }
}

#[inline(never)]
fn blend(a: f64, b: f64) -> f64 {
    if a > b { a * 0.3 + b.sin() } else { b * a.cos() }
}

fn recurse(v: f64, n: u32) -> f64 {
    if n == 0 { v } else { 0.5 * recurse(v.sin(), n - 1) + v }
}

#[inline(never)]
fn relax(values: &mut [f64], k: f64) {
    for i in 1..values.len() {
        let (left, right) = values.split_at_mut(i);
        right[0] += 0.3 * left[i - 1] * right[0].sin() * k.cos();
    }
}

#[derive(Clone, Copy)]
struct Mix {
    i: i32,
    f: f32,
}

#[derive(Clone, Copy)]
struct Two {
    a: f32,
    b: f32,
}

#[derive(Clone, Copy)]
enum Variant {
    One(f32),
    Both(f32, f32),
    Int(i32),
    Small { n: u16, x: f32 },
    Nothing,
}

fn variant(k: usize, a: f64, b: f64) -> Variant {
    match k % 5 {
        0 => Variant::One(a as f32),
        1 => Variant::Both(a as f32, b as f32),
        2 => Variant::Small { n: k as u16, x: b as f32 },
        3 => Variant::Int(k as i32),
        _ => Variant::Nothing,
    }
}

impl Variant {
    fn value(&self) -> f64 {
        match *self {
            Variant::One(a) => a.sin() as f64,
            Variant::Both(a, b) => (a * b) as f64,
            Variant::Int(i) => i as f64,
            Variant::Small { n, x } => x as f64 * (n as f64 + 1.0),
            Variant::Nothing => 0.25,
        }
    }
}

#[derive(Clone, Copy)]
struct Holder {
    n: u32,
    v: [f32; 3],
    o: Option<f32>,
    t: (f32, bool),
    d: f64,
    e: Variant,
}

impl Holder {
    fn value(&self) -> f64 {
        let single = self.v[0] * self.v[2] + self.o.unwrap_or(1.0) * self.t.0;
        single as f64 + self.d.cos() + self.e.value() * self.n as f64
    }
}

#[inline(never)]
fn through<T>(value: T) -> T {
    std::hint::black_box(value)
}

struct Machine {
    at: usize,
    ops: [u8; 4],
    cells: Vec<f64>,
}

impl Machine {
    #[inline(never)]
    fn run(&mut self, steps: usize, x: f64) {
        for step in 0..steps {
            let n = self.cells.len();
            match self.ops[step % 4] {
                0 => self.at = (self.at + 1) % n,
                1 => self.cells[self.at] *= x.cos(),
                2 => {
                    let other = (self.at + 2) % n;
                    self.cells.swap(self.at, other);
                }
                _ => self.cells[self.at] += 0.3 * x * self.cells[(self.at + 1) % n],
            }
        }
    }
}

#[inline(never)]
fn halves(values: &mut [f64], depth: u32) {
    if depth == 0 || values.len() < 2 {
        values.iter_mut().for_each(|v| *v = 0.9 * v.sin());
        return;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    halves(left, depth - 1);
    halves(right, depth - 1);
    right[0] += 0.4 * left[0] * right[0];
}

#[inline(never)]
fn pair(a: f64, b: f64) -> (f64, f64) {
    (a + b, a * b)
}

#[inline(never)]
fn reduce(values: &[f64]) -> f64 {
    let products: f64 = values.windows(2).map(|w| w[0] * w[1]).sum();
    products + values.iter().fold(0.0, |m, v| f64::max(m, *v))
}
