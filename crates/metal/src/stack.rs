//! Call stacks of the program: who encoded a dispatch, who used the API wrongly.

use std::backtrace::Backtrace;
use std::fmt;
use std::sync::Arc;

/// Frames that are shown.
const SHOWN: usize = 8;

/// Characters of a name that are shown: templates have names of thousands.
const NAME: usize = 100;

/// The calls that led to a message. Taking one costs some microseconds; names are looked up when it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Stack(Arc<Backtrace>);

impl Stack {
    /// The calls that led here.
    pub(crate) fn here() -> Self {
        Self(Arc::new(Backtrace::force_capture()))
    }

    /// The program's own calls, innermost first.
    pub(crate) fn frames(&self) -> Vec<String> {
        frames(&self.0.to_string())
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.frames()
            .iter()
            .try_for_each(|frame| write!(f, "\n    {frame}"))
    }
}

/// Of a backtrace in words the frames above those of this library: `  7: name` lines, each perhaps followed by `at file:line:column`.
fn frames(text: &str) -> Vec<String> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(last) = found.last_mut() {
                last.1 = Some(place.to_owned());
            }
        } else if let Some((_, name)) = line.split_once(": ") {
            found.push((name.to_owned(), None));
        }
    }
    // Inlined functions may have no crate in their names, only a place.
    let is_own = |(name, place): &(String, Option<String>)| {
        let place = place.as_deref().unwrap_or("");
        ["assay_metal_api::", "assay_objc::", "assay_foundation::"]
            .iter()
            .any(|own| name.contains(own))
            || place.starts_with(concat!(env!("CARGO_MANIFEST_DIR"), "/src/"))
    };
    let own = found.iter().rposition(is_own).map_or(0, |at| at + 1);
    let is_program = |(name, _): &&(String, Option<String>)| {
        !name.starts_with("__libc_start")
            && !name.starts_with("_start")
            && !name.starts_with("std::")
            && !name.starts_with("<unknown>")
    };
    let program = found.iter().skip(own).filter(is_program).take(SHOWN);
    program
        .map(|(name, place)| {
            let name = plain(name);
            match place {
                Some(place) => format!("{name} at {place}"),
                None => name,
            }
        })
        .collect()
}

/// A function's name as it is in the source, without parameters.
fn plain(name: &str) -> String {
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    let symbol = cpp_demangle::Symbol::new(name).ok();
    let named = symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    let mut named = named.unwrap_or_else(|| name.to_owned());
    if let Some((end, _)) = named.char_indices().nth(NAME) {
        named.truncate(end);
        named.push('…');
    }
    named
}

#[cfg(test)]
mod tests {
    #[test]
    fn frames_of_the_library_and_of_the_start_are_left_out() {
        let text = "   0: assay_metal_api::stack::Stack::here\n             at /lib.rs:3:1\n   1: step\n             at ./main.m:42:7\n   \
                    2: main\n   3: __libc_start_call_main\n   4: <unknown>\n";
        assert_eq!(super::frames(text), ["step at ./main.m:42:7", "main"]);
    }

    #[test]
    fn names_are_those_of_the_source() {
        let name = "_ZN3mlx4core5metal14MetalAllocator11make_bufferEPvm";
        let plain = "mlx::core::metal::MetalAllocator::make_buffer";
        assert_eq!(super::plain(name), plain);
        for other in ["-[Layer forward:]", "main", "_Z", "_ZN9"] {
            assert_eq!(super::plain(other), other);
        }
        assert_eq!(super::plain(&"é".repeat(500)).chars().count(), 101);
    }
}
