//! The source of a kernel of which only the geometry has changed, or two axes of its positions.

use super::Original;
use super::changes::Changes;
use super::source::Source;
use super::thread::axes;
use crate::recipe::{AXES, Step};

/// Attributes that stay right whatever the shape of threadgroups.
const FREE: [&str; 4] = [
    "thread_position_in_grid",
    "threads_per_grid",
    "buffer",
    "texture",
];

/// What changes in the text, if a recipe leaves it otherwise as it is.
pub(super) fn changes(
    source: &Source<'_>,
    original: &Original<'_>,
    step: &Step,
) -> Option<Changes> {
    let limited = original.text.contains("max_total_threads_per_threadgroup");
    let parameters = source.parameters();
    let is_free = parameters
        .iter()
        .all(|parameter| parameter.attribute.is_empty() || FREE.contains(&parameter.attribute));
    if !is_free {
        return None;
    }
    match step.recipe().id {
        "threadgroup" if !limited => Some(Changes::default()),
        "swap-axes" => {
            let order: String = exchanged(step).into_iter().map(|axis| AXES[axis]).collect();
            let mut changes = Changes::default();
            let first = source.bytes(&source.body).start;
            let indent = source.indent(source.body.start);
            for parameter in parameters
                .iter()
                .filter(|it| it.attribute.starts_with("thread"))
            {
                let (name, count) = (parameter.name, axes(parameter.ty));
                let order = order.get(..count).filter(|_| count > 1)?;
                changes.insert(first, format!("{name} = {name}.{order};\n{indent}"));
            }
            Some(changes)
        }
        _ => None,
    }
}

/// The axes in the order after an exchange.
fn exchanged(step: &Step) -> [usize; 3] {
    let mut order = [0, 1, 2];
    let named: Vec<usize> = (0..3).filter(|&axis| step.has(AXES[axis])).collect();
    if let &[a, b] = named.as_slice() {
        order.swap(a, b);
    }
    order
}
