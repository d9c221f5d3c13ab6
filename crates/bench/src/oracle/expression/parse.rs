//! From text to definitions.

use super::{At, Definition, Error, Function, Kind, Node, Reduction};

/// How deep parentheses may nest.
const DEEPEST: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Mark(&'static str),
    /// The end of a line with something on it, or `;`.
    End,
}

/// Longer ones first.
const MARKS: &[&str] = &[
    "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", ":", "=",
];

fn tokens(text: &str) -> Result<Vec<(At, Token)>, Error> {
    let mut found = Vec::new();
    for (line, row) in text.lines().enumerate() {
        let row = row.split('#').next().unwrap_or_default();
        let mut rest = row;
        while let Some(first) = rest.chars().next() {
            let column = row.chars().count() - rest.chars().count() + 1;
            let at = At {
                line: line + 1,
                column,
            };
            let word = |more: fn(char) -> bool| {
                let end = rest.find(|c: char| !more(c)).unwrap_or(rest.len());
                rest.split_at(end)
            };
            if first.is_whitespace() {
                rest = rest.trim_start();
            } else if first == ';' {
                found.push((at, Token::End));
                rest = &rest[1..];
            } else if first.is_ascii_digit() || first == '.' {
                let (number, after) = numeral(rest);
                let value = number.parse().ok().filter(|value: &f64| value.is_finite());
                let value = value.ok_or_else(|| at.wrong(format!("{number:?} is no number")))?;
                found.push((at, Token::Number(value)));
                rest = after;
            } else if first.is_alphabetic() || first == '_' {
                let (name, after) = word(|c| c.is_alphanumeric() || c == '_');
                found.push((at, Token::Name(name.to_owned())));
                rest = after;
            } else {
                let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
                let mark = mark.ok_or_else(|| at.wrong(format!("{first:?} means nothing here")))?;
                found.push((at, Token::Mark(mark)));
                rest = &rest[mark.len()..];
            }
        }
        let at = At {
            line: line + 1,
            column: row.chars().count() + 1,
        };
        found.push((at, Token::End));
    }
    Ok(found)
}

/// Digits, a point, digits, an exponent.
fn numeral(text: &str) -> (&str, &str) {
    let mut before = ' ';
    let end = text.find(|c: char| {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        before = c;
        !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || sign)
    });
    text.split_at(end.unwrap_or(text.len()))
}

pub(super) fn definitions(text: &str) -> Result<Vec<Definition>, Error> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        place: 0,
        depth: 0,
    };
    let mut found = Vec::new();
    loop {
        while parser.take_end() {}
        if parser.peek().is_none() {
            break;
        }
        found.push(parser.definition()?);
        if parser.peek().is_some() && !parser.take_end() {
            return Err(parser.wrong("the line should end here"));
        }
    }
    match found.is_empty() {
        true => Err(parser.wrong("there is no definition: OUTPUT[i] = …")),
        false => Ok(found),
    }
}

struct Parser {
    tokens: Vec<(At, Token)>,
    place: usize,
    depth: usize,
}

