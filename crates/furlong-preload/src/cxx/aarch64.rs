//! The bodies of `new` for aarch64.

use core::arch::global_asm;

// The body of a throwing `new`. Its arguments are a size, an alignment, and the function that
// allocates.
global_asm!(
    ".pushsection .text.furlong_new,\"ax\",@progbits",
    ".hidden furlong_new",
    ".globl furlong_new",
    ".type furlong_new,@function",
    "furlong_new:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-48]!",
    ".cfi_def_cfa_offset 48",
    ".cfi_offset 29, -48",
    ".cfi_offset 30, -40",
    "mov x29, sp",
    "stp x19, x20, [sp, #16]",
    "str x21, [sp, #32]",
    ".cfi_offset 19, -32",
    ".cfi_offset 20, -24",
    ".cfi_offset 21, -16",
    "mov x19, x0",
    "mov x20, x1",
    "mov x21, x2",
    "2:",
    "mov x0, x19",
    "mov x1, x20",
    "blr x21",
    "cbnz x0, 3f",
    "bl {handler}",
    "cbz x0, 4f",
    "blr x0",
    "b 2b",
    "4:",
    "bl {thrower}",
    "blr x0",
    "brk #1",
    "3:",
    "ldr x21, [sp, #32]",
    "ldp x19, x20, [sp, #16]",
    "ldp x29, x30, [sp], #48",
    ".cfi_restore 21",
    ".cfi_restore 20",
    ".cfi_restore 19",
    ".cfi_restore 30",
    ".cfi_restore 29",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    ".size furlong_new, . - furlong_new",
    ".popsection",
    handler = sym crate::cxx::handler,
    thrower = sym crate::cxx::thrower,
);

catching! {
    global_asm:
    "stp x29, x30, [sp, #-48]!",
    ".cfi_def_cfa_offset 48",
    ".cfi_offset 29, -48",
    ".cfi_offset 30, -40",
    "mov x29, sp",
    "stp x19, x20, [sp, #16]",
    "str x21, [sp, #32]",
    ".cfi_offset 19, -32",
    ".cfi_offset 20, -24",
    ".cfi_offset 21, -16",
    "mov x19, x0",
    "mov x20, x1",
    "mov x21, x2",
    ".Lfurlong_new_again:",
    ".Lfurlong_new_asks:",
    "mov x0, x19",
    "mov x1, x20",
    "blr x21",
    "cbnz x0, .Lfurlong_new_done",
    "bl {handler}",
    "cbz x0, .Lfurlong_new_done",
    "blr x0",
    ".Lfurlong_new_asked:",
    "b .Lfurlong_new_again",
    ".Lfurlong_new_thrown:",
    "bl {caught}",
    "mov x0, #0",
    ".Lfurlong_new_done:",
    "ldr x21, [sp, #32]",
    "ldp x19, x20, [sp, #16]",
    "ldp x29, x30, [sp], #48",
    ".cfi_restore 21",
    ".cfi_restore 20",
    ".cfi_restore 19",
    ".cfi_restore 30",
    ".cfi_restore 29",
    ".cfi_def_cfa_offset 0",
    "ret",
}

/// The body of an operator: by the name of the operator, and the function that allocates.
macro_rules! operator {
    (or_jump, $own:path, $basic:expr) => {
        operator!(@derived "br x16", $own, $basic)
    };
    (or_null, $own:path, $basic:expr) => {
        operator!(@derived "mov x2, x16\nb furlong_new_or_null", $own, $basic)
    };
    // `x16` is the program's own, or this library's.
    (@derived $go:literal, $own:path, $basic:expr) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "adrp x16, {own}",
            "add x16, x16, :lo12:{own}",
            "adrp x9, {all_are_ours}",
            "ldrb w9, [x9, :lo12:{all_are_ours}]",
            "cbz w9, 2f",
            $go,
            "2:",
            "stp x29, x30, [sp, #-48]!",
            ".cfi_def_cfa_offset 48",
            ".cfi_offset 29, -48",
            ".cfi_offset 30, -40",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "str x16, [sp, #32]",
            "mov w0, {basic}",
            "bl {look_up}",
            "mov x9, x0",
            "ldr x16, [sp, #32]",
            "ldp x0, x1, [sp, #16]",
            "ldp x29, x30, [sp], #48",
            ".cfi_restore 30",
            ".cfi_restore 29",
            ".cfi_def_cfa_offset 0",
            "cmp x9, #0",
            "csel x16, x16, x9, eq",
            $go,
            ".cfi_endproc",
            own = sym $own,
            all_are_ours = sym basic::ALL_ARE_OURS,
            basic = const $basic as u32,
            look_up = sym basic::look_up,
        )
    };
    ($throws:ident, $allocate:path) => {
        core::arch::naked_asm!(
            "adrp x2, {allocate}",
            "add x2, x2, :lo12:{allocate}",
            "b furlong_new",
            allocate = sym $allocate,
        )
    };
}
