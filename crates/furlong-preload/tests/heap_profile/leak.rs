//! Leaks 20 MB in one function, and frees 40 MB in another.

#[inline(never)]
fn planted_leak(size: usize) -> &'static mut [u8] {
    std::hint::black_box(Box::leak(vec![1; size].into_boxed_slice()))
}

#[inline(never)]
fn frees_all(size: usize) -> usize {
    std::hint::black_box(vec![1_u8; size]).len()
}

fn main() {
    let mut sum = 0;
    for _ in 0..100_000 {
        sum += planted_leak(200).len() + frees_all(400);
    }
    assert_eq!(sum, 60_000_000);
}
