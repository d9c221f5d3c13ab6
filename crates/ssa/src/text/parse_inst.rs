//! Reading one instruction of the text form.

use super::cursor::{Cursor, Parsed};
use super::lex::{Token, unescape};
use crate::builtin::BuiltinCall;
use crate::flags::Flags;
use crate::function::Function;
use crate::id::Id;
use crate::inst::{
    BinaryOp, Block, BlockCall, Callee, CastOp, FloatCond, FunctionId, IndexExtend, InstData,
    IntCond, SwitchCases, TernaryOp, UNDEF_LANE, UnaryOp, Value, ValueList,
};
use crate::memory::{Access, AliasId, AtomicOp, Ordering, Scope};
use crate::module::{FunctionConstantId, GlobalId, Module};
use crate::ty::{Scalar, Type, TypeKind};
use std::collections::HashMap;

/// What the names of a text stand for.
#[derive(Default)]
pub(super) struct Names {
    values: HashMap<u32, Value>,
    blocks: HashMap<u32, Block>,
}

impl Names {
    /// Enters a value; false if the name is taken.
    pub(super) fn add_value(&mut self, number: u32, value: Value) -> bool {
        self.values.insert(number, value).is_none()
    }

    /// Enters a block; false if the name is taken.
    pub(super) fn add_block(&mut self, number: u32, block: Block) -> bool {
        self.blocks.insert(number, block).is_none()
    }
}

pub(super) struct InstReader<'r, 'a, 't> {
    pub(super) cursor: &'r mut Cursor<'a, 't>,
    pub(super) module: &'r mut Module,
    pub(super) function: &'r mut Function,
    pub(super) names: &'r Names,
}

