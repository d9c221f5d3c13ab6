//! The table of contents of a recording (`xctrace export --toc`): who was recorded,
//! on what machine, how, and which tables there are.

use crate::error::Error;
use crate::xml::header::attribute;
use crate::xml::text::unescape;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeMap;

/// The process a recording is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TocProcess {
    /// Its name.
    pub name: String,
    /// Its id.
    pub pid: Option<u32>,
    /// Its arguments, as one text.
    pub arguments: Option<String>,
    /// `launched` or `attached`.
    pub kind: Option<String>,
    /// How it ended, if it did.
    pub exit_status: Option<i32>,
    /// The same in words: `exit(0)`, a signal.
    pub termination: Option<String>,
}

/// One run of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TocRun {
    /// Its number, from 1.
    pub number: u32,
    /// The model of the machine: `MacBook Air`.
    pub model: Option<String>,
    /// Its system: `26.3.1 (25D2128)`.
    pub os_version: Option<String>,
    /// `macOS`, `iOS`…
    pub platform: Option<String>,
    /// The target; `None` when all processes were recorded.
    pub target: Option<TocProcess>,
    /// When it began, as written.
    pub start_date: Option<String>,
    /// How long it lasted, in seconds.
    pub duration_s: Option<f64>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// The version of Instruments.
    pub instruments_version: Option<String>,
    /// The template recorded with.
    pub template: Option<String>,
    /// Settings such as `Counter Set: (null)`, as name and value.
    pub settings: BTreeMap<String, String>,
    /// Every process that ran, by id.
    pub processes: BTreeMap<u32, String>,
    /// Tables by schema, with how many there are of each.
    pub tables: BTreeMap<String, u32>,
    /// Details of tracks, as pairs of track and detail: `Leaks`, `Leaks`.
    pub details: Vec<(String, String)>,
}

impl TocRun {
    /// Returns true if a track has this detail.
    pub fn has_detail(&self, track: &str, detail: &str) -> bool {
        let mut details = self.details.iter();
        details.any(|(of, name)| of == track && name == detail)
    }
}

/// Real tables of contents are some twelve kilobytes.
const LARGEST: usize = 64 << 20;

/// Reads a table of contents.
///
/// ```
/// let toc = br#"<trace-toc><run number="1"><info><target>
///     <process type="launched" name="probe" pid="42" return-exit-status="0"/>
///     </target></info></run></trace-toc>"#;
/// let runs = assay_trace::read_toc(toc)?;
/// assert_eq!(runs[0].target.as_ref().unwrap().pid, Some(42));
/// # Ok::<(), assay_trace::Error>(())
/// ```
pub fn read_toc(bytes: &[u8]) -> Result<Vec<TocRun>, Error> {
    if bytes.len() > LARGEST {
        return Err(Error::PieceTooLong {
            offset: 0,
            limit: LARGEST,
        });
    }
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    let mut toc = Toc::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                toc.start(&start)?;
                toc.path.push(start.name().as_ref().to_owned());
                if toc.path.len() > 64 {
                    return Err(Error::Xml {
                        offset: reader.buffer_position(),
                        what: "elements nested too deep".to_owned(),
                    });
                }
            }
            Ok(Event::Empty(start)) => toc.start(&start)?,
            Ok(Event::End(_)) => {
                toc.end();
                toc.path.pop();
            }
            Ok(Event::Text(value)) => toc.text.push_str(&value),
            Ok(Event::GeneralRef(entity)) => {
                let entity = format!("&{};", &*entity);
                toc.text.push_str(&unescape(entity.as_bytes()));
            }
            Ok(Event::CData(value)) => toc.text.push_str(&value),
            Ok(Event::DocType(_)) => {
                return Err(Error::Doctype {
                    offset: reader.buffer_position(),
                });
            }
            Ok(Event::Eof) if toc.path.is_empty() && toc.seen_root => return Ok(toc.runs),
            Ok(Event::Eof) => {
                return Err(Error::Truncated {
                    offset: bytes.len() as u64,
                    what: "inside the table of contents",
                });
            }
            Ok(Event::Comment(_) | Event::PI(_) | Event::Decl(_)) => {}
            Err(error) => {
                return Err(Error::Xml {
                    offset: reader.error_position(),
                    what: error.to_string(),
                });
            }
        }
    }
}

#[derive(Default)]
struct Toc {
    runs: Vec<TocRun>,
    path: Vec<String>,
    text: String,
    seen_root: bool,
    /// The track whose details are listed.
    track: String,
}

impl Toc {
    fn inside(&self, name: &str) -> bool {
        self.path.iter().any(|element| element == name)
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Error> {
        self.text.clear();
        let name = start.name();
        if !self.seen_root {
            if name.as_ref() != "trace-toc" {
                return Err(Error::NotAnExport {
                    root: name.as_ref().chars().take(80).collect(),
                    offset: 0,
                });
            }
            self.seen_root = true;
        }
        if name.as_ref() == "run" {
            let number = attribute(start, "number").and_then(|text| text.parse().ok());
            self.runs.push(TocRun {
                number: number.unwrap_or(self.runs.len() as u32 + 1),
                ..TocRun::default()
            });
        }
        let in_target = self.inside("target");
        let in_processes = self.inside("processes");
        let in_data = self.inside("data");
        let Some(run) = self.runs.last_mut() else {
            return Ok(());
        };
        match name.as_ref() {
            "device" if in_target => {
                run.model = attribute(start, "model");
                run.os_version = attribute(start, "os-version");
                run.platform = attribute(start, "platform");
            }
            "process" if in_target => run.target = Some(process(start)),
            "process" if in_processes => {
                let pid = attribute(start, "pid").and_then(|text| text.parse().ok());
                if let Some(pid) = pid {
                    run.processes
                        .insert(pid, attribute(start, "name").unwrap_or_default());
                }
            }
            "track" => self.track = attribute(start, "name").unwrap_or_default(),
            "detail" => {
                let detail = attribute(start, "name").unwrap_or_default();
                run.details.push((self.track.clone(), detail));
            }
            "table" if in_data => {
                let schema = attribute(start, "schema").unwrap_or_default();
                *run.tables.entry(schema).or_default() += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) {
        let (Some(run), Some(name)) = (self.runs.last_mut(), self.path.last()) else {
            return;
        };
        let text = self.text.trim();
        let some = || Some(text.to_owned());
        match name.as_str() {
            "start-date" => run.start_date = some(),
            "duration" => run.duration_s = text.parse().ok(),
            "end-reason" => run.end_reason = some(),
            "instruments-version" => run.instruments_version = some(),
            "template-name" => run.template = some(),
            "value" => {
                if let Some((key, value)) = text.split_once(": ") {
                    run.settings.insert(key.to_owned(), value.to_owned());
                }
            }
            _ => {}
        }
        self.text.clear();
    }
}

fn process(start: &BytesStart<'_>) -> TocProcess {
    TocProcess {
        name: attribute(start, "name").unwrap_or_default(),
        pid: attribute(start, "pid").and_then(|text| text.parse().ok()),
        arguments: attribute(start, "arguments").filter(|text| !text.is_empty()),
        kind: attribute(start, "type"),
        exit_status: attribute(start, "return-exit-status").and_then(|text| text.parse().ok()),
        termination: attribute(start, "termination-reason"),
    }
}
