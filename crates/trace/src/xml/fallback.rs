//! The complete path: any well-formed row, read by quick-xml.

use super::builder::{RowBuilder, Trouble};
use super::tag::Class;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// An element whose text is being gathered because it may turn out to be a leaf.
struct Pending {
    name: String,
    id: Option<u64>,
    display: String,
    attribute_name: String,
}

/// Reads `row`, from `<row` to `</row>`, whatever its spelling.
pub(crate) fn read_row(row: &str, builder: &mut RowBuilder) -> Result<(), Trouble> {
    let mut reader = Reader::from_str(row);
    let mut inside = false;
    let mut pending: Option<Pending> = None;
    // Still escaped, as `RowBuilder::leaf` expects it.
    let mut text = String::new();
    loop {
        match reader.read_event().map_err(|_| Trouble::Malformed)? {
            Event::Start(start) if !inside => {
                inside = start.name().as_ref() == "row";
                if !inside {
                    return Err(Trouble::Malformed);
                }
            }
            Event::Empty(start) if !inside && start.name().as_ref() == "row" => return Ok(()),
            Event::Start(start) => {
                open_pending(&mut pending, builder)?;
                text.clear();
                let (element, reference) = element(&start)?;
                if reference.is_some() {
                    return Err(Trouble::Malformed);
                }
                pending = Some(element);
            }
            Event::Empty(start) => {
                open_pending(&mut pending, builder)?;
                empty(&start, builder)?;
            }
            Event::End(_) => match pending.take() {
                Some(leaf) => {
                    let tag = builder.tags.get(leaf.name.as_bytes());
                    let numeric = matches!(tag.class, Class::Number | Class::Float);
                    let value = if numeric { text.trim() } else { &text };
                    builder.leaf(tag, leaf.id, leaf.display.as_bytes(), value.as_bytes())?;
                }
                None if builder.depth() == 0 => return Ok(()),
                None => builder.close()?,
            },
            Event::Text(piece) => text.push_str(&piece),
            Event::CData(piece) => text.push_str(&quick_xml::escape::escape(&*piece)),
            Event::GeneralRef(entity) => {
                text.push('&');
                text.push_str(&entity);
                text.push(';');
            }
            Event::Comment(_) | Event::PI(_) => {}
            Event::Decl(_) | Event::DocType(_) | Event::Eof => return Err(Trouble::Malformed),
        }
    }
}

/// The element that was thought a leaf has a child: it is a container.
fn open_pending(pending: &mut Option<Pending>, builder: &mut RowBuilder) -> Result<(), Trouble> {
    let Some(open) = pending.take() else {
        return Ok(());
    };
    let tag = builder.tags.get(open.name.as_bytes());
    builder.open(
        tag,
        open.id,
        open.display.as_bytes(),
        open.attribute_name.as_bytes(),
    )
}

fn empty(start: &BytesStart<'_>, builder: &mut RowBuilder) -> Result<(), Trouble> {
    let (element, reference) = element(start)?;
    let tag = builder.tags.get(element.name.as_bytes());
    match (reference, tag.class) {
        (Some(reference), _) => builder.reference(tag, reference),
        (None, Class::Sentinel) => builder.sentinel(tag),
        (None, Class::Frame | Class::Binary) => {
            builder.open(tag, element.id, &[], element.attribute_name.as_bytes())?;
            builder.close()
        }
        (None, _) => builder.leaf(tag, element.id, element.display.as_bytes(), &[]),
    }
}

fn element(start: &BytesStart<'_>) -> Result<(Pending, Option<u64>), Trouble> {
    let mut element = Pending {
        name: start.name().as_ref().to_owned(),
        id: None,
        display: String::new(),
        attribute_name: String::new(),
    };
    let mut reference = None;
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| Trouble::Malformed)?;
        let number = || {
            let digits = attribute.value.trim();
            digits.parse::<u64>().map_err(|_| Trouble::Malformed)
        };
        match attribute.key.as_ref() {
            "id" => element.id = Some(number()?),
            "ref" => reference = Some(number()?),
            "fmt" => element.display = attribute.value.to_string(),
            "name" => element.attribute_name = attribute.value.to_string(),
            _ => {}
        }
    }
    Ok((element, reference))
}
