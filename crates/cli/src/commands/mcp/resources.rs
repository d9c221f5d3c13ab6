//! What a client may read without calling a tool: manual pages and chips.

use crate::api;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

/// Pages of findings, units and recipes.
const PAGES: &str = "assay://explain/";
/// Figures of chips.
const CHIPS: &str = "assay://chips";

/// Every resource.
pub(super) fn all() -> Vec<Resource> {
    let pages = list(&["explain", "--format=json"], "rules");
    let pages = pages.iter().filter_map(|page| {
        let part = |name: &str| page.get(name).and_then(Value::as_str);
        let id = part("id")?;
        let resource = Resource::new(format!("{PAGES}{id}"), id)
            .with_title(format!("{id} ({})", part("command")?))
            .with_description(part("title")?)
            .with_mime_type("text/markdown");
        Some(resource)
    });
    let chips = list(&["chips", "--format=json"], "chips");
    let chips = chips.iter().filter_map(|chip| {
        let name = chip.get("name").and_then(Value::as_str)?;
        let title = chip.get("title").and_then(Value::as_str)?;
        let resource = Resource::new(format!("{CHIPS}/{name}"), name)
            .with_title(title)
            .with_description(format!("Figures of {title}, each with its source"))
            .with_mime_type("application/json");
        Some(resource)
    });
    let whole = Resource::new(CHIPS, "chips")
        .with_title("All chips")
        .with_description("Apple GPUs with their figures, each with its source")
        .with_mime_type("application/json");
    pages.chain(chips).chain([whole]).collect()
}

/// How resources are named.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{PAGES}{{rule}}"), "explain")
            .with_description("The manual page of a finding, a unit or a recipe")
            .with_mime_type("text/markdown"),
        ResourceTemplate::new(format!("{CHIPS}/{{chip}}"), "chip")
            .with_description("The figures of a chip")
            .with_mime_type("application/json"),
    ]
}

/// A resource's content.
pub(super) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("no resource is called {uri}"), None);
    let plain = |name: &str| {
        !name.is_empty() && !name.starts_with('-') && !name.contains('/') && name.len() < 100
    };
    let contents = if let Some(rule) = uri.strip_prefix(PAGES).filter(|rule| plain(rule)) {
        let page = list(&["explain", "--format=json", rule], "rules");
        let page = page.first().and_then(|page| page.get("page"));
        let page = page.and_then(Value::as_str).ok_or_else(unknown)?;
        ResourceContents::text(page, uri).with_mime_type("text/markdown")
    } else {
        let name = uri.strip_prefix(CHIPS).ok_or_else(unknown)?;
        let mut line = vec!["chips", "--format=json"];
        if !name.is_empty() {
            let name = name.strip_prefix('/').filter(|name| plain(name));
            line.push(name.ok_or_else(unknown)?);
        }
        let text = document(&line).ok_or_else(unknown)?;
        ResourceContents::text(text, uri).with_mime_type("application/json")
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// What a command prints that looks at nothing outside the program.
fn document(line: &[&str]) -> Option<String> {
    let line: Vec<_> = line.iter().map(Into::into).collect();
    let answer = api::call(&line, Vec::new());
    let fine = answer.code == 0 && answer.error.is_none();
    fine.then(|| String::from_utf8_lossy(&answer.output).into_owned())
}

fn list(line: &[&str], name: &str) -> Vec<Value> {
    let document = document(line).and_then(|text| serde_json::from_str::<Value>(&text).ok());
    match document.and_then(|mut document| document.get_mut(name).map(Value::take)) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
