//! Writes small files of every kind as starting points for the fuzz targets:
//! `cargo run --example seeds --features builder -- crates/container/fuzz/corpus`.

use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MetadataBuilder, MetallibBuilder, image, image_with_descriptor,
};
use assay_container::gpu::Gpu;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: seeds FOLDER")?;
    let gpu = Gpu::named("G13G").ok_or("G13G is known")?;
    let module = [
        &[
            0xDE, 0xC0, 0x17, 0x0B, 0, 0, 0, 0, 20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0,
        ],
        &b"BC\xC0\xDE\x35\x14\0\0"[..],
    ]
    .concat();
    let metallib = MetallibBuilder::new()
        .kernel("add", &module)
        .kernel("mul", &module)
        .source("0", b"BZh9")
        .uuid([7; 16])
        .build();
    let old = MetallibBuilder::new()
        .kernel("add", &module)
        .without_sizes()
        .build();
    let metadata = MetadataBuilder::new()
        .registers(12)
        .spill_bytes(16)
        .uniform_registers(8)
        .threadgroup_bytes(64)
        .binding(1, 2, true)
        .name("add")
        .build();
    let function = FunctionBuilder::new(gpu)
        .constant_program(&[0x88, 0])
        .main(&[0x62, 0, 0, 0, 0x88, 0])
        .helper("_help", &[0x88, 0])
        .metadata(&metadata)
        .build();
    let images = image(gpu, &[function.clone(), function.clone()]);
    let archive = ArchiveBuilder::new()
        .air(&metallib)
        .gpu(gpu, &images)
        .build();
    let described = image_with_descriptor(gpu, &function, "add");
    let embedded = [&b"\x7fELF\0\xFF"[..], &metallib, b"tail"].concat();
    let seeds: [(&str, &[&[u8]]); 6] = [
        (
            "open",
            &[
                &metallib, &old, &function, &images, &archive, &embedded, &module,
            ],
        ),
        ("metallib", &[&metallib, &old]),
        ("archive", &[&archive]),
        ("macho", &[&function, &images, &described]),
        ("metadata", &[&metadata]),
        ("bitcode", &[&module]),
    ];
    for (target, files) in seeds {
        let folder = Path::new(&folder).join(target);
        std::fs::create_dir_all(&folder)?;
        for (number, bytes) in files.iter().enumerate() {
            std::fs::write(folder.join(format!("seed{number}")), bytes)?;
        }
    }
    Ok(())
}
