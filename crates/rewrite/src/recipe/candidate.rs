//! What recipes take and make: a kernel with its geometry.

use super::{Geometry, Refusal, RefusalKind};
use assay_ssa::{Function, Inst, InstData, Kernel, Module};

/// A kernel and how it is dispatched.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The program, optimised with its loops kept.
    pub module: Module,
    /// Name of the kernel.
    pub kernel: String,
    /// Its geometry.
    pub geometry: Geometry,
}

/// How a result compares with that of the kernel a recipe was applied to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// The same bytes.
    Exact,
    /// Floats are added or multiplied in another order.
    Reassociating,
}

impl Class {
    /// Its letter: `E` or `R`.
    pub const fn letter(self) -> char {
        match self {
            Class::Exact => 'E',
            Class::Reassociating => 'R',
        }
    }

    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Exact => "exact",
            Class::Reassociating => "reassociating",
        }
    }
}

/// What a step made.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The new kernel.
    pub candidate: Candidate,
    /// How its result compares with the old one's.
    pub class: Class,
}

impl Candidate {
    /// The kernel's declaration.
    pub fn declaration(&self) -> Result<&Kernel, Refusal> {
        let missing = || {
            let why = format!("there is no kernel \"{}\"", self.kernel);
            Refusal::new(RefusalKind::Program, &why)
        };
        self.module.kernel(&self.kernel).ok_or_else(missing)
    }

    /// The kernel's function.
    pub fn function(&self) -> Result<&Function, Refusal> {
        let id = self.declaration()?.function;
        let missing = || Refusal::new(RefusalKind::Program, "the kernel has no function");
        self.module.functions.get(id).ok_or_else(missing)
    }

    /// Returns true if the program calculates with floats of 16 bits, and does not only store them.
    pub fn is_narrow(&self) -> bool {
        let narrow = |function: &Function, inst: Inst| {
            let ty = function.result_type(inst);
            let half = ty.is_float() && ty.element().is_some_and(|element| element.bytes() == 2);
            half && matches!(
                function.inst(inst),
                InstData::Binary { .. } | InstData::Ternary { .. }
            )
        };
        self.function().is_ok_and(|function| {
            let mut blocks = function.blocks().iter();
            blocks.any(|&block| {
                function
                    .insts(block)
                    .iter()
                    .any(|&inst| narrow(function, inst))
            })
        })
    }

    /// The same kernel with another function and geometry.
    pub(super) fn with(
        &self,
        function: Function,
        geometry: Geometry,
    ) -> Result<Candidate, Refusal> {
        let id = self.declaration()?.function;
        let mut made = self.clone();
        made.module.functions[id] = function;
        made.geometry = geometry;
        Ok(made)
    }

    /// Declares that threadgroups may have so many threads, if the kernel declares how many.
    pub(super) fn allow(&mut self, threads: u32) {
        let name = &self.kernel;
        let kernel = self
            .module
            .kernels
            .iter_mut()
            .find(|known| known.name == *name);
        if let Some(kernel) = kernel {
            kernel.max_threads = kernel.max_threads.map(|_| threads);
        }
    }

    /// Gives the kernel another declaration and function.
    pub(super) fn replace(&mut self, kernel: Kernel, function: Function) -> Result<(), Refusal> {
        self.declaration()?;
        self.module.functions[kernel.function] = function;
        let name = &self.kernel;
        let mut kernels = self.module.kernels.iter_mut();
        if let Some(place) = kernels.find(|known| known.name == *name) {
            *place = kernel;
        }
        Ok(())
    }

    /// Refuses a program that breaks a rule of the program form.
    pub(super) fn verified(&self) -> Result<(), Refusal> {
        assay_ssa::verify(&self.module).map_err(|errors| {
            let first = errors.first().map(ToString::to_string);
            let rule = first.unwrap_or_default();
            Refusal::new(
                RefusalKind::Program,
                &format!("the result breaks a rule: {rule}"),
            )
        })
    }

    /// The kernel as Metal source.
    pub fn print(&self) -> Result<String, crate::PrintError> {
        crate::print(&self.module, &self.kernel)
    }
}
