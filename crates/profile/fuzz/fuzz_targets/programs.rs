//! Programs of real instructions: arithmetic, memory, waits, masks and jumps to anywhere.
#![no_main]

mod check;

use assay_agx::{Isa, assemble};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

const LINES: &[&str] = &[
    "fadd32 r1, r2, r3",
    "fmadd32 r4, r5, r6, r4",
    "fmadd32 r2l, r3h, r4, r5.discard",
    "fadd16 r1l, r2h, r3l",
    "fmadd16 r4h, r5l, r6l, r4h",
    "iadd r1, r1, 1",
    "iadd r8_r9, r10_r11, r12",
    "imadd r6, r7, r8, r6",
    "mov_imm r0l, 0",
    "mov_imm r1, 7, 0b0",
    "xor r4, r2, r5",
    "bfeil r12, 0, r13, 5",
    "icmpsel ult, r17, r18, r19, r20, r21",
    "fcmpsel lt, r2, r3, r4, r5, r6",
    "convert u32_to_f, r4, r5, rte",
    "rcp r2, r3",
    "rsqrt r6, r7",
    "exp2 r4, r5",
    "simd_matrix_fmadd32 r20_r21, r8_r9, r10_r11, r14_r15",
    "device_load 0, i32, xy, r4_r5, u0_u1, r1, unsigned",
    "device_load 1, i16, xyzw, r6l_r6h_r7l_r7h, u2_u3, r1, unsigned",
    "device_store 0, i32, xy, r10_r11, u4_u5, r1, unsigned, 0",
    "wait 0",
    "wait 1",
    "if_icmp r0l, ult, r1, 5, 1",
    "if_icmp r0l, ult, 0, 5, 2",
    "else_icmp r0l, ult, r1, 5, 1",
    "while_icmp r0l, ult, r1, u4, 2",
    "while_icmp r0l, ult, r1, 9, 1",
    "pop_exec r0l, 1",
    "pop_exec r0l, 2",
    "stop",
    "ret r1",
];

/// Opcodes that take a distance: jump if any, jump if none, call.
const JUMPS: [[u8; 2]; 3] = [[0x00, 0xc0], [0x20, 0xc0], [0x10, 0xc0]];

fn pieces() -> &'static [Vec<u8>] {
    static PIECES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    PIECES.get_or_init(|| {
        let code = |line: &&str| assemble(Isa::G13, line, 0).map(|assembly| assembly.code);
        LINES.iter().map(|line| code(line).expect(line)).collect()
    })
}

fuzz_target!(|input: (u8, u8, Vec<(u8, i16)>)| {
    let (choices, split, picks) = input;
    let pieces = pieces();
    let parts: Vec<Vec<u8>> = picks
        .iter()
        .map(|&(pick, more)| {
            let pick = usize::from(pick);
            match JUMPS.get(pick % (pieces.len() + JUMPS.len())) {
                Some(opcode) => {
                    let mut jump = opcode.to_vec();
                    jump.extend_from_slice(&(i32::from(more) * 2).to_le_bytes());
                    jump
                }
                None => {
                    let mut piece = pieces[pick % (pieces.len() + JUMPS.len()) - JUMPS.len()].clone();
                    // Sometimes another operand: a bit flipped in one byte.
                    if more & 0xff == 0
                        && let Some(byte) = piece.get_mut(more as usize >> 8 & 7)
                    {
                        *byte ^= 1 << (more >> 13 & 7);
                    }
                    piece
                }
            }
        })
        .collect();
    let split = usize::from(split).min(parts.len());
    let constant_program = if choices & 128 != 0 { parts[..split].concat() } else { Vec::new() };
    check::check(choices & 127, &parts.concat(), &constant_program, 0);
});
