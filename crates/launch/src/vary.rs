//! A launch varied, so that kernels that are nearly alike compute different things.
//!
//! A launch that someone wrote, or that was guessed, is often kind to mistakes: outputs start as zeros, so that a dropped
//! `+ y[i]` is not seen; sizes are multiples of every tile and the grid has as many threads as there are elements, so that no
//! guard is ever needed; several scalars have the same value. [`Written::trials`] takes these kindnesses away, one by one.
//! Not every kernel is made for all of them: whoever runs a trial first asks whether the kernel is clean with it.

use crate::contents::{Contents, Made, Values, Word};
use crate::element::Element;
use crate::formula::{Formula, Sizes};
use crate::inputs::{is_output, of_buffer};
use crate::mistake::Mistake;
use crate::template::Grid;
use crate::written::{Target, Written};
use crate::{Extent, Size};
use assay_ssa::{Argument, Binding};

/// A launch that differs from the one it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// How it differs, in words.
    pub name: &'static str,
    /// The launch, at one value of each size.
    pub launch: Written,
}

/// Sizes beyond this are made smaller: trials are many, and run on a CPU.
const LARGEST: u64 = 128;

/// Seeds of trials are this far from those of the launch.
const OTHER: u64 = 0x5eed;

/// Floats of a trial with few values, and whole numbers that outputs start with, are below this.
const FEW: u64 = 4;

impl Written {
    /// The launch, whose names are resolved, varied: with other numbers in inputs and something in outputs, with other
    /// scalars, with equal numbers among the inputs, at odd sizes, and at odd sizes with more threads than elements.
    pub fn trials(&self, arguments: &[Argument]) -> Result<Vec<Trial>, Mistake> {
        let small = self.at_sizes(|_, value| value.min(LARGEST));
        let mut filled = small.clone();
        filled.fill_outputs(arguments);
        let mut others = filled.clone();
        others.reseed(OTHER);
        let mut scalars = others.clone();
        scalars.vary_scalars(true)?;
        let mut ties = filled.clone();
        ties.repeat_numbers(arguments);
        let mut odd = self.at_sizes(odd_size);
        odd.fill_outputs(arguments);
        odd.reseed(2 * OTHER);
        odd.vary_scalars(false)?;
        let mut whole = odd.clone();
        whole.add_threads()?;
        let mut trials = vec![
            Trial {
                name: "other inputs",
                launch: others,
            },
            Trial {
                name: "equal inputs",
                launch: ties,
            },
            Trial {
                name: "whole threadgroups",
                launch: whole,
            },
        ];
        if !self.sizes.is_empty() {
            let name = "odd sizes";
            trials.push(Trial { name, launch: odd });
        }
        if !self.bytes.is_empty() {
            let name = "other scalars";
            let launch = scalars;
            trials.push(Trial { name, launch });
        }
        Ok(trials)
    }

    /// The launch with the names of arguments in place of their indices, as far as a kernel's arguments have names.
    #[must_use]
    pub fn named(&self, arguments: &[Argument]) -> Written {
        let name = |target: &mut Target, binding: &dyn Fn(u32) -> Binding| {
            let Some(index) = target.index() else { return };
            let mut all = arguments.iter();
            let found = all.find(|argument| argument.binding == binding(index));
            if let Some(argument) = found.filter(|it| !it.name.is_empty()) {
                *target = Target::Name(argument.name.clone());
            }
        };
        let mut launch = self.clone();
        for target in launch.buffer_targets_mut() {
            name(target, &Binding::Buffer);
        }
        for bound in &mut launch.memory {
            name(&mut bound.target, &Binding::Threadgroup);
        }
        for bound in &mut launch.textures {
            name(&mut bound.target, &Binding::Texture);
        }
        for bound in &mut launch.samplers {
            name(&mut bound.target, &Binding::Sampler);
        }
        launch
    }

