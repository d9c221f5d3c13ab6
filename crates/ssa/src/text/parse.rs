//! Reading the text form of a module.

use super::cursor::{Cursor, Parsed};
use super::lex::{ParseError, Token, lex};
use crate::aggregate::{Aggregate, Field};
use crate::builtin::Builtin;
use crate::id::Id;
use crate::inst::FunctionId;
use crate::kernel::{Argument, ArgumentAccess, Binding, Kernel};
use crate::location::{FileId, Loc, Location};
use crate::module::{FunctionConstant, Global, GlobalData, Module};
use crate::ty::Space;

/// Reads a module. The result is not verified.
///
/// ```
/// let text = "module \"example\"\n\nfunction f0 \"f\" -> i32 {\nb0(v0: i32):\n    v1: i32 = add v0, i32 1\n    return v1\n}\n";
/// let module = assay_ssa::parse(text).unwrap();
/// assert_eq!(assay_ssa::print(&module), text);
/// assert_eq!(assay_ssa::verify(&module), Ok(()));
/// ```
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let tokens = lex(text)?;
    let mut reader = Reader {
        cursor: Cursor::new(&tokens),
        module: Module::default(),
    };
    reader.module()?;
    Ok(reader.module)
}

struct Reader<'a, 't> {
    cursor: Cursor<'a, 't>,
    module: Module,
}

impl Reader<'_, '_> {
    fn module(&mut self) -> Parsed<()> {
        if self.cursor.take_word("module") {
            self.module.name = self.cursor.text()?;
            if self.cursor.take_word("fast_math") {
                self.module.float_mode.fast_math = Some(self.either("on", "off")?);
            }
            if self.cursor.take_word("denormals") {
                self.module.float_mode.flush_denormals = Some(self.either("flush", "keep")?);
            }
            self.cursor.newline()?;
        }
        loop {
            match self.cursor.peek() {
                Token::End => return Ok(()),
                Token::Word("kernel") => self.kernel()?,
                Token::Word("function") => {
                    super::parse_function::function(&mut self.cursor, &mut self.module)?;
                }
                _ => {
                    self.declaration()?;
                    self.cursor.newline()?;
                }
            }
        }
    }

    fn either(&mut self, yes: &str, no: &str) -> Parsed<bool> {
        if self.cursor.take_word(yes) {
            Ok(true)
        } else if self.cursor.take_word(no) {
            Ok(false)
        } else {
            self.cursor.wanted(&format!("`{yes}` or `{no}`"))
        }
    }

    /// Checks that declarations come in order, as ids are handed out in order.
    fn in_order(&self, number: u32, next: usize) -> Parsed<()> {
        if number as usize == next {
            Ok(())
        } else {
            self.cursor.error(format!(
                "this is number {number}, but the next of its kind is {next}"
            ))
        }
    }

    fn declaration(&mut self) -> Parsed<()> {
        if let Some(number) = self.cursor.numbered("file") {
            self.in_order(number, self.module.locations.files().len())?;
            self.cursor.sign('=')?;
            let name = self.cursor.text()?;
            self.module.locations.file(&name);
            Ok(())
        } else if let Some(number) = self.cursor.signed_number('!') {
            self.in_order(number, self.module.locations.iter().len())?;
            self.location()
        } else if let Some(number) = self.cursor.signed_number('%') {
            self.in_order(number, self.module.types.iter().len())?;
            self.aggregate()
        } else if let Some(number) = self.cursor.numbered("g") {
            self.in_order(number, self.module.globals.len())?;
            self.global()
        } else if let Some(number) = self.cursor.numbered("c") {
            self.in_order(number, self.module.function_constants.len())?;
            self.function_constant()
        } else {
            self.cursor.wanted("a declaration, `kernel` or `function`")
        }
    }

    fn location(&mut self) -> Parsed<()> {
        self.cursor.sign('=')?;
        let Some(file) = self.cursor.numbered("file") else {
            return self.cursor.wanted("a file such as `file0`");
        };
        self.cursor.sign(':')?;
        let line = self.cursor.u32()?;
        self.cursor.sign(':')?;
        let column = self.cursor.u32()?;
        let function = match self.cursor.take_word("in") {
            true => Some(self.cursor.text()?),
            false => None,
        };
        let mut inlined_at = None;
        if self.cursor.take_word("at") {
            match self.cursor.signed_number('!') {
                Some(at) => inlined_at = Some(Loc::from_index(at as usize)),
                None => return self.cursor.wanted("a location such as `!0`"),
            }
        }
        let file = FileId::from_index(file as usize);
        let function = function.map(|name| self.module.locations.name(&name));
        self.module.locations.push(Location {
            file,
            line,
            column,
            function,
            inlined_at,
        });
        Ok(())
    }

    fn aggregate(&mut self) -> Parsed<()> {
        self.cursor.sign('=')?;
        let aggregate = if self.cursor.take_word("array") {
            let element = self.cursor.ty()?;
            self.cursor.keyword("x")?;
            let len = self.cursor.u32()?;
            self.cursor.keyword("stride")?;
            Aggregate::Array {
                element,
                len,
                stride: self.cursor.u32()?,
            }
        } else {
            self.cursor.keyword("struct")?;
            let mut fields = Vec::new();
            while let Some(ty) = self.cursor.take_type() {
                self.cursor.keyword("at")?;
                fields.push(Field {
                    ty,
                    offset: self.cursor.u32()?,
                });
            }
            self.cursor.keyword("size")?;
            let size = self.cursor.u32()?;
            self.cursor.keyword("align")?;
            Aggregate::Struct {
                fields,
                size,
                align: self.cursor.u32()?,
            }
        };
        if !self.module.types.refers_back(&aggregate) {
            return self
                .cursor
                .error("this type is made of a type declared later");
        }
        let before = self.module.types.iter().len();
        self.module.types.intern(aggregate);
        if self.module.types.iter().len() == before {
            return self.cursor.error("this type was declared before");
        }
        Ok(())
    }

