//! The kernels of a file.

use crate::compiler::{Compiler, SourceOptions};
use crate::error::Problem;
use crate::{Bytes, Error, Source};
use assay_air::llvm;
use assay_container::Contents;
use assay_msl::Diagnostic;
use std::ops::Range;
use std::sync::Arc;

/// The kernels of source, a metallib or bitcode.
#[derive(Clone, Debug)]
pub struct Library {
    kernels: Vec<Kernel>,
    warnings: Vec<Diagnostic>,
}

/// A kernel and the bitcode it is in.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name; empty for all kernels of a module together, see [`Library::units`].
    pub name: String,
    code: Code,
}

/// Where the code of a kernel is.
#[derive(Clone, Debug)]
enum Code {
    /// In bitcode of its own, as in a metallib.
    Alone(Bytes, Range<usize>),
    /// In a module with others, read already.
    Shared(Arc<Shared>),
}

/// A module read already, and what its kernels have in common.
#[derive(Debug)]
struct Shared {
    module: llvm::Module<'static>,
    kernels: assay_air::Kernels,
}

impl Library {
    /// Compiles source and finds its kernels.
    pub fn compile(
        source: Source<'_>,
        compiler: &dyn Compiler,
        options: &SourceOptions,
    ) -> Result<Library, Error> {
        let (bitcode, warnings) = compiler.bitcode_and_warnings(source, options)?;
        let library = Library::of_bitcode(&bitcode)?;
        Ok(Library {
            warnings,
            ..library
        })
    }

    /// The kernels of a metallib, bitcode, or a file that carries metallibs.
    pub fn open(bytes: &Bytes) -> Result<Library, Error> {
        let contents = assay_container::open(bytes)?;
        Library::of(bytes, &contents)
    }

    /// The kernels of a file that was opened already: `contents` are those of `bytes`.
    pub fn of(bytes: &Bytes, contents: &Contents<'_>) -> Result<Library, Error> {
        if let Contents::Bitcode(_) = contents {
            return Library::of_bitcode(bytes);
        }
        let mut kernels = Vec::new();
        for library in contents.metallibs() {
            kernels.extend(library.kernels().filter_map(|function| {
                Some(Kernel {
                    name: function.name.to_string(),
                    code: Code::Alone(bytes.clone(), place(bytes, function.bitcode?)?),
                })
            }));
        }
        if kernels.is_empty() {
            let what = contents.describe();
            return Err(Error::WithoutKernels { what });
        }
        Ok(Library {
            kernels,
            warnings: Vec::new(),
        })
    }

    /// The kernels of LLVM bitcode.
    pub fn of_bitcode(bitcode: &[u8]) -> Result<Library, Error> {
        let modules = llvm::read(bitcode).map_err(Error::Bitcode)?;
        let mut kernels = Vec::new();
        for module in modules {
            let module = module.into_owned();
            let shared = Arc::new(Shared {
                kernels: assay_air::Kernels::of(&module),
                module,
            });
            kernels.extend(shared.kernels.names().map(|name| Kernel {
                name: name.to_owned(),
                code: Code::Shared(Arc::clone(&shared)),
            }));
        }
        match kernels.is_empty() {
            true => Err(Error::NoKernels),
            false => Ok(Library {
                kernels,
                warnings: Vec::new(),
            }),
        }
    }

    /// What the compiler warned of, if it was asked to.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// All kernels, in the order of the file.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, Error> {
        let found = self.kernels.iter().find(|kernel| kernel.name == name);
        found.ok_or_else(|| Error::NoKernel {
            wanted: name.to_owned(),
            names: self.kernels.iter().map(|k| k.name.clone()).collect(),
        })
    }

    /// The kernel of a name, or all of them.
    pub fn choose(&self, name: Option<&str>) -> Result<&[Kernel], Error> {
        match name {
            None => Ok(&self.kernels),
            Some(name) => self.kernel(name).map(std::slice::from_ref),
        }
    }

    /// What can be lowered at once: kernels of one module together, under an empty name.
    pub fn units(&self) -> Vec<Kernel> {
        let mut units: Vec<Kernel> = Vec::new();
        for kernel in &self.kernels {
            let Code::Shared(module) = &kernel.code else {
                units.push(kernel.clone());
                continue;
            };
            let same = |unit: &Kernel| matches!(&unit.code, Code::Shared(known) if Arc::ptr_eq(known, module));
            if !units.last().is_some_and(same) {
                units.push(Kernel {
                    name: String::new(),
                    code: kernel.code.clone(),
                });
            }
        }
        units
    }
}

impl Kernel {
    /// How many kernels this stands for: more than one only in [`Library::units`].
    pub fn count(&self) -> usize {
        match &self.code {
            Code::Shared(shared) if self.name.is_empty() => shared.kernels.names().len(),
            _ => 1,
        }
    }

    /// Lowers the kernel's module to the program form.
    pub(crate) fn lower(&self, options: &assay_air::Options) -> Result<assay_ssa::Module, Problem> {
        let lowered = match &self.code {
            Code::Shared(shared) => assay_air::lower_with(&shared.module, &shared.kernels, options),
            Code::Alone(bytes, range) => {
                let bitcode = bytes.get(range.clone()).unwrap_or_default();
                let modules = llvm::read(bitcode).map_err(Problem::Bitcode)?;
                let holds = |module: &&llvm::Module<'_>| {
                    let names = assay_air::kernel_names(module);
                    names.contains(&self.name)
                };
                let module = modules.iter().find(holds).or(modules.first());
                assay_air::lower(module.ok_or(Problem::NoModule)?, options)
            }
        };
        lowered.map_err(Problem::Lower)
    }
}

/// Where a part lies in the whole it was borrowed from.
fn place(whole: &[u8], part: &[u8]) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let range = start..start.checked_add(part.len())?;
    (range.end <= whole.len()).then_some(range)
}
