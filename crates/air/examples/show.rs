//! Prints the program form of one kernel of a metallib or bitcode file.

#![allow(clippy::print_stdout, reason = "a program")]

use assay_air::{Options, llvm, lower};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: show FILE [KERNEL]")?;
    let kernel = args.next();
    let bytes = std::fs::read(path)?;
    let contents = assay_container::open(&bytes)?;
    let mut codes: Vec<&[u8]> = Vec::new();
    for library in contents.metallibs() {
        let named = library.functions().iter().filter(|function| {
            kernel
                .as_deref()
                .is_none_or(|kernel| kernel == function.name)
        });
        codes.extend(named.filter_map(|function| function.bitcode));
    }
    if codes.is_empty() {
        codes.push(&bytes);
    }
    for code in codes {
        for module in llvm::read(code)? {
            let options = Options {
                kernel: kernel.clone(),
                ..Options::default()
            };
            println!("{}", assay_ssa::print(&lower(&module, &options)?));
        }
    }
    Ok(())
}
