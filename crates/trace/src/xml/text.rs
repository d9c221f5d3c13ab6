//! Texts kept once, and the five XML entities.

use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// A text of a recording, kept once: labels, names, states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextId(u32);

impl TextId {
    /// The empty text, which every [`Texts`] holds.
    pub const EMPTY: TextId = TextId(0);
}

/// The texts of a recording.
///
/// ```
/// use assay_trace::Texts;
/// let mut texts = Texts::default();
/// let label = texts.add("Compute Command 0");
/// assert_eq!(texts.add("Compute Command 0"), label);
/// assert_eq!(texts.get(label), "Compute Command 0");
/// ```
#[derive(Clone, Debug)]
pub struct Texts {
    ids: FxHashMap<Arc<str>, TextId>,
    texts: Vec<Arc<str>>,
}

impl Default for Texts {
    fn default() -> Self {
        let empty: Arc<str> = Arc::from("");
        Texts {
            ids: FxHashMap::from_iter([(empty.clone(), TextId::EMPTY)]),
            texts: vec![empty],
        }
    }
}

impl Texts {
    /// The id of `text`, which is copied when it is new.
    pub fn add(&mut self, text: &str) -> TextId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let Ok(next) = u32::try_from(self.texts.len()) else {
            // Four thousand million different texts: more than any memory holds.
            return TextId::EMPTY;
        };
        let kept: Arc<str> = Arc::from(text);
        self.texts.push(kept.clone());
        self.ids.insert(kept, TextId(next));
        TextId(next)
    }

    /// The text; empty for an id of another recording.
    pub fn get(&self, id: TextId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |text| text)
    }

    /// The id of a text that is already known.
    pub fn find(&self, text: &str) -> Option<TextId> {
        self.ids.get(text).copied()
    }
}

/// `raw` with entities replaced; invalid UTF-8 becomes the replacement character.
/// An entity that is neither one of XML's five nor a character number stays as it
/// is: exports never define any, and a definition is refused.
pub(crate) fn unescape(raw: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(raw);
    if !text.contains('&') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.as_bytes().iter().take(12).position(|&b| b == b';');
        match end.and_then(|end| Some((end, entity(&rest[1..end])?))) {
            Some((end, character)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_become_characters_and_unknown_ones_stay() {
        let check = |raw: &str, expected: &str| assert_eq!(unescape(raw.as_bytes()), expected);
        check("a -&gt; b", "a -> b");
        check("&quot;x&quot; &amp;&amp;", "\"x\" &&");
        check("&#181;s &#xb5;s", "µs µs");
        check("&lol9; & &", "&lol9; & &");
        check("µ", "µ");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(unescape(b"a\xffb"), "a\u{fffd}b");
    }
}
