//! The prompt that leads from a slow kernel to a proven faster one.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

const NAME: &str = "make-faster";
const ABOUT: &str =
    "From a slow Metal kernel to a proven faster one, with the tools of this server alone";

const STEPS: &str = "\
Make the Metal compute kernel {kernel} of {path} faster on {chip}, and prove that it still computes the same. Use the tools of \
the server assay alone.

1. `inspect` the file: the kernel's arguments and their indices. {launch}
2. `profile` it with the launch: what limits it, its dearest lines, its findings. `explain` has the page of every finding, unit \
and recipe named there.
3. `predict` it for {chip}: the time to beat. It is modelled; differences inside the band are none.
4. `rewrite` with `list`: which recipes apply. Choose by what limits the kernel: reused operands call for coarsening, staging or \
matrices, narrow loads for vectors, few threads for another threadgroup. `explain` says when a recipe hurts.
5. `rewrite` with `recipes`: it returns the new source with its launch in a comment and the predicted change. Try several, also \
one after the other, and keep the fastest; `tune` searches them by itself for as long as you let it. You may also write a kernel of your own and give it as text.
6. `compare` before and after on the buffers the kernel writes, at the sizes of the launch and at odd ones (a prime, 1): class E must \
be the same bit for bit; for class R name the largest difference and say whether it is that of another order of sums.
7. `run` the new kernel with `check` at small sizes: no finding may be left.
8. `diff` both with their launches: faster, slower or a tie.

Go back to 4 as long as it pays. End with: the new source and its launch, predicted time before and after with bands and that they \
are modelled, what was compared at which sizes, what check said, and what you did not try.";

/// Every prompt.
pub(super) fn all() -> Vec<Prompt> {
    let argument = |name: &str, about: &str, needed: bool| {
        PromptArgument::new(name)
            .with_description(about)
            .with_required(needed)
    };
    let arguments = vec![
        argument(
            "path",
            "The file with the kernel, inside the allowed folders",
            true,
        ),
        argument("function", "The kernel, when the file has several", false),
        argument(
            "launch",
            "How it is dispatched, as flags; not needed when the source has a launch comment",
            false,
        ),
        argument("chip", "The chip to be fast on: m2", false),
    ];
    vec![Prompt::new(NAME, Some(ABOUT), Some(arguments)).with_title("Make a kernel faster")]
}

/// A prompt with its arguments in place.
pub(super) fn of(name: &str, given: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    if name != NAME {
        let message = format!("no prompt is called {name}; there is {NAME}");
        return Err(ErrorData::invalid_params(message, None));
    }
    let argument = |name: &str| given.get(name).and_then(Value::as_str);
    let path = argument("path")
        .ok_or_else(|| ErrorData::invalid_params("the argument `path` is needed", None))?;
    let launch = match argument("launch") {
        Some(launch) => format!("Its launch is `{launch}`."),
        None => "Its launch stands in a comment `// assay: launch` of the source; if there is none, write one from the \
                 arguments and say what you assumed."
            .to_owned(),
    };
    let text = STEPS
        .replace("{kernel}", argument("function").unwrap_or("(the only one)"))
        .replace("{path}", path)
        .replace("{chip}", argument("chip").unwrap_or("m2"))
        .replace("{launch}", &launch);
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(ABOUT))
}
