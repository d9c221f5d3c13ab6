//! Source lines, through inlining.

use super::Lowering;
use crate::llvm::{Body, DebugLocation, Metadata, MetadataId};
use assay_ssa::{FileId, Loc, Location};
use std::collections::HashMap;

/// Locations already entered, so that equal ones share an entry.
#[derive(Default)]
pub(crate) struct LocationCache {
    /// By function body, since metadata numbers are reused by the next one.
    locations: HashMap<(u32, DebugLocation), Option<Loc>>,
    files: HashMap<(u32, MetadataId), Option<FileId>>,
}

/// Inlined deeper than this, the outer calls are dropped.
const MAX_INLINING: u32 = 64;
/// Scopes nested deeper than this have no file.
const MAX_SCOPES: u32 = 256;

impl<'a> Lowering<'_, 'a> {
    /// The form's location for one of a body.
    pub(crate) fn location(&mut self, body: &Body<'a>, index: u32) -> Option<Loc> {
        let location = *body.locations.get(index as usize)?;
        self.location_at(body, location, 0)
    }

    fn location_at(&mut self, body: &Body<'a>, location: DebugLocation, depth: u32) -> Option<Loc> {
        let key = (body.function, location);
        if let Some(known) = self.locations.locations.get(&key) {
            return *known;
        }
        let outer = location.inlined_at.filter(|_| depth < MAX_INLINING);
        let inlined_at = match outer.and_then(|id| self.metadata(body, id)) {
            Some(Metadata::Location(outer)) => self.location_at(body, outer, depth + 1),
            _ => None,
        };
        let file = location.scope.and_then(|scope| self.file_of(body, scope));
        let entered = file.map(|file| {
            self.target.locations.add(Location {
                file,
                line: location.line,
                column: location.column,
                inlined_at,
            })
        });
        self.locations.locations.insert(key, entered);
        entered
    }

    fn file_of(&mut self, body: &Body<'a>, scope: MetadataId) -> Option<FileId> {
        let key = (body.function, scope);
        if let Some(known) = self.locations.files.get(&key) {
            return *known;
        }
        let mut next = Some(scope);
        let mut found = None;
        for _ in 0..MAX_SCOPES {
            match next.and_then(|id| self.metadata(body, id)) {
                Some(Metadata::Scope {
                    file: Some(file), ..
                }) => {
                    found = Some(file);
                    break;
                }
                Some(Metadata::Scope { parent, .. }) => next = parent,
                _ => break,
            }
        }
        let name = found.and_then(|file| self.file_name(body, file));
        let file = name.map(|name| self.target.locations.file(&name));
        self.locations.files.insert(key, file);
        file
    }

    fn file_name(&self, body: &Body<'a>, file: MetadataId) -> Option<String> {
        let Some(Metadata::File { name, directory }) = self.metadata(body, file) else {
            return None;
        };
        let text = |id: Option<MetadataId>| match self.metadata(body, id?) {
            Some(Metadata::String(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            _ => None,
        };
        let name = text(name)?;
        match text(directory) {
            // Our own bitcode says `.`: a name is as the user gave it.
            Some(directory) if directory == "." => {
                Some(name.strip_prefix("./").unwrap_or(&name).to_owned())
            }
            Some(directory) if !name.starts_with(['/', '<']) && !directory.is_empty() => {
                Some(format!("{}/{name}", directory.trim_end_matches('/')))
            }
            _ => Some(name),
        }
    }

    fn metadata(&self, body: &Body<'a>, id: MetadataId) -> Option<Metadata<'a>> {
        let (pool, id) = body.metadata_pool(self.source, id);
        pool.get(id).cloned()
    }
}
