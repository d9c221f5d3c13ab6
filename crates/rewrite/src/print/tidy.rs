//! The shape of the control tree, as a person would have written it.

use assay_opt::control::{Item, Region};

/// Moves what follows an `if` into the arm that goes on, where the other arm ends in a loop: what only one arm reaches
/// stands in that arm, and the loop is left by a plain `break`.
pub(super) fn tidy(region: &mut Region) {
    let mut at = 0;
    while at < region.len() {
        let rest_follows = at + 1 < region.len();
        if let Some(Item::If {
            then, otherwise, ..
        }) = region.get_mut(at)
            && rest_follows
        {
            let (then_ends, otherwise_ends) = (ends_in_loop(then), ends_in_loop(otherwise));
            if then_ends != otherwise_ends {
                let rest = region.split_off(at + 1);
                if let Some(Item::If {
                    then, otherwise, ..
                }) = region.get_mut(at)
                {
                    if then_ends { otherwise } else { then }.extend(rest);
                }
            }
        }
        match region.get_mut(at) {
            Some(Item::If {
                then, otherwise, ..
            }) => {
                tidy(then);
                tidy(otherwise);
            }
            Some(Item::Scope { body, .. } | Item::Loop { body, .. }) => tidy(body),
            _ => {}
        }
        at += 1;
    }
}

/// A loop is left only by jumps to scopes around it, so nothing behind it in its region runs.
fn ends_in_loop(region: &Region) -> bool {
    matches!(region.last(), Some(Item::Loop { .. }))
}
