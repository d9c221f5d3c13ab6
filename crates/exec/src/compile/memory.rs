//! Loads, stores and atomic operations.

use super::{Compiler, Done};
use crate::atomics::Update;
use crate::code::{Cell, Op, Reg, Transfer};
use assay_ssa::{Access, InstData, Scalar, Space, Type, Value};

impl Compiler<'_> {
    /// Loads or stores of runs of numbers of one kind that follow each other.
    pub(super) fn transfers(
        &mut self,
        ty: Type,
        ptr: Value,
        align: u32,
        regs: &[Reg],
    ) -> Done<Vec<Transfer>> {
        if ty.is_vector() && ty.element() == Some(Scalar::I1) {
            return self.unsupported(format!("memory of type {ty}"));
        }
        let address = self.address(ptr)?;
        let align = self.natural_align(ty, ptr, align);
        let leaves = self.leaves(ty)?;
        let mut transfers = Vec::new();
        let mut start = 0;
        while let Some(first) = leaves.get(start) {
            let cell = first.cell();
            let mut end = start + 1;
            let next = |end: usize| first.offset + (end - start) as u32 * cell.bytes();
            while leaves
                .get(end)
                .is_some_and(|leaf| leaf.cell() == cell && leaf.offset == next(end))
            {
                end += 1;
            }
            let regs = self.list(regs.get(start..end).unwrap_or(&[]));
            transfers.push(Transfer {
                regs,
                cell,
                base: address.base,
                index: address.index,
                offset: address.offset.wrapping_add(first.offset.into()),
                // A part lies as the whole does, where its own offset does not say less.
                align: (1 << first.offset.trailing_zeros().min(12)).min(align.max(1)),
                atomic: false,
                volatile: false,
                anchored: false,
                observed_bytes: cell.bytes() * regs.len,
            });
            start = end;
        }
        Ok(transfers)
    }

    /// The alignment an access of a type needs in a program that is checked. Of memory that it declares itself a compiler
    /// knows the alignment, and does not rely on that of a type some pointer was cast to; another machine might.
    fn natural_align(&self, ty: Type, ptr: Value, align: u32) -> u32 {
        let own = matches!(
            self.function.ty(ptr).space(),
            Some(Space::Thread | Space::Threadgroup)
        );
        // Copies of structs move words as vectors, wherever they lie.
        let number = !ty.is_aggregate() && !ty.is_vector() && !ty.is_matrix();
        match own && self.program.guarded.is_some() && number {
            true => align.max(self.module.types.align(ty)),
            false => align,
        }
    }

    pub(super) fn transfer(&mut self, transfer: Transfer) -> u32 {
        self.program.transfers.push(transfer);
        self.program.transfers.len() as u32 - 1
    }

    pub(super) fn load(&mut self, ptr: Value, result: Value, access: Access) -> Done {
        let regs = self.define(result)?;
        let anchored = self.anchored.contains(result);
        for transfer in self.transfers(self.function.ty(result), ptr, access.align(), &regs)? {
            let (atomic, volatile) = (access.is_atomic(), access.volatile);
            let transfer = self.transfer(Transfer {
                atomic,
                volatile,
                anchored,
                ..transfer
            });
            self.emit(Op::Load { transfer });
        }
        Ok(())
    }

    pub(super) fn store(&mut self, ptr: Value, value: Value, access: Access) -> Done {
        let regs = self.regs(value)?;
        self.store_registers(ptr, self.function.ty(value), access, &regs)
    }

    /// Stores registers as a value of a type.
    pub(super) fn store_registers(
        &mut self,
        ptr: Value,
        ty: Type,
        access: Access,
        regs: &[Reg],
    ) -> Done {
        for transfer in self.transfers(ty, ptr, access.align(), regs)? {
            let (atomic, volatile) = (access.is_atomic(), access.volatile);
            let transfer = self.transfer(Transfer {
                atomic,
                volatile,
                ..transfer
            });
            self.emit(Op::Store { transfer });
        }
        Ok(())
    }

    /// An atomic read-modify-write.
    pub(super) fn atomic(&mut self, data: InstData, result: Value) -> Done {
        match data {
            InstData::AtomicRmw { op, ptr, value, .. } => {
                let update = Update(op);
                let cell = self.atomic_cell(value, ptr, result, update.depends_on_order())?;
                let (ptr, value) = (self.reg(ptr)?.index, self.reg(value)?);
                let d = self.define(result)?[0];
                self.emit(Op::Atomic {
                    update,
                    cell,
                    d,
                    ptr,
                    value,
                });
                Ok(())
            }
            InstData::AtomicCompareExchange {
                ptr,
                expected,
                desired,
                ..
            } => {
                let cell = self.atomic_cell(desired, ptr, result, true)?;
                let (ptr, expected, desired) = (
                    self.reg(ptr)?.index,
                    self.reg(expected)?,
                    self.reg(desired)?,
                );
                let d = self.define(result)?[0];
                self.emit(Op::CompareExchange {
                    cell,
                    d,
                    ptr,
                    expected,
                    desired,
                });
                Ok(())
            }
            _ => self.unsupported("this instruction"),
        }
    }

    /// The memory cell of an atomic access. Sets `in_order` if the outcome depends on order.
    pub(super) fn atomic_cell(
        &mut self,
        value: Value,
        ptr: Value,
        result: Value,
        ordered: bool,
    ) -> Done<Cell> {
        let ty = self.function.ty(value);
        let shared = self.function.ty(ptr).space() != Some(Space::Threadgroup);
        if ordered || self.uses[result] > 0 {
            self.program.in_turn = true;
            self.program.in_order |= shared;
        }
        match ty.lane_type() {
            Some(scalar @ (Scalar::I32 | Scalar::I64 | Scalar::F32)) if !ty.is_vector() => {
                Ok(Cell::of(scalar))
            }
            _ => self.unsupported(format!("an atomic operation on {ty}")),
        }
    }
}
