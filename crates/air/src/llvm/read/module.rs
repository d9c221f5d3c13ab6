//! A module block: types, globals, functions, and the blocks inside it.

use super::operands::Operands;
use super::{block, decode_align, record_text};
use crate::bitstream::{Entry, Reader, Record};
use crate::error::Error;
use crate::llvm::module::{Alias, Function, GlobalVariable, Module};
use crate::llvm::types::{Type, TypeId};
use crate::llvm::value::{Value, ValueId, ValueKind};
use std::borrow::Cow;

mod code {
    pub(super) const VERSION: u32 = 1;
    pub(super) const TRIPLE: u32 = 2;
    pub(super) const DATALAYOUT: u32 = 3;
    pub(super) const SECTIONNAME: u32 = 5;
    pub(super) const GLOBALVAR: u32 = 7;
    pub(super) const FUNCTION: u32 = 8;
    pub(super) const ALIAS: u32 = 14;
    pub(super) const SOURCE_FILENAME: u32 = 16;
    pub(super) const IFUNC: u32 = 18;
}

/// A module while it is read.
pub(super) struct ModuleReader<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) record: Record<'a>,
    pub(super) module: Module<'a>,
    strings: &'a [u8],
    /// 0: absolute value numbers, 1: relative ones, 2: names in the string table.
    pub(super) version: u64,
    /// Functions with bodies, in order; bodies follow in the same order.
    defined: Vec<u32>,
    /// The type of comparisons' results, once it was needed.
    pub(super) bool_type: Option<TypeId>,
}

impl<'a> ModuleReader<'a> {
    /// A reader that has just entered a module block.
    pub(super) fn new(reader: Reader<'a>, strings: &'a [u8], producer: String) -> Self {
        ModuleReader {
            reader,
            record: Record::default(),
            module: Module {
                producer,
                ..Module::default()
            },
            strings,
            version: 0,
            defined: Vec::new(),
            bool_type: None,
        }
    }

