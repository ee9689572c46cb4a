//! The attacks: each is a mistake or a hostile act of a program, and the program's further run.

use core::ffi::c_void;
use core::hint::black_box;
use std::sync::{Barrier, Mutex};
use std::{process, thread};

/// The exit code of an attack after which the allocator handed out memory that was not free.
pub(crate) const SUBVERTED: i32 = 3;

/// The number of blocks allocated before the attack; the middle one is attacked.
const AROUND: usize = 9;

/// Memory that is not a block, to which an attacker wants to lead the allocator.
static TARGET: [u128; 1024] = [0; 1024];

/// A pointer of the program, which may be wrong.
#[derive(Clone, Copy)]
struct Pointer(*mut u8);

// SAFETY: threads of an attack take turns.
unsafe impl Send for Pointer {}

/// The attacked block.
#[derive(Clone, Copy)]
pub(crate) struct Victim {
    block: Pointer,
    size: usize,
    /// True if a thread other than the one that allocated the block attacks it.
    elsewhere: bool,
}

/// An act on the victim.
#[derive(Clone, Copy)]
enum Act {
    /// Writes so many bytes from an offset on.
    Write(isize, usize),
    /// Copies so many bytes to an offset.
    Copy(isize, usize),
    /// Writes a byte to a block of no bytes.
    WriteNothing,
    /// Writes an address over the first word.
    Link(usize),
    /// Frees the address at an offset.
    Free(usize),
    /// Frees another address.
    FreeAt(*mut u8),
    /// Frees with this size.
    FreeSized(usize),
}

// SAFETY: an address outside the block, or none.
unsafe impl Send for Act {}

impl Act {
    fn on(self, block: Pointer) {
        match self {
            Self::Write(offset, len) => {
                for at in 0..len {
                    let byte = block.0.wrapping_offset(offset).wrapping_add(at);
                    // SAFETY: none. This is the attack.
                    unsafe { byte.write_volatile(0x41) };
                }
            }
            Self::Copy(offset, len) => copy(block.0.wrapping_offset(offset), len),
            Self::WriteNothing => {
                let nothing = malloc(0);
                // SAFETY: none.
                unsafe { nothing.write_volatile(0x41) };
                free(nothing);
            }
            // SAFETY: none. Many allocators keep their links there.
            Self::Link(to) => unsafe { block.0.cast::<usize>().write_volatile(to) },
            Self::Free(offset) => free(block.0.wrapping_add(offset)),
            Self::FreeAt(address) => free(address),
            Self::FreeSized(size) => free_sized(block.0, size),
        }
    }
}

/// Turns of the other thread, which starts before the attack and allocates nothing during it.
static TURNS: [Barrier; 2] = [const { Barrier::new(2) }; 2];
static NEXT: Mutex<Option<(Act, Pointer)>> = Mutex::new(None);

fn other_thread() {
    // Gives the thread a heap before the attack.
    free(malloc(48));
    TURNS[0].wait();
    if let Some((act, block)) = NEXT.lock().expect("nobody panics with it").take() {
        act.on(block);
    }
    TURNS[1].wait();
}

impl Victim {
    fn act(self, act: Act) {
        if !self.elsewhere {
            return act.on(self.block);
        }
        *NEXT.lock().expect("nobody panics with it") = Some((act, self.block));
        for turn in &TURNS {
            turn.wait();
        }
    }

    fn free(self) {
        free(self.block.0);
    }
}

fn malloc(size: usize) -> *mut u8 {
    // SAFETY: no contract.
    unsafe { libc::malloc(size) }.cast()
}

fn free(block: *mut u8) {
    // SAFETY: none. Some of the pointers freed here are not blocks.
    unsafe { libc::free(block.cast()) };
}

/// Copies zeros to an address by the C library's function.
fn copy(to: *mut u8, len: usize) {
    let zeros = vec![0_u8; black_box(len)];
    // SAFETY: none. The bytes are those of another block.
    unsafe { libc::memcpy(to.cast(), zeros.as_ptr().cast(), zeros.len()) };
}

