//! A kernel that is called on arrays.

use crate::constants::Constants;
use crate::interrupt::Watch;
use crate::library::Source;
use crate::memory::Borrowed;
use crate::{background, errors};
use assay_device::{ArgumentBinding, CpuKernel, Error, Extent, Lent};
use assay_front::Checks;
use assay_metal::api;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// A kernel ready to run.
#[pyclass(frozen, module = "assay._native")]
pub(crate) struct Kernel {
    source: Arc<Source>,
    constants: Constants,
    plain: CpuKernel,
    checked: OnceLock<CpuKernel>,
}

/// The sizes of a dispatch.
#[derive(Clone, Copy)]
struct Geometry {
    extent: Extent,
    threadgroup: [u32; 3],
}

/// What a run gave: seconds of this CPU, what was found, what was counted (both as JSON).
type Ran = (f64, Option<String>, Option<String>);

impl Kernel {
    pub(crate) fn new(source: Arc<Source>, plain: CpuKernel, constants: Constants) -> Self {
        Kernel {
            source,
            constants,
            plain,
            checked: OnceLock::new(),
        }
    }

    /// The kernel made to be checked. What cannot be made a checked program is checked in its optimised form.
    fn checked(&self, py: Python<'_>) -> PyResult<&CpuKernel> {
        if let Some(kernel) = self.checked.get() {
            return Ok(kernel);
        }
        let source = Arc::clone(&self.source);
        let (name, constants) = (
            self.plain.facts().function.clone(),
            self.constants.values.clone(),
        );
        let made = background::run(py, move || {
            let library = source.checked()?;
            let kernel = CpuKernel::new(library, &name, &constants, Some(Checks::default()));
            match kernel {
                Err(Error::Pipeline { .. } | Error::Unsupported { .. }) => {
                    CpuKernel::new(source.plain(), &name, &constants, None)
                }
                made => made,
            }
            .map_err(api::refused_by_device)
        })?;
        let made = made.map_err(|refused| errors::refused(py, &refused))?;
        Ok(self.checked.get_or_init(|| made))
    }
}

#[pymethods]
impl Kernel {
    /// The kernel's name.
    #[getter]
    fn name(&self) -> &str {
        &self.plain.facts().function
    }

    /// The function constants that were given a value, as `KEY=TYPE:VALUE`.
    #[getter]
    fn constants(&self) -> Vec<String> {
        self.constants.texts.clone()
    }

    /// Most threads of a threadgroup.
    #[getter]
    fn max_threads(&self) -> u32 {
        self.plain.facts().max_threads
    }

    /// Bytes of threadgroup memory that the kernel declares.
    #[getter]
    fn threadgroup_memory(&self) -> u32 {
        self.plain.facts().threadgroup_memory
    }

    /// What a call binds, in the order of the source.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let required: Vec<ArgumentBinding> = self.plain.program().required().collect();
        let mut all = Vec::new();
        for argument in &self.plain.facts().arguments {
            let (kind, index) = match argument.binding {
                ArgumentBinding::Buffer(index) => ("buffer", index),
                ArgumentBinding::Threadgroup(index) => ("threadgroup", index),
                _ => continue,
            };
            let entry = PyDict::new(py);
            entry.set_item("name", &argument.name)?;
            entry.set_item("kind", kind)?;
            entry.set_item("index", index)?;
            entry.set_item("type", &argument.type_name)?;
            entry.set_item("space", argument.space.map(|space| space.name()))?;
            entry.set_item("access", format!("{:?}", argument.access).to_lowercase())?;
            entry.set_item("size", argument.size)?;
            entry.set_item("align", argument.align)?;
            entry.set_item("buffer_size", argument.buffer_size)?;
            entry.set_item("required", required.contains(&argument.binding))?;
            all.push(entry);
        }
        Ok(all)
    }

    /// Runs the kernel on what is bound: objects with the buffer protocol by index, and bytes of threadgroup memory.
    /// Returns seconds of this CPU, and as JSON what checking found and what was counted.
    #[allow(clippy::too_many_arguments, reason = "keywords of Python's function")]
    fn run(
        &self,
        py: Python<'_>,
        bound: Vec<(u32, Bound<'_, PyAny>)>,
        memory: Vec<(u32, u32)>,
        grid: [u32; 3],
        groups: bool,
        threadgroup: [u32; 3],
        check: bool,
        counts: bool,
    ) -> PyResult<Ran> {
        let extent = if groups {
            Extent::Groups(grid)
        } else {
            Extent::Threads(grid)
        };
        let geometry = Geometry {
            extent,
            threadgroup,
        };
        let checked = if check { Some(self.checked(py)?) } else { None };
        let borrowed = Borrowed::new(py, &bound)?;
        let result = py.detach(|| self.execute(geometry, &borrowed, &memory, checked, counts));
        match result {
            Ok(ran) => Ok(ran),
            Err(error) => {
                // Ctrl-C: the exception of Python's own handler, if this thread is the one that handles it.
                if error == Error::Cancelled {
                    py.check_signals()?;
                }
                Err(errors::of_device(py, error))
            }
        }
    }
}

impl Kernel {
    fn execute(
        &self,
        Geometry {
            extent,
            threadgroup,
        }: Geometry,
        borrowed: &Borrowed,
        memory: &[(u32, u32)],
        checked: Option<&CpuKernel>,
        counts: bool,
    ) -> Result<Ran, Error> {
        let watch = Watch::start();
        let cancel = Some(watch.flag());
        let with_memory = |mut lent: Vec<(u32, Lent)>| {
            let memory = memory.iter();
            lent.extend(memory.map(|&(index, bytes)| (index, Lent::ThreadgroupMemory(bytes))));
            lent
        };
        // SAFETY: each run below ends before this function, and `borrowed` lives longer.
        let lend = || with_memory(unsafe { borrowed.lend() });
        let start = Instant::now();
        let seconds = || start.elapsed().as_secs_f64();
        let text = |value: serde_json::Value| Some(value.to_string());
        match (checked, counts) {
            (None, false) => {
                self.plain.run(extent, threadgroup, lend(), cancel)?;
                Ok((seconds(), None, None))
            }
            (None, true) => {
                let counted = self.plain.count(extent, threadgroup, lend(), cancel)?;
                Ok((seconds(), None, text(api::counts(&counted))))
            }
            (Some(kernel), counts) => {
                // A kernel may change its inputs, so only one of the two runs is on the arrays themselves.
                let counted = match counts {
                    true => {
                        let copies = with_memory(borrowed.copies());
                        Some(self.plain.count(extent, threadgroup, copies, cancel)?)
                    }
                    false => None,
                };
                let reports = kernel.check(extent, threadgroup, lend(), cancel)?;
                let counted = counted.map(|counted| api::counts(&counted).to_string());
                Ok((seconds(), text(api::findings(&reports)), counted))
            }
        }
    }
}