    pub(super) fn read(mut self) -> Result<Module<'a>, Error> {
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => break,
                Entry::Record => self.read_record()?,
                Entry::Block(id) => self.read_block(id)?,
            }
        }
        Ok(self.module)
    }

    fn read_block(&mut self, id: u32) -> Result<(), Error> {
        match id {
            block::TYPE => self.read_types(),
            block::PARAMATTR_GROUP => self.read_attribute_groups(),
            block::PARAMATTR => self.read_attribute_lists(),
            block::CONSTANTS => {
                let mut pool = std::mem::take(&mut self.module.constants);
                let mut values = std::mem::take(&mut self.module.values);
                self.read_constants(&mut pool, &mut values, ValueKind::ModuleConstant)?;
                self.module.constants = pool;
                self.module.values = values;
                Ok(())
            }
            block::METADATA => {
                let mut pool = std::mem::take(&mut self.module.metadata);
                let outcome = self.read_metadata(&mut pool);
                self.module.metadata = pool;
                outcome
            }
            block::METADATA_KIND => {
                let mut pool = std::mem::take(&mut self.module.metadata);
                let outcome = self.read_metadata_kinds(&mut pool);
                self.module.metadata = pool;
                outcome
            }
            block::FUNCTION => {
                let next = self.module.bodies.len();
                let Some(&function) = self.defined.get(next) else {
                    return Err(self
                        .reader
                        .error(crate::Problem::Stream("a body without a function")));
                };
                let body = self.read_body(function)?;
                self.module.bodies.push(body);
                if let Some(function) = self.module.functions.get_mut(function as usize) {
                    function.body = Some(next as u32);
                }
                Ok(())
            }
            block::VALUE_SYMTAB if self.version < 2 => self.read_names(),
            block::SYNC_SCOPE_NAMES => self.read_sync_scopes(),
            _ => {
                self.reader.skip();
                Ok(())
            }
        }
    }

    fn read_record(&mut self) -> Result<(), Error> {
        match self.record.code {
            code::VERSION => {
                self.version = Operands::new(&self.record, "module").next()?;
            }
            code::TRIPLE => self.module.triple = record_text(&self.record.operands),
            code::DATALAYOUT => self.module.data_layout = record_text(&self.record.operands),
            code::SOURCE_FILENAME => self.module.source_name = record_text(&self.record.operands),
            code::SECTIONNAME => self
                .module
                .sections
                .push(record_text(&self.record.operands)),
            code::GLOBALVAR => self.read_global()?,
            code::FUNCTION => self.read_function()?,
            code::ALIAS | code::IFUNC => self.read_alias()?,
            _ => {}
        }
        Ok(())
    }

    /// The name of a global: two numbers naming a part of the string table, in new modules.
    fn read_name(&self, operands: &mut Operands<'_>) -> Result<Cow<'a, str>, Error> {
        if self.version < 2 {
            return Ok(Cow::Borrowed(""));
        }
        let start = operands.next()?;
        let end = start.saturating_add(operands.next()?);
        let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(0);
        let name = self.strings.get(range);
        let name = name.ok_or_else(|| operands.error("its name is outside the string table"))?;
        Ok(String::from_utf8_lossy(name))
    }

    fn pointer_type(&mut self, space: u32) -> TypeId {
        self.module.types.intern(Type::Pointer(space))
    }

    fn read_global(&mut self) -> Result<(), Error> {
        let record = std::mem::take(&mut self.record);
        let mut operands = Operands::new(&record, "global variable");
        let name = self.read_name(&mut operands)?;
        let mut ty = TypeId(operands.next_u32()?);
        let how = operands.next()?;
        let constant = how & 1 != 0;
        let mut space = (how >> 2) as u32;
        // Without the explicit-type bit the type is that of the pointer.
        if how & 2 == 0 {
            if let Some(Type::Pointer(number)) = self.module.types.get(ty) {
                space = *number;
            }
            let pointee = self.module.types.pointee(ty);
            ty = pointee.ok_or_else(|| operands.error("its type is no pointer"))?;
        }
        let initializer = operands.next_or_zero().checked_sub(1);
        let linkage = operands.next_or_zero() as u32;
        let align = decode_align(operands.next_or_zero());
        let section = operands.next_or_zero() as u32;
        let [_visibility, _thread_local, _unnamed] = [0; 3].map(|_: u8| operands.next_or_zero());
        let externally_initialized = operands.next_or_zero() != 0;
        let initializer = initializer.map(|id| ValueId(id as u32));
        let index = self.module.globals.len() as u32;
        let pointer = self.pointer_type(space);
        self.module.globals.push(GlobalVariable {
            name,
            ty,
            space,
            constant,
            initializer,
            align,
            section,
            linkage,
            externally_initialized,
        });
        self.push_value(pointer, ValueKind::Global(index));
        self.record = record;
        Ok(())
    }

    fn read_function(&mut self) -> Result<(), Error> {
        let record = std::mem::take(&mut self.record);
        let mut operands = Operands::new(&record, "function");
        let name = self.read_name(&mut operands)?;
        let mut ty = TypeId(operands.next_u32()?);
        if let Some(pointee) = self.module.types.pointee(ty) {
            ty = pointee;
        }
        if !matches!(self.module.types.get(ty), Some(Type::Function { .. })) {
            return Err(operands.error("its type is no function type"));
        }
        let _convention = operands.next()?;
        let declaration = operands.next()? != 0;
        let linkage = operands.next_or_zero() as u32;
        let attributes = operands.next_or_zero() as u32;
        let _align = operands.next_or_zero();
        let section = operands.next_or_zero() as u32;
        let index = self.module.functions.len() as u32;
        let pointer = self.pointer_type(0);
        let value = self.push_value(pointer, ValueKind::Function(index));
        if !declaration {
            self.defined.push(index);
        }
        self.module.functions.push(Function {
            name,
            ty,
            attributes,
            section,
            linkage,
            body: None,
            value,
        });
        self.record = record;
        Ok(())
    }

    /// `[type, address space, target, linkage, …]`
    fn read_alias(&mut self) -> Result<(), Error> {
        let record = std::mem::take(&mut self.record);
        let mut operands = Operands::new(&record, "alias");
        let name = self.read_name(&mut operands)?;
        operands.next()?;
        let space = operands.next_u32()?;
        let target = ValueId(operands.next_u32()?);
        let index = self.module.aliases.len() as u32;
        let pointer = self.pointer_type(space);
        self.module.aliases.push(Alias { name, target });
        self.push_value(pointer, ValueKind::Alias(index));
        self.record = record;
        Ok(())
    }

    fn push_value(&mut self, ty: TypeId, kind: ValueKind) -> ValueId {
        self.module.values.push(Value { ty, kind });
        ValueId(self.module.values.len() as u32 - 1)
    }

    /// Names of globals in modules from before the string table.
    fn read_names(&mut self) -> Result<(), Error> {
        const ENTRY: u32 = 1;
        const FUNCTION_ENTRY: u32 = 3;
        self.reader.enter()?;
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record => {
                    let mut operands = Operands::new(&self.record, "symbol table");
                    if !matches!(self.record.code, ENTRY | FUNCTION_ENTRY) {
                        continue;
                    }
                    let value = ValueId(operands.next_u32()?);
                    if self.record.code == FUNCTION_ENTRY {
                        operands.next()?;
                    }
                    let name = Cow::Owned(record_text(operands.rest()));
                    let module = &mut self.module;
                    match module.value(value).map(|value| value.kind) {
                        Some(ValueKind::Global(index)) => {
                            module.globals[index as usize].name = name;
                        }
                        Some(ValueKind::Function(index)) => {
                            module.functions[index as usize].name = name;
                        }
                        Some(ValueKind::Alias(index)) => {
                            module.aliases[index as usize].name = name;
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn read_sync_scopes(&mut self) -> Result<(), Error> {
        self.reader.enter()?;
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record => {
                    let name = record_text(&self.record.operands);
                    self.module.sync_scopes.push(name);
                }
            }
        }
    }
}
