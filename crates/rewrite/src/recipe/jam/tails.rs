//! Control trees without jumps out of arms, as far as possible.
//!
//! What follows an `if` one of whose arms jumps away is moved into the other arm. A jump at the end of a region to where
//! its end leads anyway is left out. `if (x >= n) return; …` so becomes `if (x >= n) {} else {…}`.

use assay_opt::control::{Item, Label, Region};

/// Where the end of a region leads.
#[derive(Clone, Default)]
struct Ends {
    /// Leaving these scopes is the same as reaching the end.
    scopes: Vec<Label>,
    /// So is the next iteration of this loop.
    repeat: Option<Label>,
    /// So is returning.
    returns: bool,
}

/// The tree in that form.
pub(in super::super) fn normalise(body: Region) -> Region {
    let ends = Ends {
        returns: true,
        ..Ends::default()
    };
    region(body, &ends)
}

fn region(items: Region, ends: &Ends) -> Region {
    let mut out = Region::with_capacity(items.len());
    let mut rest = items.into_iter();
    while let Some(item) = rest.next() {
        let last = rest.len() == 0;
        match item {
            Item::If {
                cond,
                mut then,
                mut otherwise,
            } => {
                let (left, stays) = (jumps(&then), jumps(&otherwise));
                if left || stays {
                    let following: Region = rest.by_ref().collect();
                    if !stays {
                        otherwise.extend(following);
                    } else if !left {
                        then.extend(following);
                    }
                    out.push(Item::If {
                        cond,
                        then: region(then, ends),
                        otherwise: region(otherwise, ends),
                    });
                    return out;
                }
                let inner = if last { ends.clone() } else { Ends::default() };
                out.push(Item::If {
                    cond,
                    then: region(then, &inner),
                    otherwise: region(otherwise, &inner),
                });
            }
            Item::Scope { label, body } => {
                let mut inner = if last { ends.clone() } else { Ends::default() };
                inner.scopes.push(label);
                out.push(Item::Scope {
                    label,
                    body: region(body, &inner),
                });
            }
            Item::Loop { label, body } => {
                let inner = Ends {
                    repeat: Some(label),
                    ..Ends::default()
                };
                out.push(Item::Loop {
                    label,
                    body: region(body, &inner),
                });
            }
            Item::Leave(label) if ends.scopes.contains(&label) => return out,
            Item::Repeat(label) if ends.repeat == Some(label) => return out,
            Item::Return(None) if ends.returns => return out,
            other => out.push(other),
        }
    }
    out
}

/// Returns true if control does not come out at the end of a region.
fn jumps(region: &[Item]) -> bool {
    match region.last() {
        Some(Item::Leave(_) | Item::Repeat(_) | Item::Return(_) | Item::Unreachable) => true,
        Some(Item::If {
            then, otherwise, ..
        }) => jumps(then) && jumps(otherwise),
        _ => false,
    }
}