    /// The launch for a kernel that has other arguments: what both have by name is bound as here, the rest as in another
    /// launch. Both have names in place of indices.
    #[must_use]
    pub fn carried(&self, arguments: &[Argument], rest: &Written) -> Written {
        let mut launch = self.clone();
        let has = |target: &Target| match target {
            Target::Name(name) => arguments.iter().any(|argument| argument.name == *name),
            Target::Index(_) => true,
        };
        launch.buffers.retain(|bound| has(&bound.target));
        launch.bytes.retain(|bound| has(&bound.target));
        launch.tensors.retain(|bound| has(&bound.target));
        launch.memory.retain(|bound| has(&bound.target));
        launch.textures.retain(|bound| has(&bound.target));
        launch.samplers.retain(|bound| has(&bound.target));
        launch.arguments.retain(|bound| has(&bound.target));
        launch.or(rest.clone())
    }

    fn buffer_targets_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        let buffers = self.buffers.iter_mut().map(|bound| &mut bound.target);
        let bytes = self.bytes.iter_mut().map(|bound| &mut bound.target);
        let tensors = self.tensors.iter_mut().map(|bound| &mut bound.target);
        buffers.chain(bytes).chain(tensors)
    }

    /// One value of each size, the first or what is made of it.
    fn at_sizes(&self, value: impl Fn(usize, u64) -> u64) -> Written {
        let sizes = self.sizes.iter().enumerate().map(|(place, size)| Size {
            name: size.name.clone(),
            values: size
                .values
                .iter()
                .take(1)
                .map(|v| value(place, *v))
                .collect(),
        });
        Written {
            sizes: sizes.collect(),
            ..self.clone()
        }
    }

    /// Numbers in what a kernel writes: whether it reads them first is then seen.
    fn fill_outputs(&mut self, arguments: &[Argument]) {
        for bound in &mut self.buffers {
            let Some(index) = bound.index() else { continue };
            let argument = of_buffer(arguments, index);
            if !is_output(argument, &bound.value) || !bound.value.starts_as_zeros() {
                continue;
            }
            let own = argument.and_then(|it| Element::in_metal(&it.type_name));
            if let Contents::Made(made) = &mut bound.value {
                made.word = match made.element.or(own).is_some_and(is_float) {
                    true => Word::Random,
                    false => Word::Index(Formula::number(FEW)),
                };
            }
        }
    }

    /// Other random numbers.
    fn reseed(&mut self, by: u64) {
        for bound in &mut self.buffers {
            if let Some(index) = bound.index() {
                bound.value.reseed(index, by + u64::from(index));
            }
        }
    }

    /// Few different numbers among random floats: conditions meet equal operands and zeros.
    fn repeat_numbers(&mut self, arguments: &[Argument]) {
        for bound in &mut self.buffers {
            let Some(index) = bound.index() else { continue };
            let argument = of_buffer(arguments, index);
            let own = argument.and_then(|it| Element::in_metal(&it.type_name));
            if let Contents::Made(made) = &mut bound.value
                && made.word == Word::Random
                && made.element.or(own).is_some_and(is_float)
            {
                made.word = Word::Index(Formula::number(FEW));
            }
        }
    }

    /// Every scalar has a value that no other has; whole numbers become smaller, so that what they bound is still there.
    fn vary_scalars(&mut self, whole_numbers: bool) -> Result<(), Mistake> {
        let sizes = self.first_sizes()?;
        let mut number = 0;
        for bound in &mut self.bytes {
            if let Some(values) = varied(&bound.value, &sizes, whole_numbers, &mut number) {
                bound.value = values;
            }
        }
        Ok(())
    }

    /// A grid of whole threadgroups with more threads than before, as a host dispatches that counts threadgroups.
    fn add_threads(&mut self) -> Result<(), Mistake> {
        let sizes = self.first_sizes()?;
        let (Ok((extent, threadgroup)), Some(Grid::Threads(_))) =
            (self.geometry(&sizes), self.grid.as_ref())
        else {
            return Ok(());
        };
        let Extent::Threads(threads) = extent else {
            return Ok(());
        };
        let mut more = [0u64; 3];
        for ((more, threads), group) in more.iter_mut().zip(threads).zip(threadgroup) {
            *more = u64::from(threads).next_multiple_of(u64::from(group.max(1)));
        }
        if more == threads.map(u64::from) {
            let [x, ..] = &mut more;
            *x += u64::from(threadgroup[0].max(1));
        }
        self.grid = Some(Grid::Threads(more.map(Formula::number)));
        Ok(())
    }
}

fn is_float(element: &Element) -> bool {
    matches!(element.name, "f32" | "f16" | "bf16")
}

