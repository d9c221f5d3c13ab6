//! What the command line binds, without filling what nothing touches.

use super::task::failure;
use crate::failure::Failure;
use crate::launch::{self, Inputs, LaunchArgs};
use assay_emu::Fill;
use assay_launch::contents::{BUFFER_FORMS, extents};
use assay_launch::element::Element;
use assay_launch::{Formula, Sizes};
use assay_predict::{Argument, Memory};

/// Contents of a buffer that are made when they are touched.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OnTouch {
    bytes: u64,
    fill: Fill,
}

/// Everything that was given.
#[derive(Debug)]
pub(crate) struct Given {
    on_touch: Vec<(u32, OnTouch)>,
    /// Arrays of files, values and threadgroup memory.
    inputs: Inputs,
}

impl Given {
    pub(crate) fn new(
        args: &LaunchArgs,
        tgmem: &[String],
        sizes: &Sizes,
    ) -> Result<Given, Failure> {
        let mut on_touch: Vec<(u32, OnTouch)> = Vec::new();
        let mut filled = args.clone();
        filled.buffers.clear();
        for text in &args.buffers {
            let (index, value) = launch::split("--buffer", text)?;
            let made = described(value, index, sizes).map_err(|why| {
                Failure::usage(format!("--buffer {text}: {why}")).advice(BUFFER_FORMS)
            })?;
            match made {
                Some(_) if on_touch.iter().any(|(known, _)| *known == index) => {
                    let message = format!("--buffer {index}=…: index {index} is bound twice");
                    return Err(Failure::usage(message));
                }
                Some(made) => on_touch.push((index, made)),
                None => filled.buffers.push(text.clone()),
            }
        }
        let inputs = Inputs::new(&filled, tgmem, sizes)?;
        Ok(Given { on_touch, inputs })
    }

    /// Sizes of threadgroup memory.
    pub(super) fn threadgroup_memory(&self) -> Vec<(u32, u32)> {
        self.inputs.memory.clone()
    }

    /// The arguments, with their buffers added to `memory`.
    pub(crate) fn arguments(&self, memory: &mut Memory) -> Result<Vec<(u32, Argument)>, Failure> {
        let mut arguments = Vec::new();
        for (index, made) in &self.on_touch {
            let buffer = memory
                .add_on_touch(made.bytes, made.fill)
                .map_err(failure)?;
            arguments.push((*index, Argument::Buffer(buffer, 0)));
        }
        for filled in &self.inputs.buffers {
            let buffer = memory.add(&filled.data).map_err(failure)?;
            arguments.push((filled.index, Argument::Buffer(buffer, 0)));
        }
        for (index, bytes) in &self.inputs.bytes {
            arguments.push((*index, Argument::Bytes(bytes.clone())));
        }
        Ok(arguments)
    }
}

/// Contents that follow a rule; nothing for those that must be filled in.
fn described(text: &str, index: u32, sizes: &Sizes) -> Result<Option<OnTouch>, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (word, name, shape, last) = match parts.as_slice() {
        [word @ ("zeros" | "random"), name, shape] => (*word, *name, *shape, None),
        ["random", name, shape, seed] => ("random", *name, *shape, Some(*seed)),
        ["index", name, shape, bound] => ("index", *name, *shape, Some(*bound)),
        _ => return Ok(None),
    };
    let element = Element::named(name).ok_or_else(|| format!("`{name}` is no type"))?;
    let number = |text: &str| -> Result<u64, String> {
        let formula = Formula::parse(text).map_err(|error| error.to_string())?;
        formula.integer(sizes).map_err(|error| error.to_string())
    };
    let mut bytes = element.size as u64;
    for length in extents(shape, sizes)? {
        let product = bytes.checked_mul(length);
        bytes = product.ok_or_else(|| format!("{shape} is more than fits"))?;
    }
    let mut seed = u64::from(index) + 1;
    let whole = |bound: u64, seed: u64| Fill::Index {
        seed,
        bound: bound.min(u64::from(u32::MAX)) as u32,
        bytes: element.size.min(4) as u8,
    };
    let fill = match (word, element.name) {
        ("zeros", _) => Fill::Zero,
        ("index", _) => whole(number(last.unwrap_or_default())?, seed),
        (_, name) => {
            if let Some(given) = last {
                seed = given.parse().map_err(|_| format!("`{given}` is no seed"))?;
            }
            match name {
                "f32" => Fill::Uniform32 {
                    seed,
                    low: -1.0,
                    high: 1.0,
                },
                "f16" => Fill::Float16 { seed },
                "bf16" => Fill::BFloat16 { seed },
                "bool" => whole(2, seed),
                _ => whole(u64::MAX, seed),
            }
        }
    };
    Ok(Some(OnTouch { bytes, fill }))
}

#[cfg(test)]
mod tests {
    use super::described;
    use assay_launch::Sizes;

    #[test]
    fn sizes_may_be_formulas_and_take_no_memory() {
        let sizes = Sizes::from([("N".to_owned(), 1 << 20)]);
        let made = described("random:f32:N*1024", 0, &sizes).unwrap().unwrap();
        assert_eq!(made.bytes, 4 << 30);
        assert!(described("index:u32:N:100", 0, &sizes).unwrap().is_some());
        assert!(described("x.npy", 0, &sizes).unwrap().is_none());
        assert!(described("zeros:f31:2", 0, &sizes).is_err());
        assert!(described("zeros:f32:M", 0, &sizes).is_err());
    }
}
