//! Short functions whose time depends on their place.
#![forbid(unsafe_code)]

#[inline(never)]
pub fn mix(n: u64) -> u64 {
    (0..100).fold(n, |h, _| {
        (h ^ (h >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

#[inline(never)]
pub fn walk(n: u64) -> u64 {
    let (mut n, mut steps) = (n | 1, 0);
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[inline(never)]
pub fn words(text: &[u8]) -> u64 {
    let (mut words, mut inside) = (0, false);
    for byte in text {
        match byte % 7 {
            0 => inside = false,
            1 if !inside => {
                words += 1;
                inside = true;
            }
            _ => {}
        }
    }
    words
}

#[inline(never)]
pub fn sort(numbers: &mut [u64]) -> u64 {
    for at in 1..numbers.len() {
        let (one, mut to) = (numbers[at], at);
        while to > 0 && numbers[to - 1] > one {
            numbers[to] = numbers[to - 1];
            to -= 1;
        }
        numbers[to] = one;
    }
    numbers[numbers.len() / 2]
}
