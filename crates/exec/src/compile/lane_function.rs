//! Lane functions as operations.

use super::{Compiler, Done};
use crate::code::{Op, Reg};
use crate::lanes::{LaneFn, Rule};
use assay_ssa::Value;

impl Compiler<'_> {
    /// Applies a lane function element by element. An operand with one element serves all.
    pub(super) fn elementwise(
        &mut self,
        name: &str,
        f: Option<LaneFn>,
        args: &[Value],
        result: Value,
    ) -> Done {
        self.elementwise_by(Rule::Other, name, f, args, result)
    }

    /// The same for an integer operation.
    pub(super) fn elementwise_by(
        &mut self,
        rule: Rule,
        name: &str,
        f: Option<LaneFn>,
        args: &[Value],
        result: Value,
    ) -> Done {
        let Some(f) = f else {
            let ty = self.function.ty(result);
            return self.unsupported(format!("{name} giving {ty}"));
        };
        let mut operands = Vec::new();
        for &arg in args {
            operands.push(self.regs(arg)?);
        }
        let results = self.define(result)?;
        for (index, d) in results.into_iter().enumerate() {
            let mut regs = Vec::with_capacity(3);
            for operand in &operands {
                match operand.get(index).or(operand.first()) {
                    Some(&reg) => regs.push(reg),
                    None => return self.malformed(format!("{name} of nothing")),
                }
            }
            self.apply(f, rule, d, &regs)?;
        }
        Ok(())
    }

    /// Emits a lane function; its shape and the registers must agree.
    pub(super) fn apply(&mut self, f: LaneFn, rule: Rule, d: Reg, args: &[Reg]) -> Done {
        let index = |at: usize| args.get(at).map_or(0, |reg: &Reg| reg.index);
        let (a, b, c, to) = (index(0), index(1), index(2), d.index);
        let level = self.program.level;
        macro_rules! op {
            ($op:ident, $f:expr, { $($operand:tt)* }) => {
                Op::$op { f: $f.select(level), d: to, $($operand)* }
            };
        }
        let (op, count, from_wide, to_wide) = match f {
            LaneFn::N1(f) => (op!(N1, f, { a }), 1, false, false),
            LaneFn::N2(f) => (op!(N2, f, { rule, a, b }), 2, false, false),
            LaneFn::N3(f) => (op!(N3, f, { a, b, c }), 3, false, false),
            LaneFn::W1(f) => (op!(W1, f, { a }), 1, true, true),
            LaneFn::W2(f) => (op!(W2, f, { rule, a, b }), 2, true, true),
            LaneFn::Widen(f) => (op!(Widen, f, { rule, a }), 1, false, true),
            LaneFn::Narrowing(f) => (op!(Narrowing, f, { rule, a }), 1, true, false),
            LaneFn::Compare(f) => (op!(Compare, f, { rule, a, b }), 2, true, false),
        };
        let fits = args.len() >= count
            && args
                .iter()
                .take(count)
                .all(|reg| reg.wide == from_wide && *reg != d)
            && d.wide == to_wide;
        if !fits {
            return self.malformed("an operation whose operands have other types than it takes");
        }
        self.emit(op);
        Ok(())
    }
}
