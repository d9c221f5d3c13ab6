//! Constants of a function: made once, found again.

use crate::function::{ConstElements, Function, ValueData, ValueDef};
use crate::id::Id;
use crate::inst::Value;
use crate::module::{FunctionConstantId, GlobalId};
use crate::pool::mix;
use crate::ty::{Type, TypeKind};

impl Function {
    /// A scalar or pointer constant; bits beyond the type are cut.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let bits = match ty.kind() {
            TypeKind::Scalar(scalar) => bits & scalar.mask(),
            TypeKind::Pointer(_) => bits,
            _ if bits == 0 => return self.zero(ty),
            _ => bits,
        };
        self.intern(ty, ValueDef::Const(bits))
    }

    /// An `i32` constant.
    pub fn i32(&mut self, value: i32) -> Value {
        self.constant(Type::I32, value as u32 as u64)
    }

    /// An `i64` constant.
    pub fn i64(&mut self, value: i64) -> Value {
        self.constant(Type::I64, value as u64)
    }

    /// An `i1` constant.
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Type::I1, u64::from(value))
    }

    /// An `f32` constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.constant(Type::F32, u64::from(value.to_bits()))
    }

    /// A vector constant; bits beyond the element type are cut. Elements beyond the type's are ignored,
    /// missing ones are zero.
    pub fn constant_vector(&mut self, ty: Type, elements: &[u64]) -> Value {
        let TypeKind::Vector(scalar, lanes) = ty.kind() else {
            return self.constant(ty, elements.first().copied().unwrap_or(0));
        };
        let mut bits = [0u64; crate::ty::MAX_VECTOR_LANES as usize];
        for (slot, element) in bits.iter_mut().zip(elements).take(usize::from(lanes)) {
            *slot = element & scalar.mask();
        }
        let bits = &bits[..usize::from(lanes)];
        let hash = mix(std::iter::once(ty.raw()).chain(bits.iter().copied()));
        let found = self.constants.find(hash, |index| {
            let data = self.values[Value::from_index(index as usize)];
            data.ty == ty
                && matches!(data.def, ValueDef::ConstVector(e) if self.elements(e) == bits)
        });
        if let Some(index) = found {
            return Value::from_index(index as usize);
        }
        let start = self.const_elements.len() as u32;
        self.const_elements.extend_from_slice(bits);
        let elements = ConstElements {
            start,
            len: bits.len() as u32,
        };
        self.enter_constant(
            hash,
            ValueData {
                ty,
                def: ValueDef::ConstVector(elements),
            },
        )
    }

    /// The zero of any type.
    pub fn zero(&mut self, ty: Type) -> Value {
        match ty.kind() {
            TypeKind::Scalar(_) | TypeKind::Pointer(_) => self.intern(ty, ValueDef::Const(0)),
            TypeKind::Vector(..) => self.constant_vector(ty, &[]),
            _ => self.intern(ty, ValueDef::Zero),
        }
    }

    /// An undefined value.
    pub fn undef(&mut self, ty: Type) -> Value {
        self.intern(ty, ValueDef::Undef)
    }

    /// The address of a global, with its pointer type.
    pub fn global(&mut self, ty: Type, global: GlobalId) -> Value {
        self.intern(ty, ValueDef::Global(global))
    }

    /// A function constant that will be given a value later.
    pub fn function_constant(&mut self, ty: Type, id: FunctionConstantId) -> Value {
        self.intern(ty, ValueDef::FunctionConstant(id))
    }

    fn intern(&mut self, ty: Type, def: ValueDef) -> Value {
        let hash = mix([ty.raw(), def_word(def)]);
        let found = self.constants.find(hash, |index| {
            let data = self.values[Value::from_index(index as usize)];
            data.ty == ty && data.def == def
        });
        match found {
            Some(index) => Value::from_index(index as usize),
            None => self.enter_constant(hash, ValueData { ty, def }),
        }
    }

    fn enter_constant(&mut self, hash: u64, data: ValueData) -> Value {
        let value = self.values.push(data);
        let (values, elements) = (&self.values, &self.const_elements);
        self.constants.insert(hash, value.index() as u32, |index| {
            let data = values[Value::from_index(index as usize)];
            match data.def {
                ValueDef::ConstVector(e) => mix(std::iter::once(data.ty.raw()).chain(
                    elements[e.start as usize..(e.start + e.len) as usize]
                        .iter()
                        .copied(),
                )),
                def => mix([data.ty.raw(), def_word(def)]),
            }
        });
        value
    }

    /// The elements of a vector constant.
    #[inline]
    pub fn elements(&self, elements: ConstElements) -> &[u64] {
        let start = elements.start as usize;
        self.const_elements
            .get(start..start + elements.len as usize)
            .unwrap_or(&[])
    }

    /// Whether a value is a constant of any kind (undefined values and addresses of globals included).
    #[inline]
    pub fn is_constant(&self, value: Value) -> bool {
        !matches!(
            self.values[value].def,
            ValueDef::Result(_) | ValueDef::Param(..)
        )
    }

    /// The bits of a scalar constant.
    #[inline]
    pub fn const_bits(&self, value: Value) -> Option<u64> {
        match self.values[value].def {
            ValueDef::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// A scalar integer constant as a signed number.
    #[inline]
    pub fn const_int(&self, value: Value) -> Option<i64> {
        let bits = self.const_bits(value)?;
        let width = self.values[value]
            .ty
            .lane_type()
            .filter(|scalar| scalar.is_int())?
            .bits();
        Some((bits << (64 - width)) as i64 >> (64 - width))
    }

    /// The bits of one element of a constant: of a vector, a zero, or the scalar itself.
    pub fn const_element(&self, value: Value, lane: usize) -> Option<u64> {
        match self.values[value].def {
            ValueDef::Const(bits) => Some(bits),
            ValueDef::ConstVector(elements) => self.elements(elements).get(lane).copied(),
            ValueDef::Zero => Some(0),
            _ => None,
        }
    }

    /// The bits every element of a constant has, if they are all the same.
    pub fn const_splat(&self, value: Value) -> Option<u64> {
        match self.values[value].def {
            ValueDef::Const(bits) => Some(bits),
            ValueDef::ConstVector(elements) => {
                let elements = self.elements(elements);
                let first = *elements.first()?;
                elements.iter().all(|&bits| bits == first).then_some(first)
            }
            ValueDef::Zero => Some(0),
            _ => None,
        }
    }
}

fn def_word(def: ValueDef) -> u64 {
    match def {
        ValueDef::Const(bits) => bits,
        ValueDef::Zero => 1 << 60,
        ValueDef::Undef => 2 << 60,
        ValueDef::Global(id) => 3 << 60 | id.index() as u64,
        ValueDef::FunctionConstant(id) => 4 << 60 | id.index() as u64,
        ValueDef::Result(_) | ValueDef::Param(..) | ValueDef::ConstVector(_) => 5 << 60,
    }
}
