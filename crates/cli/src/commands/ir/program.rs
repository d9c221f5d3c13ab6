//! Finding kernels in a file and turning them into programs.

use crate::failure::Failure;
use assay_air::{GivenConstant, Options, llvm};
use assay_container::Contents;

/// The kernels of a file.
pub(super) struct Kernels<'a> {
    path: String,
    kernels: Vec<Kernel<'a>>,
}

/// A kernel and the bitcode it is in.
#[derive(Clone)]
pub(super) struct Kernel<'a> {
    pub(super) name: String,
    bitcode: &'a [u8],
    /// Whether the bitcode holds other kernels too.
    shared: bool,
}

/// A kernel's program.
pub(super) struct Program {
    pub(super) module: assay_ssa::Module,
    pub(super) optimised: bool,
}

const MOST_SUGGESTED: usize = 8;

impl<'a> Kernels<'a> {
    pub(super) fn find(path: &str, bytes: &'a [u8]) -> Result<Self, Failure> {
        let fail = |error: assay_container::Error| {
            let failure = Failure::input(format!("{path}: {error}"));
            match error.advice() {
                Some(advice) => failure.advice(advice),
                None => failure,
            }
        };
        let contents = assay_container::open(bytes).map_err(fail)?;
        let mut kernels = Vec::new();
        for library in contents.metallibs() {
            let functions = library.kernels();
            kernels.extend(functions.filter_map(|function| {
                Some(Kernel {
                    name: function.name.to_string(),
                    bitcode: function.bitcode?,
                    shared: false,
                })
            }));
        }
        if let Contents::Bitcode(_) = contents {
            let modules = llvm::read(bytes);
            let modules = modules.map_err(|error| Failure::input(format!("{path}: {error}")))?;
            let names = modules.iter().flat_map(assay_air::kernel_names);
            kernels.extend(names.map(|name| Kernel {
                name,
                bitcode: bytes,
                shared: true,
            }));
        }
        if kernels.is_empty() {
            let failure =
                Failure::input(format!("{path}: {} without kernels", contents.describe()));
            return Err(failure.advice(match contents {
                Contents::Source(_) => "compile it first: assay compile FILE.metal -o FILE.bc",
                _ => "this command reads metallibs and LLVM bitcode with Metal kernels",
            }));
        }
        Ok(Kernels {
            path: path.to_owned(),
            kernels,
        })
    }

    /// The kernel of a name, or all of them.
    pub(super) fn choose(&self, name: Option<&str>) -> Result<Vec<Kernel<'a>>, Failure> {
        let Some(name) = name else {
            return Ok(self.kernels.clone());
        };
        if let Some(kernel) = self.kernels.iter().find(|kernel| kernel.name == name) {
            return Ok(vec![kernel.clone()]);
        }
        let names = || self.kernels.iter().map(|kernel| kernel.name.as_str());
        let near = assay_container::nearest(names(), name, MOST_SUGGESTED);
        let advice = if near.is_empty() {
            let first: Vec<_> = names().take(MOST_SUGGESTED).collect();
            format!(
                "it has {} kernels, the first are {}",
                self.kernels.len(),
                first.join(", ")
            )
        } else {
            format!("nearest are {}", near.join(", "))
        };
        Err(Failure::usage(format!("{} has no kernel named {name}", self.path)).advice(advice))
    }
}

impl Kernel<'_> {
    /// Reads, lowers and verifies the kernel.
    pub(super) fn program(
        &self,
        constants: &[GivenConstant],
        no_opt: bool,
    ) -> Result<Program, Failure> {
        let fail = |error: String| Failure::input(format!("kernel {}: {error}", self.name));
        let modules = llvm::read(self.bitcode).map_err(|error| fail(error.to_string()))?;
        let options = Options {
            kernel: Some(self.name.clone()),
            constants: constants.to_vec(),
        };
        for module in &modules {
            if self.shared && !assay_air::kernel_names(module).contains(&self.name) {
                continue;
            }
            let lowered =
                assay_air::lower(module, &options).map_err(|error| fail(error.to_string()))?;
            return prepare(lowered, no_opt).map_err(fail);
        }
        Err(fail(
            "its module does not describe it as a kernel".to_owned(),
        ))
    }
}

/// Checks a program and, unless told otherwise, optimises it.
fn prepare(module: assay_ssa::Module, _no_opt: bool) -> Result<Program, String> {
    assay_ssa::verify(&module).map_err(|errors| {
        let first = errors.first().map(ToString::to_string);
        first.unwrap_or_else(|| "the program breaks a rule".to_owned())
    })?;
    Ok(Program {
        module,
        optimised: false,
    })
}
