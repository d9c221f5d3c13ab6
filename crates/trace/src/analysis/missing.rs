//! Tables that would say more, and the commands that export them.

use super::document::MissingTable;
use crate::recording::{Origin, Recording};
use crate::xctrace::{detail_path, export_one, table_path};

/// A table worth having: where it is, what it shows, and the instrument that records it when
/// the Metal System Trace template does not.
struct Wanted {
    /// A schema, or a track.
    table: &'static str,
    /// The detail of a track.
    detail: Option<&'static str>,
    shows: &'static str,
    instrument: Option<&'static str>,
}

const fn table(
    table: &'static str,
    shows: &'static str,
    instrument: Option<&'static str>,
) -> Wanted {
    Wanted {
        table,
        detail: None,
        shows,
        instrument,
    }
}

const WANTED: [Wanted; 9] = [
    table(
        "time-profile",
        "hot functions of the CPU, and what it did while the GPU waited",
        Some("Time Profiler"),
    ),
    table(
        "metal-resource-allocations",
        "Metal resources allocated, by whom, and those never freed",
        None,
    ),
    table(
        "metal-current-allocated-size",
        "Metal memory over the run: growth and leaks",
        None,
    ),
    Wanted {
        table: "Allocations",
        detail: Some("Statistics"),
        shows: "heap allocations by category",
        instrument: Some("Allocations"),
    },
    Wanted {
        table: "Leaks",
        detail: Some("Leaks"),
        shows: "objects nobody can reach any more",
        instrument: Some("Leaks"),
    },
    table(
        "metal-driver-event-intervals",
        "memory the driver wired, in bytes",
        None,
    ),
    table(
        "gpu-performance-state-intervals",
        "the GPU's clock state",
        None,
    ),
    table("dyld-library-load", "libraries the process loaded", None),
    table(
        "metal-gpu-counter-intervals",
        "hardware counters",
        Some("Metal GPU Counters"),
    ),
];

pub(crate) fn list(recording: &Recording) -> Vec<MissingTable> {
    if recording.origin != Origin::Instruments {
        return Vec::new();
    }
    let absent = |wanted: &&Wanted| !recording.has_table(wanted.detail.unwrap_or(wanted.table));
    let row = |wanted: &Wanted| {
        let toc = recording.toc.as_ref();
        let recorded = toc.map(|toc| match wanted.detail {
            Some(detail) => toc.has_detail(wanted.table, detail),
            None => toc.tables.contains_key(wanted.table),
        });
        let path = match wanted.detail {
            Some(detail) => detail_path(recording.run, wanted.table, detail),
            None => table_path(recording.run, wanted.table),
        };
        let name = match wanted.detail {
            Some(detail) if detail != wanted.table => format!("{} {detail}", wanted.table),
            _ => wanted.table.to_owned(),
        };
        let file = format!("{}.xml", name.to_lowercase().replace(' ', "-"));
        MissingTable {
            table: name,
            shows: wanted.shows.to_owned(),
            record: wanted
                .instrument
                .filter(|_| recorded != Some(true))
                .map(|instrument| format!("xctrace record --instrument '{instrument}' …")),
            export: export_one("RUN.trace", &path, &file),
        }
    };
    WANTED.iter().filter(absent).map(row).collect()
}
