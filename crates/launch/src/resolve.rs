//! Names of arguments become indices, by the signature of a kernel.

use crate::contents::{Contents, Values};
use crate::element::Element;
use crate::formula::Formula;
use crate::mistake::Mistake;
use crate::resources::is_tensor;
use crate::written::{Bound, Target, Written};
use assay_ssa::{Argument, Binding};

/// Most names offered in place of one that does not exist.
const MOST: usize = 8;

impl Written {
    /// Binds everything by index, for a kernel with these arguments. A name that the kernel does not have is a mistake.
    pub fn resolve(&mut self, kernel: &str, arguments: &[Argument]) -> Result<(), Mistake> {
        let signature = Signature { kernel, arguments };
        let buffer = |binding| match binding {
            Binding::Buffer(index) => Some(index),
            _ => None,
        };
        signature.each(&mut self.buffers, "a buffer", buffer)?;
        signature.each(&mut self.bytes, "a buffer", buffer)?;
        signature.each(&mut self.tensors, "a buffer", buffer)?;
        signature.each(
            &mut self.memory,
            "threadgroup memory",
            |binding| match binding {
                Binding::Threadgroup(index) => Some(index),
                _ => None,
            },
        )?;
        signature.each(&mut self.textures, "a texture", |binding| match binding {
            Binding::Texture(index) => Some(index),
            _ => None,
        })?;
        signature.each(&mut self.samplers, "a sampler", |binding| match binding {
            Binding::Sampler(index) => Some(index),
            _ => None,
        })?;
        for bound in std::mem::take(&mut self.arguments) {
            self.bind(&signature, bound)?;
        }
        for (name, _) in &mut self.members {
            signature.member(name)?;
        }
        Ok(())
    }

    /// Binds an argument as what the kernel says it is.
    fn bind(&mut self, signature: &Signature<'_>, bound: Bound<String>) -> Result<(), Mistake> {
        let bad = |why: String| Mistake::usage(format!("--arg {bound}: {why}"));
        let argument = match &bound.target {
            Target::Name(name) => signature.named("--arg", name)?,
            Target::Index(index) => {
                let found = crate::inputs::of_buffer(signature.arguments, *index);
                found.ok_or_else(|| bad(format!("{} has no buffer {index}", signature.kernel)))?
            }
        };
        let text = bound.value.as_str();
        let at = Target::Index;
        match argument.binding {
            Binding::Buffer(index) if is_tensor(argument) => {
                let value = text.parse().map_err(bad)?;
                let target = at(index);
                self.tensors.push(Bound { target, value });
            }
            Binding::Buffer(index) => {
                let contents: Result<Contents, String> = text.parse();
                let is_value = argument.buffer_size.is_some()
                    && matches!(contents, Ok(Contents::File(_)))
                    && !text.ends_with(".npy");
                let target = at(index);
                if is_value {
                    let element = Element::in_metal(&argument.type_name);
                    let value = Values::new(text, element);
                    self.bytes.push(Bound { target, value });
                } else {
                    let value =
                        contents.map_err(|why| bad(why).advice(crate::contents::BUFFER_FORMS))?;
                    self.buffers.push(Bound { target, value });
                }
            }
            Binding::Threadgroup(index) => {
                let value = Formula::parse(text).map_err(|error| bad(error.to_string()))?;
                let target = at(index);
                self.memory.push(Bound { target, value });
            }
            Binding::Texture(index) => self.textures.push(Bound {
                target: at(index),
                value: bound.value,
            }),
            Binding::Sampler(index) => self.samplers.push(Bound {
                target: at(index),
                value: bound.value,
            }),
            Binding::Builtin(_) | Binding::StageIn(_) | Binding::Other => {
                let name = &argument.name;
                let what = format!("\"{name}\" is not bound by a launch: the grid gives it");
                return Err(bad(what).advice(format!("leave out --arg {name}")));
            }
        }
        Ok(())
    }
}

struct Signature<'a> {
    kernel: &'a str,
    arguments: &'a [Argument],
}

impl Signature<'_> {
    /// The argument of a name.
    fn named(&self, option: &str, name: &str) -> Result<&Argument, Mistake> {
        if self.arguments.is_empty() {
            return Err(Mistake::usage(format!(
                "{option} {name}=…: nothing is known of the names of this program's arguments: expected INDEX="
            )));
        }
        let found = self.arguments.iter().find(|it| it.name == name);
        found.ok_or_else(|| {
            let bound = |it: &&Argument| !matches!(it.binding, Binding::Builtin(_));
            let names = self.arguments.iter().filter(bound);
            let names: Vec<&str> = names.map(|it| it.name.as_str()).collect();
            let offered = assay_report::nearest::offered(names.iter().copied(), name, MOST);
            Mistake::usage(format!(
                "{option} {name}=…: {} has no argument named {name}",
                self.kernel
            ))
            .advice(format!("nearest first: {}", offered.join(", ")))
        })
    }

    /// Makes indices of the names of one kind of argument.
    fn each<T>(
        &self,
        list: &mut [Bound<T>],
        what: &str,
        index: impl Fn(Binding) -> Option<u32>,
    ) -> Result<(), Mistake> {
        for bound in list {
            if let Target::Name(name) = &bound.target {
                let argument = self.named("the launch:", name)?;
                let found = index(argument.binding).ok_or_else(|| {
                    Mistake::usage(format!(
                        "the launch binds {what} to {name}, which is {}",
                        kind(argument.binding)
                    ))
                })?;
                bound.target = Target::Index(found);
            }
        }
        Ok(())
    }

    /// `weights.x` becomes `0.x` in the names of members of argument buffers.
    fn member(&self, name: &mut String) -> Result<(), Mistake> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (own, path) = name.split_at(end);
        if own.parse::<u32>().is_ok() || own.is_empty() {
            return Ok(());
        }
        if let Binding::Buffer(index) = self.named("--argument", own)?.binding {
            *name = format!("{index}{path}");
        }
        Ok(())
    }
}

fn kind(binding: Binding) -> &'static str {
    match binding {
        Binding::Buffer(_) => "a buffer",
        Binding::Threadgroup(_) => "threadgroup memory",
        Binding::Texture(_) => "a texture",
        Binding::Sampler(_) => "a sampler",
        _ => "not bound by a launch",
    }
}
