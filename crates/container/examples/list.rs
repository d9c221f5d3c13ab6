//! Lists the functions of a metallib and says how long opening it took.

use assay_container::mtlb::Metallib;

#[allow(clippy::print_stdout, reason = "an example program")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: list FILE.metallib")?;
    let bytes = std::fs::read(path)?;
    let start = std::time::Instant::now();
    let library = Metallib::parse(&bytes)?;
    let took = start.elapsed();
    for function in library.functions().iter().take(5) {
        let size = function.bitcode.map_or(0, <[u8]>::len);
        println!("{} {} {size} bytes", function.kind, function.name);
    }
    println!("{} functions in {took:?}", library.functions().len());
    Ok(())
}
