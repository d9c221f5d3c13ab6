//! Names of variables as the source has them.

/// The source's name of a variable from its symbol, qualified; the symbol itself if it is none of the simple ones (templates
/// are not).
pub(super) fn source_name(symbol: &str) -> String {
    readable(symbol).unwrap_or_else(|| symbol.to_owned())
}

fn readable(symbol: &str) -> Option<String> {
    let mangled = symbol.strip_prefix("_Z")?;
    let Some(local) = mangled.strip_prefix('Z') else {
        let (name, rest) = name(mangled)?;
        return rest.is_empty().then_some(name);
    };
    // A variable of a function: the function with its parameters, `E`, and the variable's own name.
    let (function, _) = name(local)?;
    let variable = local.rmatch_indices('E').find_map(|(at, _)| {
        let (variable, rest) = name(local.get(at + 1..)?)?;
        is_discriminator(rest).then_some(variable)
    });
    Some(format!("{function}::{}", variable?))
}

/// A plain or nested name, and what follows it.
fn name(mangled: &str) -> Option<(String, &str)> {
    let Some(nested) = mangled.strip_prefix('N') else {
        let (part, rest) = part(mangled)?;
        return Some((part.to_owned(), rest));
    };
    let mut parts = Vec::new();
    let mut rest = nested;
    loop {
        if let Some(behind) = rest.strip_prefix('E') {
            return Some((parts.join("::"), behind));
        }
        let (name, behind) = part(rest)?;
        parts.push(name);
        rest = behind;
    }
}

/// One identifier, written with its length; `L` before it says that it is of this file alone.
fn part(mangled: &str) -> Option<(&str, &str)> {
    let mangled = mangled.strip_prefix('L').unwrap_or(mangled);
    let digits = mangled.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = mangled.split_at_checked(digits)?;
    let length = length.parse().ok().filter(|&length: &usize| length > 0)?;
    rest.split_at_checked(length)
}

/// What tells variables of one name in one function apart.
fn is_discriminator(text: &str) -> bool {
    let digits = text.strip_prefix('_').map(|d| d.trim_matches('_'));
    text.is_empty() || digits.is_some_and(|d| d.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn symbols_become_names() {
        for (symbol, name) in [
            ("_ZL1t", "t"),
            ("_ZN3lut5tableE", "lut::table"),
            ("_ZN3lutL5tableE", "lut::table"),
            ("_ZZ2k3PfPKfE1s", "k3::s"),
            ("_ZZN2ns1kEPfE5table_0", "ns::k::table"),
            ("_ZZ1kPfE1E", "k::E"),
            ("table", "table"),
            ("_Z", "_Z"),
            ("_ZL99t", "_ZL99t"),
            ("_ZL5tä", "_ZL5tä"),
            ("_ZN3lutIfE5tableE", "_ZN3lutIfE5tableE"),
        ] {
            assert_eq!(source_name(symbol), name);
        }
    }
}
