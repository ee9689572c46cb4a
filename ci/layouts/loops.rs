//! Short loops: four scans of a text, and a sort by insertion.
#![forbid(unsafe_code)]

use std::hint::black_box;

const ROUNDS: u32 = 100;

macro_rules! scans {
    ($($name:ident $n:literal),*) => {
        $(
            #[inline(never)]
            fn $name(text: &[u8]) -> u64 {
                let (mut words, mut inside) = (0, false);
                for byte in text {
                    match byte % $n {
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
        )*
        fn all(text: &[u8]) -> u64 {
            0 $(+ $name(text))*
        }
    };
}
scans!(three 3, five 5, seven 7, eleven 11);

#[inline(never)]
fn sort(numbers: &mut [u32]) {
    for at in 1..numbers.len() {
        let (one, mut to) = (numbers[at], at);
        while to > 0 && numbers[to - 1] > one {
            numbers[to] = numbers[to - 1];
            to -= 1;
        }
        numbers[to] = one;
    }
}

fn main() {
    let mut seed = 1u32;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed
    };
    let text: Vec<u8> = (0..200).map(|_| (next() >> 24) as u8).collect();
    let mut sum = 0;
    for _ in 0..ROUNDS {
        for _ in 0..50 {
            sum += all(black_box(&text));
        }
        for _ in 0..15 {
            let mut numbers: Vec<u32> = (0..100).map(|_| next()).collect();
            sort(black_box(&mut numbers));
            sum += u64::from(numbers[50]);
        }
    }
    println!("{sum}");
}