    fn global(&mut self) -> Parsed<()> {
        self.cursor.sign('=')?;
        let name = self.cursor.text()?;
        let space = self.space()?;
        let ty = self.cursor.ty()?;
        self.cursor.keyword("align")?;
        let align = self.cursor.u32()?;
        let data = if self.cursor.take_word("undef") {
            GlobalData::Undefined
        } else if self.cursor.take_word("zero") {
            GlobalData::Zero
        } else {
            self.cursor.keyword("bytes")?;
            GlobalData::Bytes(self.bytes()?)
        };
        self.module.globals.push(Global {
            name,
            space,
            ty,
            align,
            data,
        });
        Ok(())
    }

    fn space(&mut self) -> Parsed<Space> {
        let at = self.cursor.at;
        match Space::from_name(self.cursor.word("an address space")?) {
            Some(space) => Ok(space),
            None => {
                self.cursor.at = at;
                self.cursor.wanted("an address space")
            }
        }
    }

    fn bytes(&mut self) -> Parsed<Vec<u8>> {
        let Token::Text(text) = self.cursor.peek() else {
            return self.cursor.wanted("bytes in quotes");
        };
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|c| c.to_digit(16).map(|digit| digit as u8))
            .collect();
        match digits {
            Some(digits) if digits.len().is_multiple_of(2) => {
                self.cursor.at += 1;
                Ok(digits
                    .chunks_exact(2)
                    .map(|pair| pair[0] << 4 | pair[1])
                    .collect())
            }
            _ => self.cursor.error("bytes are pairs of hexadecimal digits"),
        }
    }

    fn function_constant(&mut self) -> Parsed<()> {
        self.cursor.sign('=')?;
        let index = self.cursor.u32()?;
        let name = self.cursor.text()?;
        let ty = self.cursor.ty()?;
        let mut default = None;
        if self.cursor.take_word("default") {
            let mut bits = Vec::new();
            while matches!(self.cursor.peek(), Token::Number(_)) {
                bits.push(self.cursor.u64()?);
            }
            default = Some(bits);
        }
        let required = self.cursor.take_word("required");
        let constant = FunctionConstant {
            index,
            name,
            ty,
            default,
            required,
        };
        self.module.function_constants.push(constant);
        Ok(())
    }

    fn kernel(&mut self) -> Parsed<()> {
        self.cursor.keyword("kernel")?;
        let name = self.cursor.text()?;
        let Some(function) = self.cursor.numbered("f") else {
            return self.cursor.wanted("a function such as `f0`");
        };
        let mut max_threads = None;
        if self.cursor.take_word("max_threads") {
            max_threads = Some(self.cursor.u32()?);
        }
        self.cursor.sign('{')?;
        self.cursor.newline()?;
        let mut arguments = Vec::new();
        while !self.cursor.take_sign('}') {
            arguments.push(self.argument()?);
            self.cursor.newline()?;
        }
        self.cursor.newline()?;
        let function = FunctionId::from_index(function as usize);
        self.module.kernels.push(Kernel {
            name,
            function,
            arguments,
            max_threads,
        });
        Ok(())
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let name = self.cursor.text()?;
        let binding = self.binding()?;
        let mut argument = Argument::new(&name, binding);
        loop {
            let at = self.cursor.at;
            let Token::Word(word) = self.cursor.peek() else {
                return Ok(argument);
            };
            self.cursor.at += 1;
            match word {
                "param" => argument.param = Some(self.cursor.u32()?),
                "space" => argument.space = Some(self.space()?),
                "type" => argument.type_name = self.cursor.text()?,
                "size" => argument.size = self.cursor.u32()?,
                "align" => argument.align = self.cursor.u32()?,
                "buffer_size" => argument.buffer_size = Some(self.cursor.u32()?),
                "noalias" => argument.no_alias = true,
                "unused" => argument.unused = true,
                "if" => argument.condition = Some(self.cursor.text()?),
                _ => match ArgumentAccess::ALL
                    .into_iter()
                    .find(|access| access.name() == word)
                {
                    Some(access) => argument.access = access,
                    None => {
                        self.cursor.at = at;
                        return self.cursor.wanted("a fact about the argument");
                    }
                },
            }
        }
    }

    fn binding(&mut self) -> Parsed<Binding> {
        let at = self.cursor.at;
        Ok(match self.cursor.word("a binding")? {
            "buffer" => Binding::Buffer(self.cursor.u32()?),
            "threadgroup" => Binding::Threadgroup(self.cursor.u32()?),
            "texture" => Binding::Texture(self.cursor.u32()?),
            "sampler" => Binding::Sampler(self.cursor.u32()?),
            "stage_in" => Binding::StageIn(self.cursor.u32()?),
            "other" => Binding::Other,
            "builtin" => {
                let at = self.cursor.at;
                match Builtin::from_name(self.cursor.word("a builtin")?) {
                    Some(builtin) => Binding::Builtin(builtin),
                    None => {
                        self.cursor.at = at;
                        return self.cursor.wanted("a builtin");
                    }
                }
            }
            _ => {
                self.cursor.at = at;
                return self.cursor.wanted("a binding");
            }
        })
    }
}
