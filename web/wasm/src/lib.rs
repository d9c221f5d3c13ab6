//! The engine as a WebAssembly module: what a page asks, and what it is answered.
//!
//! An [`Opened`] is a file of the page: source, a metallib, an archive. Questions about it come as one JSON object ([`ask::Ask`]) and
//! are answered with the documents that the program `assay` writes for `--format json`, byte for byte. Nothing of the analysis is
//! here: this crate joins calls of `engine` and turns errors into what a page can show.
//!
//! Source needs a compiler, which is not part of this module: the page gives bitcode that was made before ([`Opened::give`]), or a
//! clang that is WebAssembly too ([`clang`]).

mod ask;
mod clang;
mod compare;
mod given;
mod launch;
mod opened;
mod page;
mod run;

use assay_engine::Error;
use serde_json::json;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

pub use clang::{clang_headers, clang_keep, clang_loaded};
pub use compare::diff;
pub use opened::Opened;
pub use page::{chips, explain, style};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(text: &str);
}

/// Says on the console what went wrong before the module ends.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| error(&panic.to_string())));
}

/// The version of the program.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// An error as the page reads it: JSON with `kind`, `message`, `advice` and `details`.
fn thrown(error: &Error) -> JsValue {
    let error = json!({
        "kind": error.kind,
        "message": error.message,
        "advice": error.advice,
        "details": error.details,
    });
    JsValue::from_str(&error.to_string())
}
