//! Values of function constants: Python's numbers get the types the kernel declares.

use assay_front::{ConstantKey, Form, GivenConstant, Kernel, OpenConstants, Request};
use assay_metal::api::{self, Refused};
use assay_ssa::{Scalar, Type};
use std::path::Path;

/// Values of function constants, as they were read and as `KEY=TYPE:VALUE`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    pub(crate) values: Vec<GivenConstant>,
    pub(crate) texts: Vec<String>,
}

/// Reads `KEY=TYPE:VALUE`, and `KEY=VALUE` for a value whose type the kernel knows.
pub(crate) fn read(
    path: &Path,
    kernel: &Kernel,
    texts: &[String],
) -> Result<Constants, Result<String, Refused>> {
    if texts.is_empty() {
        return Ok(Constants::default());
    }
    let request = Request {
        constants: &[],
        open: OpenConstants::Keep,
        form: Form::AsRead,
    };
    let read = kernel.program_as(&request);
    let module = read.map_err(|error| Err(api::refused(path, error)))?.module;
    let type_of = |key: &ConstantKey| {
        let mut all = module.function_constants.as_slice().iter();
        let found = all.find(|constant| key.is(constant.index, &constant.name));
        found.map(|constant| constant.ty)
    };
    let mut constants = Constants::default();
    for text in texts {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let id = match key.parse() {
            Ok(index) => ConstantKey::Index(index),
            Err(_) => ConstantKey::Name(key.to_owned()),
        };
        let typed = match value.contains(':') {
            true => text.clone(),
            false => format!("{key}={}:{value}", type_name(type_of(&id), value)),
        };
        let value = typed.parse::<GivenConstant>();
        constants
            .values
            .push(value.map_err(|error| Ok(error.to_string()))?);
        constants.texts.push(typed);
    }
    Ok(constants)
}

/// The type a value is written in for a constant of a declared type; of one that does not exist the value's own, for the
/// front end to say that it does not exist.
fn type_name(declared: Option<Type>, value: &str) -> &'static str {
    let truth = value == "true" || value == "false";
    let negative = value.starts_with('-');
    match declared.and_then(|ty| ty.element()) {
        Some(Scalar::F32) => "float",
        Some(Scalar::F16) => "half",
        Some(Scalar::BF16) => "bfloat",
        _ if truth => "bool",
        Some(Scalar::I8) if negative => "char",
        Some(Scalar::I8) => "uchar",
        Some(Scalar::I16) if negative => "short",
        Some(Scalar::I16) => "ushort",
        Some(Scalar::I64) if negative => "long",
        Some(Scalar::I64) => "ulong",
        _ if value.contains('.') => "float",
        _ if negative => "int",
        _ => "uint",
    }
}
