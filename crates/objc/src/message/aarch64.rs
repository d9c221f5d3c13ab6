//! arm64: `x0`–`x7` and `q0`–`q7` carry arguments, `x8` the address of a result in memory, so that there are no `_stret` variants.

use super::{lookup, lookup_super};
use std::arch::naked_asm;

/// Saves the registers of arguments in a frame, and tells unwinders about it.
macro_rules! save {
    () => {
        "stp x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov x29, sp
        .cfi_def_cfa_register x29
        sub sp, sp, #208
        stp x0, x1, [sp]
        stp x2, x3, [sp, #16]
        stp x4, x5, [sp, #32]
        stp x6, x7, [sp, #48]
        str x8, [sp, #64]
        stp q0, q1, [sp, #80]
        stp q2, q3, [sp, #112]
        stp q4, q5, [sp, #144]
        stp q6, q7, [sp, #176]
        "
    };
}

/// Restores them and jumps to what was found.
macro_rules! restore_and_jump {
    () => {
        "mov x16, x0
        ldp x0, x1, [sp]
        ldp x2, x3, [sp, #16]
        ldp x4, x5, [sp, #32]
        ldp x6, x7, [sp, #48]
        ldr x8, [sp, #64]
        ldp q0, q1, [sp, #80]
        ldp q2, q3, [sp, #112]
        ldp q4, q5, [sp, #144]
        ldp q6, q7, [sp, #176]
        mov sp, x29
        ldp x29, x30, [sp], #16
        .cfi_def_cfa sp, 0
        br x16
        "
    };
}

macro_rules! zero {
    () => {
        "mov x0, #0
        mov x1, #0
        movi d0, #0
        movi d1, #0
        movi d2, #0
        movi d3, #0
        ret
        "
    };
}

/// What [`super::objc_msg_lookup`] finds for nil.
#[unsafe(naked)]
pub(super) extern "C-unwind" fn answer_zero() {
    naked_asm!(zero!())
}

/// `objc_msgSend`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msgSend() {
    naked_asm!(
        ".cfi_startproc",
        "cbz x0, 2f",
        save!(),
        "bl {lookup}",
        restore_and_jump!(),
        "2:",
        zero!(),
        ".cfi_endproc",
        lookup = sym lookup,
    )
}

/// `objc_msgSendSuper2`: the first argument is the address of receiver and class.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msgSendSuper2() {
    naked_asm!(
        ".cfi_startproc",
        save!(),
        "bl {lookup}",
        "ldr x9, [sp]",
        "ldr x9, [x9]",
        "str x9, [sp]",
        restore_and_jump!(),
        ".cfi_endproc",
        lookup = sym lookup_super,
    )
}
