//! x86-64, System V: six integer and eight SSE registers carry arguments, `al` the number of SSE registers of a variadic call.
//! A structure of more than 16 bytes is returned in memory whose address is a first, hidden argument: then the receiver is
//! the second, and compilers call the `_stret` variants.

use super::{lookup, lookup_super};
use std::arch::naked_asm;

/// Saves the registers of arguments in a frame, and tells unwinders about it.
macro_rules! save {
    () => {
        "push rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        sub rsp, 192
        mov [rbp - 8], rdi
        mov [rbp - 16], rsi
        mov [rbp - 24], rdx
        mov [rbp - 32], rcx
        mov [rbp - 40], r8
        mov [rbp - 48], r9
        mov [rbp - 56], rax
        movups [rbp - 80], xmm0
        movups [rbp - 96], xmm1
        movups [rbp - 112], xmm2
        movups [rbp - 128], xmm3
        movups [rbp - 144], xmm4
        movups [rbp - 160], xmm5
        movups [rbp - 176], xmm6
        movups [rbp - 192], xmm7
        "
    };
}

/// Restores them and jumps to what was found.
macro_rules! restore_and_jump {
    () => {
        "mov r11, rax
        mov rdi, [rbp - 8]
        mov rsi, [rbp - 16]
        mov rdx, [rbp - 24]
        mov rcx, [rbp - 32]
        mov r8, [rbp - 40]
        mov r9, [rbp - 48]
        mov rax, [rbp - 56]
        movups xmm0, [rbp - 80]
        movups xmm1, [rbp - 96]
        movups xmm2, [rbp - 112]
        movups xmm3, [rbp - 128]
        movups xmm4, [rbp - 144]
        movups xmm5, [rbp - 160]
        movups xmm6, [rbp - 176]
        movups xmm7, [rbp - 192]
        leave
        .cfi_def_cfa rsp, 8
        jmp r11
        "
    };
}

/// What [`super::objc_msg_lookup`] finds for nil.
#[unsafe(naked)]
pub(super) extern "C-unwind" fn answer_zero() {
    naked_asm!(
        "xor eax, eax",
        "xor edx, edx",
        "xorps xmm0, xmm0",
        "xorps xmm1, xmm1",
        "ret"
    )
}

/// `objc_msgSend`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msgSend() {
    naked_asm!(
        ".cfi_startproc",
        "test rdi, rdi",
        "jz 2f",
        save!(),
        "call {lookup}",
        restore_and_jump!(),
        "2:",
        "xor eax, eax",
        "xor edx, edx",
        "xorps xmm0, xmm0",
        "xorps xmm1, xmm1",
        "ret",
        ".cfi_endproc",
        lookup = sym lookup,
    )
}

/// `objc_msgSend_fpret`, for results of type `long double`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msgSend_fpret() {
    naked_asm!(
        ".cfi_startproc",
        "test rdi, rdi",
        "jz 2f",
        save!(),
        "call {lookup}",
        restore_and_jump!(),
        "2:",
        "fldz",
        "xor eax, eax",
        "xor edx, edx",
        "xorps xmm0, xmm0",
        "xorps xmm1, xmm1",
        "ret",
        ".cfi_endproc",
        lookup = sym lookup,
    )
}

/// `objc_msgSend_fp2ret`, for results of type `_Complex long double`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msgSend_fp2ret() {
    naked_asm!(
        ".cfi_startproc",
        "test rdi, rdi",
        "jz 2f",
        save!(),
        "call {lookup}",
        restore_and_jump!(),
        "2:",
        "fldz",
        "fldz",
        "ret",
        ".cfi_endproc",
        lookup = sym lookup,
    )
}

/// `objc_msgSend_stret`, for results that are returned in memory.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msgSend_stret() {
    naked_asm!(
        ".cfi_startproc",
        "test rsi, rsi",
        "jz 2f",
        save!(),
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call {lookup}",
        restore_and_jump!(),
        "2:",
        "mov rax, rdi",
        "ret",
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
        "call {lookup}",
        "mov rdi, [rbp - 8]",
        "mov rdi, [rdi]",
        "mov [rbp - 8], rdi",
        restore_and_jump!(),
        ".cfi_endproc",
        lookup = sym lookup_super,
    )
}

/// `objc_msgSendSuper2_stret`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msgSendSuper2_stret() {
    naked_asm!(
        ".cfi_startproc",
        save!(),
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call {lookup}",
        "mov rsi, [rbp - 16]",
        "mov rsi, [rsi]",
        "mov [rbp - 16], rsi",
        restore_and_jump!(),
        ".cfi_endproc",
        lookup = sym lookup_super,
    )
}