/// An odd size that no tile divides, smaller than the one it stands for and another for every size.
fn odd_size(place: usize, value: u64) -> u64 {
    if value < 8 {
        return value;
    }
    let smaller = value.min(LARGEST) / 4 * 3;
    (smaller + 2 * place as u64) | 1
}

/// The values of an argument, each another than it was; none if there is nothing that may vary.
fn varied(values: &Values, sizes: &Sizes, whole_numbers: bool, number: &mut u64) -> Option<Values> {
    let text = values.to_string();
    let mut element: Option<&Element> = None;
    let mut words = Vec::new();
    for value in crate::flags::top_level(&text) {
        let value = match value.split_once(':') {
            Some((name, value)) => {
                element = Some(Element::named(name)?);
                value
            }
            None => value,
        };
        let element = element?;
        *number += 1;
        words.push(format!(
            "{}:{}",
            element.name,
            other(element, value.trim(), sizes, whole_numbers, *number)
        ));
    }
    Some(Values::new(&words.join(","), None))
}

/// Another value for a scalar.
fn other(element: &Element, text: &str, sizes: &Sizes, whole_numbers: bool, number: u64) -> String {
    if is_float(element) {
        return match text.parse::<f64>() {
            // Eighths have a value in every type.
            Ok(value) if value.is_finite() && value.abs() < 1e3 => {
                format!("{}", value * 1.25 + 0.125 * number as f64)
            }
            _ => text.to_owned(),
        };
    }
    let value = Formula::parse(text).and_then(|formula| formula.integer(sizes));
    match value {
        Ok(value) if whole_numbers && element.name != "bool" && value > number + 1 => {
            (value - number).to_string()
        }
        _ => text.to_owned(),
    }
}

/// What a launch asks less of a kernel than another, in words: sizes that shrank, inputs that became zeros, scalars that did.
/// Both name arguments alike.
///
/// ```
/// use assay_launch::{Written, weaker};
/// let launch = |text| Written::parse(text).map(|(_, launch)| launch);
/// let before = launch("--size N=512,33 --grid N --buffer x=random:f32:N --bytes a=f32:2")?;
/// let after = launch("--size N=512 --grid N --buffer x=zeros:f32:N --bytes a=f32:2")?;
/// assert_eq!(weaker(&before, &after), ["size N is 512 and was 512,33", "x is zeros:f32:N and was random:f32:N"]);
/// # Ok::<(), assay_launch::Mistake>(())
/// ```
pub fn weaker(before: &Written, after: &Written) -> Vec<String> {
    let mut found = Vec::new();
    for size in &before.sizes {
        let now = after.sizes.iter().find(|now| now.name == size.name);
        let largest = |size: &Size| size.values.iter().copied().max();
        match now {
            // A size that is gone may have become a number: extents say what is left.
            None => {}
            Some(now) if largest(now) < largest(size) || now.values.len() < size.values.len() => {
                let (name, now, was) = (&size.name, list(now), list(size));
                found.push(format!("size {name} is {now} and was {was}"));
            }
            Some(_) => {}
        }
    }
    let sizes = |launch: &Written| launch.first_sizes().unwrap_or_default();
    let (old, new) = (sizes(before), sizes(after));
    for bound in &before.buffers {
        let now = after.buffers.iter().find(|now| now.target == bound.target);
        if let Some(now) = now
            && now.value != bound.value
            && (worth(&now.value) < worth(&bound.value)
                || elements(&now.value, &new) < elements(&bound.value, &old))
        {
            let target = &bound.target;
            found.push(format!("{target} is {} and was {}", now.value, bound.value));
        }
    }
    for bound in &before.bytes {
        let now = after.bytes.iter().find(|now| now.target == bound.target);
        let is_zero = |values: &Values, sizes| {
            let bytes = values.bytes(sizes);
            bytes.is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0))
        };
        if let Some(now) = now
            && is_zero(&now.value, &new)
            && !is_zero(&bound.value, &old)
        {
            let target = &bound.target;
            found.push(format!("{target} is {} and was {}", now.value, bound.value));
        }
    }
    found
}

fn list(size: &Size) -> String {
    let words: Vec<String> = size.values.iter().map(u64::to_string).collect();
    words.join(",")
}

