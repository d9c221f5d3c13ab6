//! Rules about kernels and globals.

use super::VerifyError;
use crate::kernel::{Binding, Kernel};
use crate::module::{GlobalData, Module};
use crate::ty::Space;

pub(super) fn check(module: &Module, errors: &mut Vec<VerifyError>) {
    for kernel in &module.kernels {
        if let Err(message) = check_kernel(module, kernel) {
            let message = format!("kernel \"{}\": {message}", kernel.name);
            errors.push(VerifyError {
                function: None,
                place: None,
                message,
            });
        }
    }
    for (id, global) in module.globals.iter() {
        let size = module.types.store_size(global.ty) as usize;
        let problem = match (&global.data, global.space) {
            (_, Space::Device | Space::Generic) => {
                Some(format!("is in {} memory", global.space.name()))
            }
            (GlobalData::Bytes(_) | GlobalData::Undefined, Space::Thread) => {
                Some("is in thread memory, and not zero".to_owned())
            }
            (GlobalData::Bytes(_), Space::Threadgroup) => {
                Some("is threadgroup memory with contents".to_owned())
            }
            (GlobalData::Bytes(bytes), _) if bytes.len() != size => Some(format!(
                "has {} bytes of contents for a type of {size}",
                bytes.len()
            )),
            _ => None,
        };
        if let Some(problem) = problem {
            let message = format!("global {id} \"{}\" {problem}", global.name);
            errors.push(VerifyError {
                function: None,
                place: None,
                message,
            });
        }
    }
}

fn check_kernel(module: &Module, kernel: &Kernel) -> Result<(), String> {
    let function = module
        .functions
        .get(kernel.function)
        .ok_or_else(|| format!("its function {} does not exist", kernel.function))?;
    if !function.ret.is_void() {
        return Err(format!("its function returns {}", function.ret));
    }
    let params = function
        .entry()
        .map_or(&[][..], |entry| function.params(entry));
    let mut carried = vec![false; params.len()];
    for argument in &kernel.arguments {
        let is_position = matches!(argument.binding, Binding::Builtin(_));
        match argument.param {
            Some(_) if is_position => {
                return Err(format!(
                    "argument \"{}\" is a position, which is read by calling its builtin",
                    argument.name
                ));
            }
            Some(index) => match carried.get_mut(index as usize) {
                Some(slot) if !*slot => *slot = true,
                Some(_) => return Err(format!("parameter {index} carries two arguments")),
                None => {
                    return Err(format!(
                        "argument \"{}\" is parameter {index} of {}",
                        argument.name,
                        params.len()
                    ));
                }
            },
            None => {}
        }
    }
    match carried.iter().position(|&carried| !carried) {
        Some(index) => Err(format!("parameter {index} of its function is no argument")),
        None => Ok(()),
    }
}
