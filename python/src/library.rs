//! Compiled source or a metallib, and the kernels in it.

use crate::constants::{self, Constants};
use crate::kernel::Kernel;
use crate::{background, errors};
use assay_device::CpuKernel;
use assay_front::{Bytes, SourceOptions};
use assay_metal::api::{self, Refused};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A library of kernels.
#[pyclass(frozen, module = "assay._native")]
pub(crate) struct Library {
    source: Arc<Source>,
}

/// What a library was made of, and its kernels: as they run, and when first asked for, as they are checked.
pub(crate) struct Source {
    path: PathBuf,
    bytes: Bytes,
    options: SourceOptions,
    plain: assay_front::Library,
    checked: OnceLock<Result<assay_front::Library, Refused>>,
}

impl Source {
    fn new(path: PathBuf, bytes: Bytes, options: SourceOptions) -> Result<Source, Refused> {
        let plain = api::library(&path, &bytes, &options)?;
        Ok(Source {
            path,
            bytes,
            options,
            plain,
            checked: OnceLock::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn plain(&self) -> &assay_front::Library {
        &self.plain
    }

    /// The kernels made to be checked: source is compiled again, with nothing optimised away.
    pub(crate) fn checked(&self) -> Result<&assay_front::Library, Refused> {
        let made = self.checked.get_or_init(|| {
            let options = SourceOptions {
                checked: true,
                ..self.options.clone()
            };
            api::library(&self.path, &self.bytes, &options)
        });
        made.as_ref().map_err(Clone::clone)
    }
}

#[pymethods]
impl Library {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python's function")]
    #[pyo3(signature = (name, bytes, *, defines, include_folders, include_files, std, fast_math))]
    fn new(
        py: Python<'_>,
        name: PathBuf,
        bytes: PyBackedBytes,
        defines: Vec<String>,
        include_folders: Vec<PathBuf>,
        include_files: Vec<PathBuf>,
        std: &str,
        fast_math: bool,
    ) -> PyResult<Library> {
        let standard = std
            .parse()
            .map_err(|why: String| errors::usage(py, &why, "std='metal3.1' is the default"))?;
        let options = SourceOptions {
            fast_math,
            standard,
            include_folders,
            include_files,
            link_files: Vec::new(),
            defines,
            checked: false,
            within: None,
        };
        let made = background::run(py, move || Source::new(name, Bytes::new(bytes), options))?;
        match made {
            Ok(source) => Ok(Library {
                source: Arc::new(source),
            }),
            Err(refused) => Err(errors::refused(py, &refused)),
        }
    }

    /// The names of the kernels, in the order of the source.
    #[getter]
    fn names(&self) -> Vec<String> {
        let kernels = self.source.plain.kernels().iter();
        kernels.map(|kernel| kernel.name.clone()).collect()
    }

    /// A kernel ready to run, with values for its function constants: `KEY=TYPE:VALUE` or `KEY=VALUE`.
    fn kernel(&self, py: Python<'_>, name: String, given: Vec<String>) -> PyResult<Kernel> {
        let source = Arc::clone(&self.source);
        let made = background::run(py, move || prepare(&source, name, &given))?;
        match made {
            Ok((kernel, constants)) => Ok(Kernel::new(Arc::clone(&self.source), kernel, constants)),
            Err(Ok(message)) => Err(errors::usage(py, &message, CONSTANT_FORMS)),
            Err(Err(refused)) => Err(errors::refused(py, &refused)),
        }
    }
}

const CONSTANT_FORMS: &str =
    "constants={'name': 3} or {0: 'uint:3'}: bool, int, uint, float, half, …";

type Prepared = Result<(CpuKernel, Constants), Result<String, Refused>>;

fn prepare(source: &Source, name: String, given: &[String]) -> Prepared {
    let refused = |error| Err(api::refused(source.path(), error));
    let kernel = source.plain().kernel(&name).map_err(refused)?;
    let constants = constants::read(source.path(), kernel, given)?;
    let kernel = CpuKernel::new(source.plain(), &name, &constants.values, None);
    let kernel = kernel.map_err(|error| Err(api::refused_by_device(error)))?;
    Ok((kernel, constants))
}
