//! Exceptions: page faults go to the address space, all others end the machine.
//!
//! They have a stack of their own, by the task state segment: an exception may come where the code
//! that it interrupts keeps data below its stack pointer, or where that stack has no room.

use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::Access;

use crate::direct::PAGE;
use crate::{boot, vmspace};

/// Exceptions that there are.
const VECTORS: usize = 32;
const PAGE_FAULT: usize = 14;
/// Those that come with a word about their cause.
const WITH_CODE: u32 = 1 << 8 | 0x1f << 10 | 1 << 17 | 1 << 21 | 1 << 29 | 1 << 30;

/// The error of a page fault: it was a write; it was an instruction.
const WRITE: u64 = 1 << 1;
const FETCH: u64 = 1 << 4;

/// The selectors of the descriptors below.
const CODE: u64 = 8;
const TASK: u16 = 16;
/// Words of a task state segment, and the two that say where the first of its stacks ends.
const TASK_WORDS: usize = 26;
const FIRST_STACK: usize = 9;

global_asm!(
    r#"
    .global exception_stack_end, exception_vectors, exception_page_fault
    .global exception_load, exception_store, exception_refused

    .section .bss.exception, "aw", @nobits
    .balign 16
exception_stack:
    .skip 128 * 1024
exception_stack_end:

    .section .text.exception, "ax", @progbits
    .balign 16
exception_vectors:
    .irp eight, 0, 8, 16, 24
    .irp one, 0, 1, 2, 3, 4, 5, 6, 7
    .balign 16
    push \eight + \one
    jmp exception_other
    .endr
    .endr

exception_other:
    mov rdi, rsp
    mov rsi, cr2
    and rsp, -16
    cld
    call {other}
    ud2

    // What the callee may change is saved; then the instruction is tried again.
exception_page_fault:
    push rax
    push rcx
    push rdx
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    mov rdi, cr2
    mov rsi, [rsp + 72]
    lea rdx, [rsp + 80]
    sub rsp, 520
    fxsave [rsp]
    cld
    call {page_fault}
    fxrstor [rsp]
    add rsp, 520
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rdx
    pop rcx
    pop rax
    add rsp, 8
    iretq

    // Load and store a byte; -1 where they cannot.
exception_load:
    movzx eax, byte ptr [rdi]
    ret
exception_store:
    mov [rdi], sil
    xor eax, eax
    ret
exception_refused:
    mov eax, -1
    ret
"#,
    other = sym other,
    page_fault = sym page_fault,
);

unsafe extern "C" {
    static exception_stack_end: u8;
    static exception_vectors: u8;
    static exception_page_fault: u8;
    static exception_refused: u8;
    fn exception_load(at: u64) -> i32;
    fn exception_store(at: u64, byte: u8) -> i32;
}

/// Words that the CPU reads on its own.
#[repr(align(16))]
struct Words<T, const N: usize>(UnsafeCell<[T; N]>);

// SAFETY: they are written once, by `catch`, before the CPU is told of them.
unsafe impl<T: Send, const N: usize> Sync for Words<T, N> {}

static GATES: Words<u128, VECTORS> = Words(UnsafeCell::new([0; VECTORS]));
static TASK_STATE: Words<u32, TASK_WORDS> = Words(UnsafeCell::new([0; TASK_WORDS]));
/// None, the code's as at boot, and two words for the task state segment's.
static DESCRIPTORS: Words<u64, 4> = Words(UnsafeCell::new([0, 0x00af_9b00_0000_ffff, 0, 0]));

/// The operand of `lidt` and `lgdt`.
#[repr(C, packed)]
struct Pointer {
    last: u16,
    start: u64,
}

impl Pointer {
    fn to<T, const N: usize>(words: &'static Words<T, N>) -> Self {
        Self {
            last: (size_of::<[T; N]>() - 1) as u16,
            start: words.0.get().addr() as u64,
        }
    }
}

/// The gate to a handler, with interrupts off, on the first of the stacks.
fn gate(handler: u64) -> u128 {
    let low = handler & 0xffff | CODE << 16 | 1 << 32 | 0x8e << 40 | (handler >> 16 & 0xffff) << 48;
    u128::from(low) | u128::from(handler >> 32) << 64
}

