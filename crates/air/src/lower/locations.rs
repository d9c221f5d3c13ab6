//! Source lines, through inlining.

use super::Lowering;
use crate::llvm::{Body, DebugLocation, Metadata, MetadataId};
use assay_ssa::{FileId, Loc, Location, NameId};
use std::collections::HashMap;

/// Locations already entered, so that equal ones share an entry.
#[derive(Default)]
pub(crate) struct LocationCache {
    /// By function body, since metadata numbers are reused by the next one.
    locations: HashMap<(u32, DebugLocation), Option<Loc>>,
    scopes: HashMap<(u32, MetadataId), Option<Scope>>,
}

/// The file and the function of a scope.
#[derive(Clone, Copy)]
struct Scope {
    file: FileId,
    function: Option<NameId>,
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
        let scope = location.scope.and_then(|scope| self.scope(body, scope));
        let entered = scope.map(|scope| {
            self.target.locations.add(Location {
                file: scope.file,
                function: scope.function,
                line: location.line,
                column: location.column,
                inlined_at,
            })
        });
        self.locations.locations.insert(key, entered);
        entered
    }

    fn scope(&mut self, body: &Body<'a>, scope: MetadataId) -> Option<Scope> {
        let key = (body.function, scope);
        if let Some(known) = self.locations.scopes.get(&key) {
            return *known;
        }
        let (mut next, mut in_file, mut in_function) = (Some(scope), None, None);
        for _ in 0..MAX_SCOPES {
            let Some(Metadata::Scope {
                parent, file, name, ..
            }) = next.and_then(|id| self.metadata(body, id))
            else {
                break;
            };
            in_file = in_file.or(file);
            if name.is_some() {
                // What is around a function is a namespace or class.
                in_function = name;
                break;
            }
            next = parent;
        }
        let name = in_file.and_then(|file| self.file_name(body, file));
        let function = in_function.and_then(|name| self.text(body, name));
        let found = name.map(|name| Scope {
            file: self.target.locations.file(&name),
            function: function.map(|name| self.target.locations.name(&name)),
        });
        self.locations.scopes.insert(key, found);
        found
    }

    fn text(&self, body: &Body<'a>, id: MetadataId) -> Option<String> {
        match self.metadata(body, id) {
            Some(Metadata::String(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            _ => None,
        }
    }

    fn file_name(&self, body: &Body<'a>, file: MetadataId) -> Option<String> {
        let Some(Metadata::File { name, directory }) = self.metadata(body, file) else {
            return None;
        };
        let name = self.text(body, name?)?;
        match directory.and_then(|id| self.text(body, id)) {
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
