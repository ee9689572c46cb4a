//! An interpreter of a few instructions with a stack of calls.
#![forbid(unsafe_code)]

use std::hint::black_box;

const ROUNDS: u32 = 100;

#[derive(Clone, Copy)]
enum Op {
    Add(u8, u8),
    Xor(u8, u8),
    Multiply(u8),
    Shift(u8),
    JumpIfEven(u8),
    Call,
    Return,
    Count,
    Loop(u8),
}

const CODE: [Op; 16] = [
    Op::Add(1, 2),
    Op::Shift(1),
    Op::JumpIfEven(4),
    Op::Multiply(2),
    Op::Xor(2, 1),
    Op::Call,
    Op::Add(3, 1),
    Op::Shift(3),
    Op::JumpIfEven(10),
    Op::Multiply(3),
    Op::Count,
    Op::Loop(0),
    Op::Xor(4, 3),
    Op::Multiply(4),
    Op::Add(1, 4),
    Op::Return,
];

#[inline(never)]
fn step(registers: &mut [u64; 8], op: Op, pc: &mut usize, stack: &mut Vec<usize>) -> bool {
    let of = |at: u8| usize::from(at & 7);
    match op {
        Op::Add(a, b) => registers[of(a)] = registers[of(a)].wrapping_add(registers[of(b)]),
        Op::Xor(a, b) => registers[of(a)] ^= registers[of(b)],
        Op::Multiply(a) => registers[of(a)] = registers[of(a)].wrapping_mul(0x9e37_79b9),
        Op::Shift(a) => registers[of(a)] ^= registers[of(a)] >> 7,
        Op::Count => registers[0] -= 1,
        Op::JumpIfEven(to) if registers[1] % 2 == 0 => {
            *pc = to.into();
            return true;
        }
        Op::JumpIfEven(_) => {}
        Op::Call => {
            stack.push(*pc + 1);
            *pc = 12;
            return true;
        }
        Op::Return => {
            *pc = stack.pop().unwrap();
            return true;
        }
        Op::Loop(_) if registers[0] == 0 => return false,
        Op::Loop(to) => {
            *pc = to.into();
            return true;
        }
    }
    *pc += 1;
    true
}

fn main() {
    let mut registers = [0, 7, 11, 13, 17, 19, 23, 29];
    let mut stack = vec![];
    for _ in 0..ROUNDS {
        registers[0] = 2000;
        let mut pc = 0;
        while step(&mut registers, black_box(CODE[pc]), &mut pc, &mut stack) {}
    }
    println!("{:x}", registers[1] ^ registers[3]);
}
