//! The launch of a kernel of the registry, with its oracle.

use crate::failure::Failure;
use assay_bench::Dtype;
use assay_bench::gate::Comparison;
use assay_bench::inputs::{self, Kind};
use assay_bench::oracle;
use assay_bench::registry::{Case, CaseBinding, CaseRole, Kernel, Pass, SizeUse};
use assay_launch::Sizes;
use assay_launch::element::Element;
use assay_predict::{Argument, Memory};
use assay_rewrite::recipe::Geometry;
use assay_tune::session::Level;
use assay_tune::workbench::{Input, Launch, Plan};

/// What outputs hold before a run: NaN in every type.
const UNWRITTEN: [u8; 2] = 0x7fda_u16.to_le_bytes();

/// A kernel of the registry.
pub(super) struct RegistryLaunch<'a> {
    kernel: &'a Kernel,
    pub(super) dtype: Dtype,
    geometry: Geometry,
    timed: Sizes,
    plan: Plan,
    /// The kernel's function.
    pub(super) function: String,
}

impl<'a> RegistryLaunch<'a> {
    pub(super) fn new(kernel: &'a Kernel) -> Result<RegistryLaunch<'a>, Failure> {
        let [pass] = kernel.passes.as_slice() else {
            return Err(Failure::usage(format!(
                "{} is {} dispatches, and one is tuned at a time",
                kernel.name,
                kernel.passes.len()
            ))
            .advice("tune one of its functions as a file, with its launch"));
        };
        let dtype = kernel.dtypes.first().copied().unwrap_or(Dtype::F32);
        let sizes_of = |uses: &[SizeUse]| -> Result<Vec<Sizes>, Failure> {
            let sets = kernel.sizes.iter().filter(|set| uses.contains(&set.use_));
            sets.map(|set| Ok(case(kernel, &set.sizes, dtype)?.sizes))
                .collect()
        };
        let reference = sizes_of(&[SizeUse::Reference])?.into_iter().next();
        let timed = reference
            .ok_or_else(|| Failure::input(format!("{} has no reference size", kernel.name)))?;
        let quick = sizes_of(&[SizeUse::Quick, SizeUse::Odd])?;
        Ok(RegistryLaunch {
            kernel,
            dtype,
            geometry: geometry(kernel, pass, &timed),
            plan: Plan {
                full: quick.clone(),
                quick,
                held_out: sizes_of(&[SizeUse::HeldOut])?,
                unchecked: Vec::new(),
            },
            timed,
            function: format!("{}_{dtype}", pass.function),
        })
    }

    fn case(&self, sizes: &Sizes) -> Result<Case, String> {
        case(self.kernel, sizes, self.dtype).map_err(|failure| failure.message)
    }

    /// The pass as a description writes it.
    pub(super) fn pass(geometry: &assay_tune::attempts::Geometry) -> String {
        let list = |formulas: &[String]| {
            let mut words: Vec<String> =
                formulas.iter().map(|text| format!("\"{text}\"")).collect();
            while words.len() > 1 && words.last().is_some_and(|word| word == "\"1\"") {
                words.pop();
            }
            words.join(", ")
        };
        let (name, grid) = match geometry.groups.is_empty() {
            true => ("grid", &geometry.grid),
            false => ("groups", &geometry.groups),
        };
        let mut text = format!(
            "[[passes]] {name} = [{}] threadgroup = [{}]",
            list(grid),
            list(&geometry.threadgroup)
        );
        for (index, value) in &geometry.numbers {
            text += &format!(", and \"{value}\" bound to {index}");
        }
        text
    }
}

fn case(kernel: &Kernel, sizes: &Sizes, dtype: Dtype) -> Result<Case, Failure> {
    Case::with_sizes(kernel, "tuned", SizeUse::Reference, sizes, dtype)
        .map_err(|error| Failure::input(format!("{}: {error}", kernel.name)))
}

fn geometry(kernel: &Kernel, pass: &Pass, timed: &Sizes) -> Geometry {
    let mut geometry = Geometry::of_pass(pass, &kernel.arguments);
    geometry.sizes = timed.clone();
    geometry
}

impl Launch for RegistryLaunch<'_> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn timed(&self) -> &Sizes {
        &self.timed
    }

    fn sizes(&self, level: Level) -> &[Sizes] {
        self.plan.sizes(level)
    }

    fn inputs(&self, sizes: &Sizes, seed: u64) -> Result<Vec<(u32, Input)>, String> {
        let case = self.case(sizes)?;
        let mut tensors = inputs::random(&case, seed, Kind::Usual).into_iter();
        let mut arguments = Vec::new();
        for argument in &case.arguments {
            let element = Element::named(argument.dtype.name()).ok_or("a type without a name")?;
            arguments.push(match &argument.role {
                CaseRole::Scalar { value } => Input::Bytes(argument.dtype.encode(&[*value])),
                CaseRole::Input { .. } => {
                    let values = tensors.next().map(|tensor| tensor.values);
                    Input::Buffer(element, argument.dtype.encode(&values.unwrap_or_default()))
                }
                CaseRole::Output { .. } | CaseRole::Scratch { .. } => {
                    let bytes = argument.elements() * argument.dtype.size();
                    Input::Buffer(element, UNWRITTEN.into_iter().cycle().take(bytes).collect())
                }
            });
        }
        let pass = case.passes.first().ok_or("no dispatch")?;
        let bound = (0..).zip(&pass.bindings).map(|(index, binding)| {
            let input = match binding {
                CaseBinding::Number(number) => Input::Bytes(number.to_le_bytes().to_vec()),
                CaseBinding::Argument(place) => {
                    let argument = arguments.get(*place).ok_or("a binding without argument")?;
                    argument.clone()
                }
            };
            Ok((index, input))
        });
        bound.collect()
    }

    fn arguments(
        &self,
        sizes: &Sizes,
        memory: &mut Memory,
    ) -> Result<Vec<(u32, Argument)>, String> {
        crate::prediction::registry::arguments_of(&self.case(sizes)?, memory)
            .map_err(|failure| failure.message)
    }

    fn tolerance(&self, _element: &Element) -> f64 {
        0.0
    }

    fn judged(
        &self,
        sizes: &Sizes,
        seed: u64,
        buffers: &[(u32, Vec<u8>)],
    ) -> Option<Result<f64, String>> {
        let judge = || {
            let case = self.case(sizes)?;
            let inputs = inputs::random(&case, seed, Kind::Usual);
            let answers = oracle::answers(&case, &inputs).map_err(|error| error.to_string())?;
            let pass = case.passes.first().ok_or("no dispatch")?;
            let outputs = case.arguments.iter().enumerate();
            let outputs =
                outputs.filter(|(_, argument)| matches!(argument.role, CaseRole::Output { .. }));
            let mut worst = 0.0f64;
            for ((place, argument), answer) in outputs.zip(&answers) {
                let bound = |binding: &CaseBinding| matches!(binding, CaseBinding::Argument(known) if *known == place);
                let index = pass.bindings.iter().position(bound).unwrap_or(usize::MAX);
                let bytes = buffers.iter().find(|(known, _)| *known as usize == index);
                let bytes = bytes.map_or(&[][..], |(_, bytes)| bytes.as_slice());
                let found = Comparison::new(bytes, argument.dtype, answer, &case.tolerance);
                if !found.is_right() {
                    return Err(format!("output \"{}\": {found}", argument.name));
                }
                if let Some(element) = found.worst.filter(|element| element.allowed > 0.0) {
                    worst = worst.max((element.got - element.expected).abs() / element.allowed);
                }
            }
            Ok(worst)
        };
        Some(judge())
    }
}