impl Parser {
    /// The next token. Within parentheses and brackets lines go on.
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.skipped()).map(|(_, token)| token)
    }

    fn skipped(&self) -> usize {
        let mut place = self.place;
        while self.depth > 0 && matches!(self.tokens.get(place), Some((_, Token::End))) {
            place += 1;
        }
        place
    }

    fn at(&self) -> At {
        let here = self.tokens.get(self.skipped()).or(self.tokens.last());
        here.map_or(At { line: 1, column: 1 }, |(at, _)| *at)
    }

    fn wrong(&self, what: impl Into<String>) -> Error {
        self.at().wrong(what)
    }

    fn advance(&mut self) {
        self.place = self.skipped() + 1;
    }

    fn take_end(&mut self) -> bool {
        let found = self.peek() == Some(&Token::End);
        self.place += usize::from(found);
        found
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Mark(here)) if *here == mark);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, mark: &str) -> Result<(), Error> {
        match self.take(mark) {
            true => Ok(()),
            false => Err(self.wrong(format!("\"{mark}\" is missing"))),
        }
    }

    fn name(&mut self) -> Result<String, Error> {
        let Some(Token::Name(name)) = self.peek().cloned() else {
            return Err(self.wrong("a name is missing"));
        };
        self.advance();
        Ok(name)
    }

    fn definition(&mut self) -> Result<Definition, Error> {
        let at = self.at();
        let array = self.name()?;
        let mut indices = Vec::new();
        self.open("[")?;
        loop {
            let index = self.name()?;
            let limit = match self.take("<") {
                true => Some(self.sum()?),
                false => None,
            };
            indices.push((index, limit));
            if !self.take(",") {
                break;
            }
        }
        self.close("]")?;
        self.expect("=")?;
        let value = self.comparison()?;
        Ok(Definition {
            at,
            array,
            indices,
            value,
        })
    }

    fn open(&mut self, mark: &str) -> Result<(), Error> {
        self.expect(mark)?;
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(self.wrong("nested too deeply")),
            false => Ok(()),
        }
    }

    fn close(&mut self, mark: &str) -> Result<(), Error> {
        self.expect(mark)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    fn comparison(&mut self) -> Result<Node, Error> {
        let left = self.sum()?;
        self.binary(left, &["<=", ">=", "==", "!=", "<", ">"], Self::sum, false)
    }

    fn sum(&mut self) -> Result<Node, Error> {
        let left = self.product()?;
        self.binary(left, &["+", "-"], Self::product, true)
    }

    fn product(&mut self) -> Result<Node, Error> {
        let left = self.sign()?;
        self.binary(left, &["*", "/", "%"], Self::sign, true)
    }

    /// `left` and what follows it by one of these marks: once, or as often as there are some.
    fn binary(
        &mut self,
        mut left: Node,
        marks: &[&str],
        next: fn(&mut Self) -> Result<Node, Error>,
        often: bool,
    ) -> Result<Node, Error> {
        // A chain nests to the left as deep as it is long.
        let mut links = 0;
        while let Some(Token::Mark(mark)) = self.peek().cloned() {
            let at = self.at();
            let function = match marks.contains(&mark) {
                true => Function::named(mark),
                false => None,
            };
            let Some(function) = function else { break };
            self.advance();
            let right = next(self)?;
            let kind = Kind::Apply(function, vec![left, right]);
            left = Node { at, kind };
            links += 1;
            if links > DEEPEST {
                return Err(at.wrong("too many terms in one chain"));
            }
            if !often {
                break;
            }
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Node, Error> {
        let at = self.at();
        if !self.take("-") {
            return self.atom();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(at.wrong("nested too deeply"));
        }
        let value = self.sign();
        self.depth -= 1;
        let kind = Kind::Apply(Function::Subtract, vec![value?]);
        Ok(Node { at, kind })
    }

    fn atom(&mut self) -> Result<Node, Error> {
        let at = self.at();
        if let Some(Token::Number(value)) = self.peek() {
            let kind = Kind::Number(*value);
            self.advance();
            return Ok(Node { at, kind });
        }
        if matches!(self.peek(), Some(Token::Mark("("))) {
            self.open("(")?;
            let inner = self.comparison()?;
            self.close(")")?;
            return Ok(inner);
        }
        let Ok(name) = self.name() else {
            return Err(self.wrong("a number, a name or \"(\" is missing"));
        };
        let kind = match self.peek() {
            Some(Token::Mark("[")) => {
                self.open("[")?;
                let indices = self.list()?;
                self.close("]")?;
                Kind::Element(name, indices)
            }
            Some(Token::Mark("(")) => self.call(at, &name)?,
            _ => Kind::Name(name),
        };
        Ok(Node { at, kind })
    }

    fn list(&mut self) -> Result<Vec<Node>, Error> {
        let mut nodes = vec![self.comparison()?];
        while self.take(",") {
            nodes.push(self.comparison()?);
        }
        Ok(nodes)
    }

    fn call(&mut self, at: At, name: &str) -> Result<Kind, Error> {
        self.open("(")?;
        if let Some(reduction) = Reduction::named(name)
            && let Some((index, limit)) = self.running_index()?
        {
            let body = Box::new(self.comparison()?);
            self.close(")")?;
            return Ok(Kind::Reduce {
                reduction,
                index,
                limit: Box::new(limit),
                body,
            });
        }
        let function = Function::named(name).ok_or_else(|| match Reduction::named(name) {
            Some(_) => at.wrong(format!("\"{name}\" runs over an index: {name}(k < n: …)")),
            None => at.wrong(format!("there is no function \"{name}\"")),
        })?;
        let nodes = self.list()?;
        let (least, most) = function.arity();
        if !(least..=most).contains(&nodes.len()) {
            let plural = if most == 1 { "" } else { "s" };
            return Err(at.wrong(format!("\"{name}\" takes {most} number{plural}")));
        }
        self.close(")")?;
        Ok(Kind::Apply(function, nodes))
    }

    /// `k < n:`, if that is what comes; `max(a < b, c)` begins the same way.
    fn running_index(&mut self) -> Result<Option<(String, Node)>, Error> {
        if !self.has_colon() {
            return Ok(None);
        }
        let index = self.name()?;
        self.expect("<")?;
        let limit = self.sum()?;
        self.expect(":")?;
        Ok(Some((index, limit)))
    }

    /// Returns true if a colon comes before the next comma or the end of this parenthesis.
    fn has_colon(&self) -> bool {
        let mut inner = 0usize;
        for (_, token) in self.tokens.iter().skip(self.place) {
            match token {
                Token::Mark("(" | "[") => inner += 1,
                Token::Mark(")" | "]") if inner > 0 => inner -= 1,
                Token::Mark(")" | "]") => return false,
                Token::Mark(",") if inner == 0 => return false,
                Token::Mark(":") if inner == 0 => return true,
                _ => {}
            }
        }
        false
    }
}