impl InstReader<'_, '_, '_> {
    pub(super) fn instruction(&mut self) -> Parsed<InstData> {
        let at = self.cursor.at;
        let name = self.cursor.word("an instruction")?;
        let flags = self.flags();
        if let Some(op) = UnaryOp::from_name(name) {
            return Ok(InstData::Unary {
                op,
                flags,
                arg: self.value()?,
            });
        }
        if let Some(op) = BinaryOp::from_name(name) {
            return Ok(InstData::Binary {
                op,
                flags,
                args: self.two()?,
            });
        }
        if let Some(op) = TernaryOp::from_name(name) {
            return Ok(InstData::Ternary {
                op,
                flags,
                args: self.three()?,
            });
        }
        if let Some(op) = CastOp::from_name(name) {
            return Ok(InstData::Cast {
                op,
                flags,
                arg: self.value()?,
            });
        }
        if let Some(data) = self.memory(name, flags)? {
            return Ok(data);
        }
        if let Some(data) = self.control(name)? {
            return Ok(data);
        }
        match self.computation(name, flags)? {
            Some(data) => Ok(data),
            None => {
                self.cursor.at = at;
                self.cursor.wanted("an instruction")
            }
        }
    }

    fn computation(&mut self, name: &str, flags: Flags) -> Parsed<Option<InstData>> {
        Ok(Some(match name {
            "icmp" => {
                let cond = self.cond(IntCond::from_name)?;
                InstData::IntCompare {
                    cond,
                    flags,
                    args: self.two()?,
                }
            }
            "fcmp" => {
                let cond = self.cond(FloatCond::from_name)?;
                InstData::FloatCompare {
                    cond,
                    flags,
                    args: self.two()?,
                }
            }
            "select" => {
                let [cond, a, b] = self.three()?;
                InstData::Select {
                    flags,
                    cond,
                    args: [a, b],
                }
            }
            "extract" => {
                let [vector, index] = self.two()?;
                InstData::Extract { vector, index }
            }
            "insert" => {
                let [vector, element, index] = self.three()?;
                InstData::Insert {
                    vector,
                    element,
                    index,
                }
            }
            "shuffle" => {
                let args = self.two()?;
                self.cursor.sign(',')?;
                let mask = self.indices()?;
                InstData::Shuffle {
                    args,
                    mask: self.function.index_list(&mask),
                }
            }
            "construct" => {
                let mut values = Vec::new();
                if !matches!(self.cursor.peek(), Token::Newline | Token::Sign('!')) {
                    values.push(self.value()?);
                    while self.cursor.take_sign(',') {
                        values.push(self.value()?);
                    }
                }
                InstData::Construct {
                    args: self.function.list(&values),
                }
            }
            "extract_value" => {
                let aggregate = self.value()?;
                self.cursor.sign(',')?;
                let path = self.indices()?;
                InstData::ExtractValue {
                    aggregate,
                    path: self.function.index_list(&path),
                }
            }
            "insert_value" => {
                let [aggregate, element] = self.two()?;
                self.cursor.sign(',')?;
                let path = self.indices()?;
                InstData::InsertValue {
                    aggregate,
                    element,
                    path: self.function.index_list(&path),
                }
            }
            "call" => {
                let callee = self.callee()?;
                InstData::Call {
                    callee,
                    args: self.arguments()?,
                    flags,
                }
            }
            _ => return Ok(None),
        }))
    }

    fn memory(&mut self, name: &str, flags: Flags) -> Parsed<Option<InstData>> {
        Ok(Some(match name {
            "alloca" => {
                let ty = self.cursor.ty()?;
                self.cursor.keyword("align")?;
                InstData::Alloca {
                    ty,
                    align: self.cursor.u32()?,
                }
            }
            "load" => {
                let ptr = self.value()?;
                InstData::Load {
                    ptr,
                    access: self.access()?,
                }
            }
            "store" => {
                let [ptr, value] = self.two()?;
                InstData::Store {
                    ptr,
                    value,
                    access: self.access()?,
                }
            }
            "memcpy" | "memmove" => {
                let [dst, src, size] = self.three()?;
                let Access {
                    align_log2, alias, ..
                } = self.access()?;
                let overlap = name == "memmove";
                InstData::MemCopy {
                    dst,
                    src,
                    size,
                    align_log2,
                    overlap,
                    alias,
                }
            }
            "memset" => {
                let [dst, byte, size] = self.three()?;
                InstData::MemSet {
                    dst,
                    byte,
                    size,
                    align_log2: self.access()?.align_log2,
                }
            }
            "ptr_add" => self.ptr_add(flags)?,
            "atomic_cmpxchg" => {
                let [ptr, expected, desired] = self.three()?;
                InstData::AtomicCompareExchange {
                    ptr,
                    expected,
                    desired,
                    access: self.access()?,
                }
            }
            _ => {
                let op = name
                    .strip_prefix("atomic_")
                    .and_then(|name| AtomicOp::ALL.into_iter().find(|op| op.name() == name));
                let Some(op) = op else { return Ok(None) };
                let [ptr, value] = self.two()?;
                InstData::AtomicRmw {
                    op,
                    ptr,
                    value,
                    access: self.access()?,
                }
            }
        }))
    }

    fn ptr_add(&mut self, flags: Flags) -> Parsed<InstData> {
        let base = self.value()?;
        let (mut index, mut scale, mut offset) = (None, 1, 0i64);
        let mut extend = IndexExtend::Sign;
        loop {
            let negative = self.cursor.is_sign('-');
            if !negative && !self.cursor.is_sign('+') {
                break;
            }
            self.cursor.at += 1;
            if matches!(self.cursor.peek(), Token::Number(_)) {
                let size = self.cursor.u64()?;
                offset = if negative {
                    (size as i64).wrapping_neg()
                } else {
                    size as i64
                };
            } else if index.is_some() || negative {
                return self.cursor.wanted("a number");
            } else {
                if self.cursor.take_word("zext") {
                    extend = IndexExtend::Zero;
                }
                index = Some(self.value()?);
                self.cursor.sign('*')?;
                scale = self.cursor.u32()?;
            }
        }
        Ok(InstData::PtrAdd {
            base,
            index,
            scale,
            offset,
            extend,
            flags,
        })
    }

    fn control(&mut self, name: &str) -> Parsed<Option<InstData>> {
        Ok(Some(match name {
            "jump" => InstData::Jump {
                target: self.target()?,
            },
            "branch" => {
                let cond = self.value()?;
                self.cursor.sign(',')?;
                let then = self.target()?;
                self.cursor.sign(',')?;
                InstData::Branch {
                    cond,
                    then,
                    otherwise: self.target()?,
                }
            }
            "switch" => {
                let value = self.value()?;
                self.cursor.sign(',')?;
                let default = self.target()?;
                let mut cases = Vec::new();
                while self.cursor.take_sign(',') {
                    let number = self.cursor.u64()?;
                    self.cursor.sign(':')?;
                    cases.push((number, self.target()?));
                }
                let cases = self.function.add_switch(SwitchCases { cases });
                InstData::Switch {
                    value,
                    default,
                    cases,
                }
            }
            "return" => {
                let bare = matches!(
                    self.cursor.peek(),
                    Token::Newline | Token::Sign('!') | Token::End
                );
                InstData::Return {
                    value: if bare { None } else { Some(self.value()?) },
                }
            }
            "unreachable" => InstData::Unreachable,
            _ => return Ok(None),
        }))
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::NONE;
        while let Token::Word(word) = self.cursor.peek() {
            if word == "fast" {
                flags |= Flags::FAST;
            } else if let Some((flag, _)) = Flags::WORDS.iter().find(|(_, name)| *name == word) {
                flags |= *flag;
            } else {
                break;
            }
            self.cursor.at += 1;
        }
        flags
    }

    fn cond<T>(&mut self, from_name: impl Fn(&str) -> Option<T>) -> Parsed<T> {
        let at = self.cursor.at;
        match from_name(self.cursor.word("a comparison")?) {
            Some(cond) => Ok(cond),
            None => {
                self.cursor.at = at;
                self.cursor.wanted("a comparison")
            }
        }
    }

    fn access(&mut self) -> Parsed<Access> {
        self.cursor.keyword("align")?;
        let bytes = self.cursor.u32()?;
        if !bytes.is_power_of_two() {
            return self.cursor.error("an alignment is a power of two");
        }
        let mut access = Access::aligned(bytes);
        if let Token::Word(word) = self.cursor.peek()
            && let Some(ordering) = Ordering::ALL.into_iter().find(|o| o.name() == word)
        {
            self.cursor.at += 1;
            access.ordering = ordering;
            let at = self.cursor.at;
            let word = self.cursor.word("a scope")?;
            match Scope::ALL.into_iter().find(|scope| scope.name() == word) {
                Some(scope) => access.scope = scope,
                None => {
                    self.cursor.at = at;
                    return self.cursor.wanted("a scope");
                }
            }
        }
        access.volatile = self.cursor.take_word("volatile");
        access.invariant = self.cursor.take_word("invariant");
        if self.cursor.take_word("alias") {
            match self.cursor.numbered("a") {
                Some(number) => access.alias = Some(AliasId::from_index(number as usize)),
                None => return self.cursor.wanted("an alias set such as `a0`"),
            }
        }
        Ok(access)
    }

    fn indices(&mut self) -> Parsed<Vec<u32>> {
        self.cursor.sign('[')?;
        let mut indices = Vec::new();
        while !self.cursor.take_sign(']') {
            if !indices.is_empty() {
                self.cursor.sign(',')?;
            }
            indices.push(if self.cursor.take_word("_") {
                UNDEF_LANE
            } else {
                self.cursor.u32()?
            });
        }
        Ok(indices)
    }

    fn callee(&mut self) -> Parsed<Callee> {
        match self.cursor.peek() {
            Token::Text(text) => {
                self.cursor.at += 1;
                let name = unescape(text).unwrap_or_default();
                Ok(Callee::Unknown(self.module.symbol(&name)))
            }
            Token::Word(word) => {
                if let Some(number) = self.cursor.numbered("f") {
                    return Ok(Callee::Function(FunctionId::from_index(number as usize)));
                }
                match BuiltinCall::parse(word) {
                    Some(call) => {
                        self.cursor.at += 1;
                        Ok(Callee::Builtin(call))
                    }
                    None => self.cursor.error(format!(
                        "there is no builtin `{word}`; an unknown function is written in quotes"
                    )),
                }
            }
            _ => self.cursor.wanted("a function, builtin, or name in quotes"),
        }
    }

    fn arguments(&mut self) -> Parsed<ValueList> {
        self.cursor.sign('(')?;
        let mut values = Vec::new();
        while !self.cursor.take_sign(')') {
            if !values.is_empty() {
                self.cursor.sign(',')?;
            }
            values.push(self.value()?);
        }
        Ok(self.function.list(&values))
    }

    fn target(&mut self) -> Parsed<BlockCall> {
        let at = self.cursor.at;
        let block = self
            .cursor
            .numbered("b")
            .and_then(|number| self.names.blocks.get(&number).copied());
        let Some(block) = block else {
            self.cursor.at = at;
            return self.cursor.wanted("a block of this function");
        };
        let args = if self.cursor.is_sign('(') {
            self.arguments()?
        } else {
            ValueList::EMPTY
        };
        Ok(BlockCall { block, args })
    }

    fn two(&mut self) -> Parsed<[Value; 2]> {
        let first = self.value()?;
        self.cursor.sign(',')?;
        Ok([first, self.value()?])
    }

    fn three(&mut self) -> Parsed<[Value; 3]> {
        let [first, second] = self.two()?;
        self.cursor.sign(',')?;
        Ok([first, second, self.value()?])
    }

    fn value(&mut self) -> Parsed<Value> {
        let at = self.cursor.at;
        if let Some(number) = self.cursor.numbered("v") {
            if let Some(&value) = self.names.values.get(&number) {
                return Ok(value);
            }
            self.cursor.at = at;
            return self
                .cursor
                .error(format!("v{number} is not defined in this function"));
        }
        let Some(ty) = self.cursor.take_type() else {
            return self.cursor.wanted("a value");
        };
        self.constant(ty)
    }

    fn constant(&mut self, ty: Type) -> Parsed<Value> {
        if self.cursor.take_word("undef") {
            return Ok(self.function.undef(ty));
        }
        if self.cursor.take_word("zero") || self.cursor.take_word("null") {
            return Ok(self.function.zero(ty));
        }
        if let Some(number) = self.cursor.numbered("g") {
            return Ok(self
                .function
                .global(ty, GlobalId::from_index(number as usize)));
        }
        if let Some(number) = self.cursor.numbered("c") {
            let id = FunctionConstantId::from_index(number as usize);
            return Ok(self.function.function_constant(ty, id));
        }
        match ty.kind() {
            TypeKind::Scalar(scalar) => {
                let bits = self.scalar(scalar)?;
                Ok(self.function.constant(ty, bits))
            }
            TypeKind::Pointer(_) => {
                let bits = self.cursor.u64()?;
                Ok(self.function.constant(ty, bits))
            }
            TypeKind::Vector(scalar, lanes) => {
                self.cursor.sign('[')?;
                let mut elements = vec![self.scalar(scalar)?];
                while self.cursor.take_sign(',') {
                    elements.push(self.scalar(scalar)?);
                }
                self.cursor.sign(']')?;
                if elements.len() != usize::from(lanes) {
                    return self.cursor.error(format!("{ty} has {lanes} elements"));
                }
                Ok(self.function.constant_vector(ty, &elements))
            }
            _ => self.cursor.wanted("`zero` or `undef`"),
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> Parsed<u64> {
        let bits = match self.cursor.peek() {
            Token::Word("true") if scalar == Scalar::I1 => Some(1),
            Token::Word("false") if scalar == Scalar::I1 => Some(0),
            Token::Number(text) => scalar_bits(scalar, text),
            _ => None,
        };
        match bits {
            Some(bits) => {
                self.cursor.at += 1;
                Ok(bits)
            }
            None => self
                .cursor
                .wanted(&format!("a constant of type {}", scalar.name())),
        }
    }
}

/// The bits of a number written for a type: hexadecimal stands for the bits themselves.
fn scalar_bits(scalar: Scalar, text: &str) -> Option<u64> {
    let fits = |bits: u64| (bits & !scalar.mask() == 0).then_some(bits);
    if let Some(hex) = text.strip_prefix("0x") {
        return fits(u64::from_str_radix(hex, 16).ok()?);
    }
    if scalar.is_int() {
        return match text.parse::<i64>() {
            Ok(value) => {
                let shift = 64 - scalar.bits();
                let signed = value << shift >> shift == value;
                let unsigned = value >= 0 && value as u64 <= scalar.mask();
                (signed || unsigned).then_some(value as u64 & scalar.mask())
            }
            Err(_) => fits(text.parse::<u64>().ok()?),
        };
    }
    let value: f32 = text.parse().ok()?;
    Some(match scalar {
        Scalar::F16 => u64::from(assay_num::f32_to_f16(value)),
        Scalar::BF16 => u64::from(assay_num::f32_to_bf16(value)),
        _ => u64::from(value.to_bits()),
    })
}
