//! Loads, stores and atomics.

use super::call::order_name;
use super::expression::{Expr, Level};
use super::types::Element;
use super::{PrintError, Printer, types};
use assay_ssa::{Access, AtomicOp, Inst, InstData, Scalar, Type, TypeKind, Value};

impl Printer<'_> {
    pub(super) fn load(&self, ptr: Value, access: Access, ty: Type) -> Result<Expr, PrintError> {
        if access.is_atomic() {
            let pointer = self.atomic_pointer(ptr, ty, false)?;
            let order = Expr::atom(order_name(access.ordering).to_owned());
            return Ok(Expr::call("atomic_load_explicit", &[pointer, order]));
        }
        self.readable(ptr, ty, access)?;
        if let Some(carrier) = self.aliasing.carrier(ptr, ty) {
            let place = self.place(ptr, &carrier)?;
            return Ok(Expr::call(
                &format!("as_type<{}>", types::value(ty)?),
                &[place],
            ));
        }
        let place = self.lvalue(ptr, ty, access)?;
        if types::in_memory(ty, access.align())?.packed {
            return Ok(Expr::call(&types::value(ty)?, &[place]));
        }
        Ok(place)
    }

    /// The statement that stores a value.
    pub(super) fn store(
        &self,
        ptr: Value,
        value: Value,
        access: Access,
    ) -> Result<String, PrintError> {
        let ty = self.function.ty(value);
        if access.is_atomic() {
            let text = self.value(value)?;
            let pointer = self.atomic_pointer(ptr, ty, false)?;
            let order = Expr::atom(order_name(access.ordering).to_owned());
            let call = Expr::call("atomic_store_explicit", &[pointer, text, order]);
            return Ok(format!("{};", call.text));
        }
        self.readable(ptr, ty, access)?;
        if let Some(carrier) = self.aliasing.carrier(ptr, ty) {
            let place = self.place(ptr, &carrier)?;
            let text = Expr::call(&format!("as_type<{}>", carrier.name), &[self.value(value)?]);
            return Ok(format!("{} = {};", place.text, text.text));
        }
        let place = self.lvalue(ptr, ty, access)?;
        if ty.is_pointer() {
            let bytes = types::in_memory(ty, 8)?.name;
            let pointer = self.pointer(value)?.within(Level::Unary);
            return Ok(format!("{} = ({bytes}){pointer};", place.text));
        }
        let text = self.value(value)?;
        Ok(format!("{} = {};", place.text, text.text))
    }

    /// An atomic read-modify-write. A compare-and-exchange is a statement.
    pub(super) fn atomic(&self, inst: Inst) -> Result<Expr, PrintError> {
        let &InstData::AtomicRmw {
            op,
            ptr,
            value,
            access,
        } = self.function.inst(inst)
        else {
            return Err(PrintError::Operation(
                "an atomic exchange inside an expression",
            ));
        };
        let ty = self.function.ty(value);
        let signed = matches!(op, AtomicOp::SMin | AtomicOp::SMax);
        let name = match op {
            AtomicOp::Add | AtomicOp::FAdd => "atomic_fetch_add_explicit",
            AtomicOp::Sub | AtomicOp::FSub => "atomic_fetch_sub_explicit",
            AtomicOp::SMin | AtomicOp::UMin => "atomic_fetch_min_explicit",
            AtomicOp::SMax | AtomicOp::UMax => "atomic_fetch_max_explicit",
            AtomicOp::And => "atomic_fetch_and_explicit",
            AtomicOp::Or => "atomic_fetch_or_explicit",
            AtomicOp::Xor => "atomic_fetch_xor_explicit",
            AtomicOp::Exchange => "atomic_exchange_explicit",
            AtomicOp::FMin | AtomicOp::FMax => {
                return Err(PrintError::Operation("an atomic minimum of floats"));
            }
        };
        let pointer = self.atomic_pointer(ptr, ty, signed)?;
        let text = if signed {
            self.signed(value)?
        } else {
            self.value(value)?
        };
        let order = Expr::atom(order_name(access.ordering).to_owned());
        let call = Expr::call(name, &[pointer, text, order]);
        if signed && self.function.result(inst).is_some() {
            return Ok(Expr::call(&types::value(ty)?, &[call]));
        }
        Ok(call)
    }

    /// Pointer and desired value of a compare-and-exchange, as a call that leaves the old value in `old`.
    pub(super) fn compare_exchange(&self, inst: Inst, old: &str) -> Result<String, PrintError> {
        let &InstData::AtomicCompareExchange {
            ptr,
            desired,
            access,
            ..
        } = self.function.inst(inst)
        else {
            return Err(PrintError::Operation("an exchange"));
        };
        let pointer = self.atomic_pointer(ptr, self.function.ty(desired), false)?;
        let desired = self.value(desired)?;
        let order = order_name(access.ordering);
        Ok(format!(
            "atomic_compare_exchange_weak_explicit({}, &{old}, {}, {order}, memory_order_relaxed);",
            pointer.text, desired.text
        ))
    }

    fn atomic_pointer(&self, ptr: Value, ty: Type, signed: bool) -> Result<Expr, PrintError> {
        let name = match (ty.kind(), signed) {
            (TypeKind::Scalar(Scalar::I32), false) => "atomic_uint",
            (TypeKind::Scalar(Scalar::I32), true) => "atomic_int",
            (TypeKind::Scalar(Scalar::F32), _) => "atomic_float",
            (TypeKind::Scalar(Scalar::I64), false) => "atomic_ulong",
            _ => {
                return Err(PrintError::Operation(
                    "an atomic of a type Metal has no name for",
                ));
            }
        };
        let bytes = ty.element().map_or(4, Scalar::bytes);
        let element = Element {
            name: name.to_owned(),
            bytes,
            packed: false,
        };
        let pointer = self.pointer_as(ptr, &element)?;
        Ok(Expr::new(Level::Unary, pointer.within(Level::Unary)))
    }

    /// Pointers are read and written only as elements of an array of them: Metal has no name for a pointer to one that
    /// every compiler takes.
    fn readable(&self, ptr: Value, ty: Type, access: Access) -> Result<(), PrintError> {
        match ty.kind() {
            _ if access.volatile => Err(PrintError::Operation("a volatile access")),
            TypeKind::Pointer(_) if !self.is_array_of(ptr, ty) => Err(PrintError::PointerInMemory),
            TypeKind::Vector(Scalar::I1, _) => Err(PrintError::WideVector(ty)),
            _ => Ok(()),
        }
    }
}