/// How well contents tell kernels apart.
fn worth(contents: &Contents) -> u32 {
    match contents {
        Contents::File(_) => 2,
        Contents::Same(_) => 0,
        Contents::Made(made) => match made.word {
            Word::Zeros | Word::Empty | Word::Out => 0,
            Word::Iota => 1,
            Word::Random | Word::Index(_) => 2,
        },
    }
}

fn elements(contents: &Contents, sizes: &Sizes) -> Option<u64> {
    match contents {
        Contents::Made(Made {
            shape: Some(shape), ..
        }) => shape.elements(sizes).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_ssa::ArgumentAccess;

    fn argument(name: &str, index: u32, access: ArgumentAccess) -> Argument {
        Argument {
            type_name: "float".to_owned(),
            size: 4,
            access,
            ..Argument::new(name, Binding::Buffer(index))
        }
    }

    #[test]
    fn every_kindness_is_taken_away() {
        let (_, launch) = Written::parse(
            "--size N=512 --size K=4 --grid N --threadgroup 64 --buffer 0=random:f32:N --buffer 1=zeros:f32:N \
             --bytes 2=u32:N --bytes 3=f32:0.5",
        )
        .unwrap();
        let arguments = [
            argument("x", 0, ArgumentAccess::Read),
            argument("y", 1, ArgumentAccess::ReadWrite),
        ];
        let trials = launch.trials(&arguments).unwrap();
        let of = |name: &str| {
            let trial = trials.iter().find(|trial| trial.name == name);
            trial.unwrap().launch.to_string()
        };
        assert_eq!(
            of("other inputs"),
            "--size N=128 --size K=4 --grid N --threadgroup 64 --buffer 0=random:f32:N:24302 --buffer 1=random:f32:N:24304 \
             --bytes 2=u32:N --bytes 3=f32:0.5"
        );
        assert!(of("equal inputs").contains("0=index:f32:N:4 --buffer 1=index:f32:N:4"));
        assert!(of("odd sizes").starts_with("--size N=97 --size K=4 --grid N --threadgroup 64 "));
        assert!(of("whole threadgroups").contains("--grid 128 --threadgroup 64 "));
        assert!(of("other scalars").ends_with("--bytes 2=u32:127 --bytes 3=f32:0.875"));
    }

    #[test]
    fn a_launch_follows_names_to_other_indices() {
        let launch = |text: &str| Written::parse(text).unwrap().1;
        let before = [
            argument("x", 0, ArgumentAccess::Read),
            argument("y", 1, ArgumentAccess::Write),
        ];
        let after = [
            argument("scale", 0, ArgumentAccess::Read),
            argument("x", 1, ArgumentAccess::Read),
            argument("out", 2, ArgumentAccess::Write),
        ];
        let old = launch("--grid 8 --buffer 0=random:f32:8 --buffer 1=zeros:f32:8").named(&before);
        assert_eq!(
            old.to_string(),
            "--grid 8 --buffer x=random:f32:8 --buffer y=zeros:f32:8"
        );
        let new =
            launch("--grid 4 --buffer 0=iota:f32:8 --buffer 1=zeros:f32:8 --buffer 2=zeros:f32:4");
        assert_eq!(
            old.carried(&after, &new.named(&after)).to_string(),
            "--grid 8 --buffer x=random:f32:8 --buffer scale=iota:f32:8 --buffer out=zeros:f32:4"
        );
    }

    #[test]
    fn a_launch_is_weaker_where_it_asks_less() {
        let launch = |text: &str| Written::parse(text).unwrap().1;
        let before = launch("--size N=64 --grid N --buffer 0=random:f32:N --bytes 1=u32:N");
        let check = |after: &str, expected: &[&str]| {
            assert_eq!(weaker(&before, &launch(after)), expected, "{after}");
        };
        check(
            "--size N=128 --grid N/2 --buffer 0=random:f32:N:7 --bytes 1=u32:N",
            &[],
        );
        check(
            "--size N=64 --grid N --buffer 0=random:f32:8 --bytes 1=u32:0",
            &[
                "0 is random:f32:8 and was random:f32:N",
                "1 is u32:0 and was u32:N",
            ],
        );
    }
}
