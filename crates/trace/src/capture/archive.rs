//! NSKeyedArchiver property lists, unfolded into plain values.
//!
//! Objects of such an archive refer to each other by number, so a small file can
//! describe an endless value. Unfolding is limited in depth and in size.

use plist::Value;
use std::io::Cursor;

const DEEPEST: usize = 24;
const MOST_VALUES: usize = 200_000;

/// The root of an archive; a plain property list is returned as it is.
pub(crate) fn unfold(bytes: &[u8]) -> Option<Value> {
    let value = Value::from_reader(Cursor::new(bytes)).ok()?;
    let dictionary = value.as_dictionary()?;
    let Some(objects) = dictionary.get("$objects").and_then(Value::as_array) else {
        return Some(value);
    };
    let top = dictionary.get("$top")?.as_dictionary()?;
    let root = top.get("root").or_else(|| top.values().next())?;
    let mut unfolding = Unfolding {
        objects,
        left: MOST_VALUES,
    };
    unfolding.value(root, 0)
}

struct Unfolding<'a> {
    objects: &'a [Value],
    left: usize,
}

impl Unfolding<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if depth > DEEPEST {
            return None;
        }
        match value {
            Value::Uid(uid) => {
                let index = usize::try_from(uid.get()).ok()?;
                let object = self.objects.get(index)?;
                self.value(object, depth + 1)
            }
            Value::Dictionary(dictionary) => {
                let list = |key: &str| dictionary.get(key).and_then(Value::as_array);
                match (list("NS.keys"), list("NS.objects")) {
                    (Some(keys), Some(objects)) => {
                        let mut out = plist::Dictionary::new();
                        for (key, object) in keys.iter().zip(objects) {
                            let key = self.value(key, depth + 1)?;
                            let key = match key {
                                Value::String(text) => text,
                                other => format!("{other:?}"),
                            };
                            out.insert(key, self.value(object, depth + 1)?);
                        }
                        Some(Value::Dictionary(out))
                    }
                    (None, Some(objects)) => {
                        let values = objects.iter().map(|object| self.value(object, depth + 1));
                        Some(Value::Array(values.collect::<Option<_>>()?))
                    }
                    _ => {
                        if let Some(text) = dictionary.get("NS.string") {
                            return self.value(text, depth + 1);
                        }
                        let mut out = plist::Dictionary::new();
                        for (key, object) in dictionary {
                            if key != "$class" {
                                out.insert(key.clone(), self.value(object, depth + 1)?);
                            }
                        }
                        Some(Value::Dictionary(out))
                    }
                }
            }
            plain => Some(plain.clone()),
        }
    }
}

/// A number, however the archive writes it.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(integer) => integer
            .as_signed()
            .map(|value| value as f64)
            .or_else(|| integer.as_unsigned().map(|value| value as f64)),
        Value::Real(real) => Some(*real),
        Value::Boolean(flag) => Some(f64::from(u8::from(*flag))),
        _ => None,
    }
}