/// Frees with a size, if the allocator has such a function.
fn free_sized(block: *mut u8, size: usize) {
    // SAFETY: a name that ends with a zero.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"free_sized".as_ptr()) };
    if function.is_null() {
        return free(block);
    }
    // SAFETY: the function of this name in C.
    let function: unsafe extern "C" fn(*mut c_void, usize) =
        unsafe { core::mem::transmute(function) };
    // SAFETY: none. The size is wrong.
    unsafe { function(block.cast(), size) };
}

type Deed = fn(Victim);

/// Each attack with its name.
pub(crate) const ATTACKS: [(&str, Deed); 15] = [
    ("double free", |victim| {
        victim.free();
        victim.act(Act::Free(0));
    }),
    ("invalid pointer", |victim| {
        let nowhere = core::ptr::without_provenance_mut(0x1234_5670);
        victim.act(Act::FreeAt(nowhere));
    }),
    ("interior pointer", |victim| {
        victim.act(Act::Free(victim.size / 2 / 16 * 16));
    }),
    ("foreign pointer", |victim| {
        victim.act(Act::FreeAt((&raw const TARGET[64]).cast_mut().cast()));
    }),
    ("overflow by 1", |victim| {
        victim.act(Act::Write(victim.size as isize, 1));
    }),
    ("overflow by 8", |victim| {
        victim.act(Act::Write(victim.size as isize, 8));
    }),
    ("overflow by a page", |victim| {
        victim.act(Act::Write(victim.size as isize, 4096));
    }),
    ("copy past the end", |victim| {
        victim.act(Act::Copy(0, victim.size + 1));
    }),
    ("copy in front", |victim| {
        victim.act(Act::Copy(-1, victim.size));
    }),
    ("stray write", |victim| {
        victim.act(Act::Write(victim.size as isize + (1 << 20), 1));
    }),
    ("write to no bytes", |victim| victim.act(Act::WriteNothing)),
    ("underflow", |victim| victim.act(Act::Write(-8, 8))),
    ("use after free", |victim| {
        victim.free();
        victim.act(Act::Write(24, 8));
    }),
    ("link overwrite", |victim| {
        victim.free();
        victim.act(Act::Link((&raw const TARGET[64]).addr()));
    }),
    ("size mismatch", |victim| {
        victim.act(Act::FreeSized(victim.size * 2));
    }),
];

/// Attacks in this process, and then continues as a program would.
pub(crate) fn run(attack: usize, size: usize, elsewhere: bool) {
    if elsewhere {
        thread::spawn(other_thread);
    }
    let blocks: Vec<Pointer> = (0..AROUND).map(|_| Pointer(malloc(size))).collect();
    for block in &blocks {
        // SAFETY: a block of this size.
        unsafe { block.0.write_bytes(0x20, size) };
    }
    let victim = Victim {
        block: blocks[AROUND / 2],
        size,
        elsewhere,
    };
    let (name, deed) = ATTACKS[attack];
    deed(victim);
    let is_free = [
        "double free",
        "use after free",
        "link overwrite",
        "size mismatch",
    ];
    let rest = blocks.iter().enumerate();
    for (at, block) in rest {
        if at != AROUND / 2 || !is_free.contains(&name) {
            free(block.0);
        }
    }
    go_on(size);
}

/// Allocates and frees; ends the process if a block is handed out twice, or lies in the target.
fn go_on(size: usize) {
    let target = (&raw const TARGET).addr();
    let target = target..target + size_of_val(&TARGET);
    let mut held: Vec<Pointer> = Vec::with_capacity(32);
    let rounds = if size > 65_536 { 200 } else { 2000 };
    for round in 0..rounds {
        let block = malloc(size);
        let twice = held.iter().any(|other| other.0 == block);
        if twice || target.contains(&block.addr()) {
            process::exit(SUBVERTED);
        }
        // SAFETY: a block of this size.
        unsafe { block.write_volatile(1) };
        held.push(Pointer(block));
        if held.len() == 32 {
            free(held.swap_remove(round * 7 % 32).0);
        }
    }
    for block in held {
        free(block.0);
    }
}
