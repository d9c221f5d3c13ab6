//! How long opening takes: a library as large as MLX's, an archive, a search inside
//! a large file.

use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MetadataBuilder, MetallibBuilder, image,
};
use assay_container::gpu::Gpu;
use assay_container::open;
use assay_report::nearest::nearest;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

fn library(kernels: usize, module: &[u8]) -> Vec<u8> {
    (0..kernels)
        .fold(MetallibBuilder::new(), |builder, number| {
            builder.kernel(
                &format!("steel_gemm_fused_nt_float32_bm64_{number}"),
                module,
            )
        })
        .build()
}

#[divan::bench]
fn metallib_of_17248_kernels(bencher: Bencher<'_, '_>) {
    let bytes = library(17_248, &[0; 256]);
    bencher.bench(|| open(black_box(&bytes)).map(|contents| contents.metallibs().len()));
}

#[divan::bench]
fn archive_of_100_functions(bencher: Bencher<'_, '_>) {
    let gpu = Gpu { subtype: 322 };
    let functions: Vec<Vec<u8>> = (0..100)
        .map(|number| {
            let metadata = MetadataBuilder::new()
                .registers(number)
                .name(&format!("kernel{number}"))
                .build();
            FunctionBuilder::new(gpu)
                .main(&[0; 2048])
                .metadata(&metadata)
                .build()
        })
        .collect();
    let bytes = ArchiveBuilder::new()
        .air(&library(100, &[0; 64]))
        .gpu(gpu, &image(gpu, &functions))
        .build();
    bencher.bench(|| open(black_box(&bytes)).map(|contents| contents.compiled().len()));
}

#[divan::bench]
fn search_of_64_mib(bencher: Bencher<'_, '_>) {
    let mut bytes = b"\x7fELF\xFF".to_vec();
    bytes.resize(64 << 20, 0x4D);
    bytes.extend(library(10, &[0; 64]));
    bencher.bench(|| open(black_box(&bytes)).map(|contents| contents.metallibs().len()));
}

#[divan::bench]
fn nearest_of_17248_names(bencher: Bencher<'_, '_>) {
    let names: Vec<String> = (0..17_248)
        .map(|number| format!("steel_gemm_fused_nt_float32_bm64_{number}"))
        .collect();
    bencher.bench(|| {
        let names = names.iter().map(String::as_str);
        nearest(names, black_box("stel_gemm_fused_nt_float32_bm64_77"), 8).len()
    });
}
