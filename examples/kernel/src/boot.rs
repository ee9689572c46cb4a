//! The way in: from the loader's 32 bits to `main` in 64.
//!
//! The loader finds the entry in an ELF note (PVH: `XEN_ELFNOTE_PHYS32_ENTRY`) and jumps there in
//! protected mode, paging off, with the address of its start info in `ebx`. From there on:
//!
//! - the first 4 GiB are mapped where they are, in pages of 2 MiB; the last of these GiB, where
//!   devices are, uncached;
//! - SSE is on, for code that was compiled for an operating system uses it;
//! - writes to read-only pages are refused to the kernel too, and pages can be not executable;
//! - interrupts stay off, for the same code keeps data below its stack pointer (the red zone),
//!   where an interrupt handler would write. Exceptions have a stack of their own.

use core::arch::global_asm;

use furlong::addr::PhysAddr;

use crate::start_info::MemoryMap;
use crate::{exception, main};

global_asm!(
    r#"
    // Bytes of the name, bytes of the entry's address, the note's type.
    .section .note.pvh, "a", @note
    .balign 4
    .long 4
    .long 8
    .long 18
    .asciz "Xen"
    .quad enter

    .section .bss.boot, "aw", @nobits
    .balign 4096
level4:
    .skip 4096
level3:
    .skip 4096
level2:
    .skip 4 * 4096
    .global stack_guard
stack_guard:
    .skip 4096
    .skip 256 * 1024
stack_end:

    // None, and one for 64-bit code.
    .section .rodata.boot, "a", @progbits
    .balign 8
descriptors:
    .quad 0
    .quad 0x00af9b000000ffff
descriptors_end:
descriptors_pointer:
    .word descriptors_end - descriptors - 1
    .quad descriptors

    .section .text.boot, "ax", @progbits
    .code32
    .global enter
enter:
    cli
    cld
    mov esp, offset stack_end
    mov edi, ebx

    // Entries that are present and writable; one table above the other.
    mov eax, offset level3
    or eax, 3
    mov [level4], eax
    mov eax, offset level2
    or eax, 3
    xor ecx, ecx
2:  mov [level3 + ecx * 8], eax
    add eax, 4096
    inc ecx
    cmp ecx, 4
    jne 2b

    // 2048 pages of 2 MiB, uncached from 3 GiB on.
    mov eax, 0x83
    xor ecx, ecx
3:  mov [level2 + ecx * 8], eax
    add eax, 0x200000
    inc ecx
    cmp ecx, 1536
    jne 4f
    or eax, 0x18
4:  cmp ecx, 2048
    jne 3b

    // CR4: PAE, OSFXSR, OSXMMEXCPT.
    mov eax, cr4
    or eax, 0x620
    mov cr4, eax
    mov eax, offset level4
    mov cr3, eax
    // EFER: LME, NXE.
    mov ecx, 0xc0000080
    rdmsr
    or eax, 0x900
    wrmsr
    // CR0: PG, WP, MP; not EM, not TS.
    mov eax, cr0
    and eax, 0xfffffff3
    or eax, 0x80010002
    mov cr0, eax
    lgdt [descriptors_pointer]
    push 8
    mov eax, offset enter_long
    push eax
    retf

    .code64
enter_long:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov fs, eax
    mov gs, eax
    mov esp, offset stack_end
    xor ebp, ebp
    mov edi, edi
    call {begin}
    ud2
"#,
    begin = sym begin,
);

unsafe extern "C" {
    static stack_guard: u8;
}

/// The page below the stack: what has no room on the stack comes here.
pub(crate) fn guard() -> PhysAddr {
    PhysAddr::new((&raw const stack_guard).addr() as u64)
}

/// The first function: what the loader has said becomes a value.
extern "C" fn begin(start_info: u64) -> ! {
    exception::catch();
    // SAFETY: it is what the loader has left in `ebx`.
    let map = unsafe { MemoryMap::of(start_info) };
    main(&map)
}
