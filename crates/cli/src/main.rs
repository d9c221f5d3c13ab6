//! The `assay` program: hands its arguments to the library and exits as it says.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_metal::run(std::env::args_os())
}
