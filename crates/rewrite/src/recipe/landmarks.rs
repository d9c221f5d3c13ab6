//! Whole numbers in a program at which it may change what it does: sizes to test it at.
//!
//! A kernel with `if (columns > 100 && columns != 1024)` is right at most sizes that nobody chose for it. Its constants
//! say where to look: what it compares with, and what follows from those by the constants it multiplies and adds.

use super::{Candidate, Refusal};
use assay_ssa::{BinaryOp, Function, InstData, Value};
use std::collections::BTreeSet;

/// Constants of a kind that are combined with others at most.
const MOST: usize = 24;

/// The numbers of a program, by what they say about sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landmarks {
    /// What is compared with, and all that follows from it.
    pub compared: BTreeSet<u64>,
    /// What is multiplied, divided or masked by.
    pub factors: BTreeSet<u64>,
}

impl Candidate {
    /// The numbers at which the program may change what it does, from 2 up to `most`.
    pub fn landmarks(&self, most: u64) -> Result<Landmarks, Refusal> {
        let function = self.function()?;
        let mut found = Raw::default();
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                found.see(function, function.inst(inst));
            }
        }
        Ok(found.combined(most))
    }
}

#[derive(Default)]
struct Raw {
    compared: BTreeSet<u64>,
    factors: BTreeSet<u64>,
    added: BTreeSet<u64>,
}

impl Raw {
    fn see(&mut self, function: &Function, inst: &InstData) {
        let number = |value: Value| function.const_int(value).map(i64::unsigned_abs);
        match *inst {
            InstData::IntCompare { args, .. } => {
                self.compared.extend(args.into_iter().filter_map(number));
            }
            InstData::FloatCompare { args, .. } => {
                let whole = args.into_iter().filter_map(|value| float(function, value));
                self.compared.extend(whole);
            }
            InstData::Switch { cases, .. } => {
                let cases = function.switch_cases(cases).iter();
                self.compared.extend(cases.map(|case| case.0));
            }
            InstData::Call { args, .. } => {
                // Minima and maxima compare.
                let args = function.list_values(args).iter();
                self.compared
                    .extend(args.filter_map(|&value| number(value)));
            }
            InstData::Binary { op, args, .. } => {
                let numbers = args.into_iter().filter_map(number);
                match op {
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor => self.added.extend(numbers),
                    BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => {
                        let powers = numbers.filter_map(|by| 1u64.checked_shl(by as u32));
                        self.factors.extend(powers);
                    }
                    BinaryOp::And => {
                        self.factors
                            .extend(numbers.map(|mask| mask.saturating_add(1)));
                    }
                    _ => self.factors.extend(numbers),
                }
            }
            _ => {}
        }
    }

    fn combined(mut self, most: u64) -> Landmarks {
        let sound = |number: &u64| (2..=most).contains(number);
        self.factors.retain(sound);
        let mut compared = self.compared.clone();
        for &number in self.compared.iter().take(MOST) {
            for &factor in self.factors.iter().take(MOST) {
                compared.insert(number / factor);
                compared.insert(number.saturating_mul(factor));
            }
            for &added in self.added.iter().take(MOST) {
                compared.insert(number.saturating_sub(added));
                compared.insert(number.saturating_add(added));
            }
        }
        compared.retain(sound);
        Landmarks {
            compared,
            factors: self.factors,
        }
    }
}

/// The whole number next to a positive float of 32 or 16 bits.
fn float(function: &Function, value: Value) -> Option<u64> {
    if !function.ty(value).is_float() {
        return None;
    }
    let bits = function.const_bits(value)?;
    let number = match function.ty(value).element()?.bytes() {
        4 => f32::from_bits(bits as u32),
        _ => return None,
    };
    (1.0..1e9).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::super::programs::candidate;

    #[test]
    fn sizes_at_which_a_program_changes_its_mind_follow_from_its_constants() {
        let found = candidate(
            "    v7: i32 = mul v6, i32 3\n\
             \x20   v8: i1 = icmp ugt v7, i32 300\n\
             \x20   v9: i32 = select v8, v4, v5\n\
             \x20   v10: ptr.device = ptr_add v0 + zext v9 * 4\n\
             \x20   store v10, f32 1.0 align 4 alias a0\n\
             \x20   return\n",
        )
        .landmarks(4096)
        .expect("a program");
        let all: Vec<u64> = found.compared.into_iter().collect();
        assert_eq!(all, [100, 300, 900]);
    }
}
