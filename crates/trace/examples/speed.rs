#![allow(missing_docs, clippy::print_stdout)]
use assay_trace::*;
struct F(std::path::PathBuf);
impl Source for F {
    fn open(&self) -> std::io::Result<Box<dyn std::io::Read + '_>> {
        Ok(Box::new(std::fs::File::open(&self.0)?))
    }
    fn size(&self) -> Option<u64> {
        std::fs::metadata(&self.0).ok().map(|m| m.len())
    }
}
fn main() {
    let t = std::time::Instant::now();
    let mut bytes = 0;
    let mut l = Loader::new(LoadOptions::default());
    for a in std::env::args().skip(1) {
        bytes += std::fs::metadata(&a).unwrap().len();
        if let Err(e) = l.add(&a, &F(a.clone().into()), &mut |_| {}) {
            println!("{a}: {e}");
        }
    }
    let r = l.finish().unwrap();
    let s = t.elapsed().as_secs_f64();
    println!(
        "{} rows gpu, {:.3} s, {:.0} MB/s; warnings {:?}",
        r.events.gpu.len(),
        s,
        bytes as f64 / 1e6 / s,
        r.warnings
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!(
        "{}",
        status
            .lines()
            .filter(|l| l.starts_with("VmHWM"))
            .collect::<String>()
    );
}
