//! Machine code for kernels that run long on this CPU: whether it may be made, and by which clang.
//!
//! A process that works for strangers interprets (agents, fleets), and so does what runs strangers' kernels here (the gate's of a pull
//! request, a language model's): they ask for plain [`Settings`].

use assay_device::Settings;

/// Set to 0, all kernels are interpreted.
#[cfg(feature = "native")]
const SWITCH: &str = "ASSAY_NATIVE";

/// Settings of a CPU device for the user's own kernels.
#[cfg(feature = "native")]
pub(crate) fn settings() -> Settings {
    let switched_off = std::env::var_os(SWITCH).is_some_and(|value| value == "0");
    let may = !switched_off && crate::confine::folders().is_none();
    let clang = may.then(|| crate::toolchain::find().ok()).flatten();
    let native = clang.map(|clang| {
        let before = clang.arguments.iter().map(Into::into).collect();
        let folder = crate::toolchain::cache_folder().join("native");
        std::sync::Arc::new(assay_native::Compiler::new(clang.program, before).with_cache(folder))
    });
    Settings {
        native,
        ..Settings::default()
    }
}

/// As above, in a program without machine code.
#[cfg(not(feature = "native"))]
pub(crate) fn settings() -> Settings {
    Settings::default()
}

/// A sentence about what became of a kernel's machine code.
#[cfg(feature = "native")]
pub(crate) fn described(program: &assay_exec::Program, threadgroup: [u32; 3]) -> Option<String> {
    use assay_exec::{NativeError, NativeState};
    Some(match program.native_state(threadgroup) {
        NativeState::Refused(NativeError::NoSource) => return None,
        NativeState::NotWorth => "interpreted: too short for machine code".to_owned(),
        NativeState::InTheMaking => {
            "interpreted: ended before its machine code was made".to_owned()
        }
        NativeState::Refused(why) => format!("interpreted: {why}"),
        NativeState::Ready(made) => {
            let origin = match made.cached {
                true => "from the cache".to_owned(),
                false => format!("made in {} ms (host)", made.compiled.as_millis()),
            };
            let by_interpreter = match &made.interpreted[..] {
                [] => String::new(),
                operations => format!("; interpreted in it: {}", operations.join(", ")),
            };
            format!("machine code for this CPU, {origin}{by_interpreter}")
        }
    })
}

/// As above, in a program without machine code.
#[cfg(not(feature = "native"))]
pub(crate) fn described(_: &assay_exec::Program, _: [u32; 3]) -> Option<String> {
    None
}
