//! Functions with a C interface, to be run before and after.
#[unsafe(no_mangle)]
pub extern "C" fn mathematics(x: f64, y: f32, n: i32) -> f64 {
    x.sin().mul_add(x.cos(), x.powi(n)) + x.abs().powf(2.5) + x.tanh() + (y.exp().ln_1p()) as f64
        + x.hypot(2.0) + x.atan2(1.0) + x.rem_euclid(3.0) + x.round() + x.signum()
        + x.copysign(-1.0) + x.clamp(0.0, 1.0) + x.max(0.25) + (y as i32) as f64
        + (x as u8) as f64 + x.cbrt() + x.to_bits().count_ones() as f64
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn axpy(a: f64, x: *const f64, y: *mut f64, n: usize) {
    let (x, y) = unsafe { (std::slice::from_raw_parts(x, n), std::slice::from_raw_parts_mut(y, n)) };
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn product(c: *mut [[f64; 4]; 4], a: &[[f64; 4]; 4], b: &[[f64; 4]; 4]) {
    let c = unsafe { &mut *c };
    *c = [[0.0; 4]; 4];
    for i in 0..4 {
        for j in 0..4 {
            for k in 0..4 {
                c[i][j] += a[i][k] * b[k][j];
            }
        }
    }
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn largest(x: *const f32, n: usize) -> f32 {
    unsafe { std::slice::from_raw_parts(x, n) }.iter().copied().fold(f32::MIN, f32::max)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn count_bytes(x: *const u8, n: usize) -> usize {
    unsafe { std::slice::from_raw_parts(x, n) }.iter().filter(|c| **c == b'a').count()
}
#[unsafe(no_mangle)]
pub extern "C" fn wide_division(a: u64, b: u64) -> u64 {
    let wide = (a as u128) << 40 | 12345;
    (wide / (b as u128 | 1) % 1_000_007) as u64
}
#[unsafe(no_mangle)]
pub extern "C" fn classify(x: u32) -> u32 {
    match x {
        0 => 3,
        1 => 7,
        7 => 1,
        100 => 12,
        101 => x * 2,
        1000..=2000 => x - 999,
        _ => 0,
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn vectors(n: usize) -> f64 {
    let mut v: Vec<f64> = (0..n).map(|i| (i * 7919 % 101) as f64 * 0.5).collect();
    v.sort_by(|a, b| a.partial_cmp(b).unwrap());
    v.insert(n / 2, -1.5);
    v.windows(2).map(|w| w[0] * w[1]).sum::<f64>() + v.iter().rev().step_by(3).sum::<f64>()
}
#[unsafe(no_mangle)]
pub extern "C" fn checked(a: i32, b: i32) -> i32 {
    a.checked_mul(b).and_then(|x| x.checked_add(7)).map_or(-1, |x| x.saturating_sub(2))
}
#[unsafe(no_mangle)]
pub extern "C" fn fibonacci(n: u32) -> u64 {
    if n < 2 { n as u64 } else { fibonacci(n - 1) + fibonacci(n - 2) }
}
