//! Writes the JavaScript and the types of a module: `assay-web-bindgen MODULE.wasm FOLDER`.

use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        eprintln!("assay-web-bindgen: name a module and a folder");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(&module)
        .out_name("engine")
        .typescript(true);
    let made = bindgen
        .web(true)
        .and_then(|bindgen| bindgen.generate(&folder));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("assay-web-bindgen: {error:#}");
            ExitCode::FAILURE
        }
    }
}