/// Lets exceptions come here.
pub(crate) fn catch() {
    let vectors = (&raw const exception_vectors).addr() as u64;
    let mut gates: [u128; VECTORS] = core::array::from_fn(|at| gate(vectors + 16 * at as u64));
    gates[PAGE_FAULT] = gate((&raw const exception_page_fault).addr() as u64);
    // SAFETY: the CPU has not been told of them yet, and nobody else looks.
    unsafe { *GATES.0.get() = gates };

    let stack = (&raw const exception_stack_end).addr() as u64;
    let mut task = [0; TASK_WORDS];
    task[FIRST_STACK] = stack as u32;
    task[FIRST_STACK + 1] = (stack >> 32) as u32;
    // SAFETY: as above.
    unsafe { *TASK_STATE.0.get() = task };

    let start = TASK_STATE.0.get().addr() as u64;
    let len = size_of::<[u32; TASK_WORDS]>() as u64;
    let base = ((start & 0xff_ffff) << 16) | ((start >> 24 & 0xff) << 56);
    let task = [(len - 1) | base | (0x89 << 40), start >> 32];
    let descriptors = DESCRIPTORS.0.get().cast::<u64>();
    // SAFETY: as above; there are four words.
    unsafe { descriptors.wrapping_add(2).cast::<[u64; 2]>().write(task) };

    let (gates, descriptors) = (Pointer::to(&GATES), Pointer::to(&DESCRIPTORS));
    // SAFETY: all of it is as the CPU wants it, and stays; the code's selector is as before.
    unsafe {
        asm!(
            "lgdt [{descriptors}]", "ltr {task:x}", "lidt [{gates}]",
            descriptors = in(reg) &raw const descriptors,
            task = in(reg) TASK,
            gates = in(reg) &raw const gates,
            options(nostack, preserves_flags),
        );
    }
}

/// Loads a byte, if the address space lets it.
pub(crate) fn load(at: VirtAddr) -> Option<u8> {
    // SAFETY: loading a byte of memory changes nothing; what is refused comes back as -1.
    u8::try_from(unsafe { exception_load(at.raw()) }).ok()
}

/// Stores a byte, and says whether the address space let it.
///
/// # Safety
/// Nothing lies at the address, or memory to which no reference leads.
pub(crate) unsafe fn store(at: VirtAddr, byte: u8) -> bool {
    // SAFETY: the caller's promise; what is refused comes back as -1.
    unsafe { exception_store(at.raw(), byte) == 0 }
}

/// A page fault at `address`; `return_to` is where the CPU goes on.
extern "C" fn page_fault(address: u64, error: u64, return_to: &mut u64) {
    let access = match (error & FETCH != 0, error & WRITE != 0) {
        (true, _) => Access::Execute,
        (_, true) => Access::Write,
        (_, false) => Access::Read,
    };
    let refused = match vmspace::serve(VirtAddr::new(address), access) {
        Ok(()) => return,
        Err(refused) => refused,
    };
    let probes = [exception_load as *const (), exception_store as *const ()];
    let from = *return_to;
    let is_probe = probes.iter().any(|probe| probe.addr() as u64 == from);
    let is_below_stack = address & !(PAGE - 1) == boot::guard().raw();
    assert!(!is_below_stack, "no room on the stack, at {from:#x}");
    assert!(
        is_probe,
        "{access:?} of {address:#x} from {from:#x}: {refused}"
    );
    *return_to = (&raw const exception_refused).addr() as u64;
}

/// Any other exception; the words on its stack.
extern "C" fn other(stack: *const u64, address: u64) -> ! {
    // SAFETY: the vector's number was pushed last.
    let vector = unsafe { stack.read() };
    let has_code = WITH_CODE >> vector & 1;
    let from = stack.wrapping_add(1 + has_code as usize);
    // SAFETY: the CPU has pushed the place, and then the cause, if there is one.
    let from = unsafe { from.read() };
    panic!("exception {vector} at {from:#x}; the last page fault was for {address:#x}")
}
