//! A clang that is WebAssembly, called through the page's JavaScript.
//!
//! The page puts a function `assayClang(arguments, input, files)` where this module runs; it answers at once, with `success`, `stdout`
//! and `stderr`. Precompiled headers take a clang some ten seconds: whoever builds the page makes them ([`clang_headers`]) and the
//! page gives them back ([`clang_keep`]).

use assay_msl::Compiler;
use assay_msl::memory::{Called, Content, call_with, files_below, keep};
use js_sys::{Array, Reflect, Uint8Array};
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_name = assayClang)]
    fn call_clang(
        arguments: Array,
        input: Uint8Array,
        files: Array,
    ) -> std::result::Result<JsValue, JsValue>;
}

/// The folder of headers and precompiled headers, in memory.
pub(crate) const FOLDER: &str = "/assay";

static LOADED: OnceLock<String> = OnceLock::new();

/// The clang that the page has loaded.
pub(crate) fn program() -> Option<Compiler> {
    let identity = LOADED.get()?.clone();
    Some(Compiler {
        identity,
        ..Compiler::new("clang")
    })
}

/// Says that a clang is loaded; its version is part of the key of what is kept.
#[wasm_bindgen]
pub fn clang_loaded(version: &str) {
    LOADED.get_or_init(|| version.to_owned());
    call_with(call);
}

/// The precompiled headers that were made so far: pairs of a name and bytes.
#[wasm_bindgen]
pub fn clang_headers() -> Array {
    let files = files_below(&Path::new(FOLDER).join("headers"));
    pairs(&files)
}

/// Takes a precompiled header that was made before.
#[wasm_bindgen]
pub fn clang_keep(name: &str, bytes: Vec<u8>) {
    keep(PathBuf::from(name), bytes);
}

fn pairs(files: &[(PathBuf, Content)]) -> Array {
    let pairs = files.iter().map(|(path, content)| {
        let name = JsValue::from(path.display().to_string());
        let bytes = Uint8Array::from(&**content);
        JsValue::from(Array::of2(&name, &bytes))
    });
    pairs.collect()
}

fn call(arguments: &[String], input: &[u8], files: &[(PathBuf, Content)]) -> Result<Called> {
    let words: Array = arguments.iter().map(JsValue::from).collect();
    let thrown = |value: JsValue| Error::other(format!("clang ended: {value:?}"));
    let answer = call_clang(words, Uint8Array::from(input), pairs(files)).map_err(thrown)?;
    let field = |name: &str| Reflect::get(&answer, &name.into()).map_err(thrown);
    let bytes = |value: JsValue| value.dyn_into::<Uint8Array>().map(|it| it.to_vec());
    Ok(Called {
        success: field("success")?.is_truthy(),
        stdout: bytes(field("stdout")?).map_err(thrown)?,
        stderr: field("stderr")?.as_string().unwrap_or_default(),
    })
}
