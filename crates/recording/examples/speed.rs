//! How long a dispatch takes to write and to read, and how many bytes it is: `cargo run --release -p assay-recording --example speed`.

use assay_recording::*;
use std::time::Instant;

const COUNT: u64 = 1_000_000;

fn dispatch(n: u64) -> Event {
    let mut arguments = [7u8; 160];
    arguments[8..16].copy_from_slice(&n.to_le_bytes());
    let buffer = |at: u64| Binding::Buffer {
        buffer: 100 + (n + at) % 40,
        offset: (n * 4096 + at) % (1 << 32),
    };
    let bindings = (1..6).map(|at| (at as u32, buffer(at)));
    Event::Command(Command::Dispatch(Box::new(Dispatch {
        pipeline: (n % 12) as u32,
        extent: Extent::Groups([4096 + (n % 3) as u32, 1, 1]),
        threadgroup: [32, 2, 1],
        bindings: std::iter::once((0, Binding::Bytes(arguments.as_slice().into())))
            .chain(bindings)
            .collect(),
        memory: vec![(0, 8192)],
        label: "decode".into(),
        group: "layer/attention".into(),
        encoded_ns: n * 3000,
    })))
}

#[allow(clippy::print_stdout, reason = "a tool for people")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut file = Vec::new();
    let start = Instant::now();
    let mut writer = Writer::new(&mut file)?;
    let head = CommandBuffer {
        commands: COUNT,
        ..CommandBuffer::default()
    };
    writer.write(&Event::CommandBuffer(head))?;
    for n in 0..COUNT {
        writer.write(&dispatch(n))?;
    }
    writer.finish()?;
    let each = |start: Instant| start.elapsed().as_nanos() as u64 / COUNT;
    let writing = each(start);
    let start = Instant::now();
    let mut reader = Reader::new(file.as_slice())?;
    while reader.next_event()?.is_some() {}
    println!(
        "{COUNT} dispatches: {} MB, {writing} ns to make and write one, {} ns to read one (host)",
        file.len() / 1_000_000,
        each(start)
    );
    Ok(())
}
