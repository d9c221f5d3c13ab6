//! Text to nodes, by recursive descent.

use super::{Error, Function, Kind, Node, error};

/// Longest formula, in characters. Bounds the chain of nodes that `1+1+1+…` makes.
const LONGEST: usize = 2048;
/// Deepest nesting of parentheses and calls.
const DEEPEST: usize = 32;

pub(super) fn parse(text: &str) -> Result<Node, Error> {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() > LONGEST {
        return Err(error(LONGEST + 1, "the formula is too long"));
    }
    let mut parser = Parser {
        text: &characters,
        at: 0,
        depth: 0,
    };
    let root = parser.any()?;
    match parser.peek() {
        None => Ok(root),
        Some(_) => Err(error(parser.at + 1, parser.misplaced())),
    }
}

fn apply(column: usize, function: Function, left: Node, right: Node) -> Node {
    Node {
        column,
        kind: Kind::Apply(function, vec![left, right]),
    }
}

struct Parser<'a> {
    text: &'a [char],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn misplaced(&self) -> String {
        match self.text.get(self.at) {
            Some(c) if c.is_alphanumeric() || "_.+-*/%(),<>=!&|".contains(*c) => {
                "nothing may follow here".to_owned()
            }
            Some(c) => format!("\"{c}\" is not part of formulas"),
            None => "more is missing".to_owned(),
        }
    }

    /// Conditions joined by `||`, which binds least.
    fn any(&mut self) -> Result<Node, Error> {
        self.chain(Self::all, &[("||", Function::Or)])
    }

    fn all(&mut self) -> Result<Node, Error> {
        self.chain(Self::comparison, &[("&&", Function::And)])
    }

    /// Two sums compared. Comparisons do not chain: `a < b < c` would compare 0 or 1 with c.
    fn comparison(&mut self) -> Result<Node, Error> {
        const OPERATORS: [(&str, Function); 6] = [
            ("<=", Function::LessEqual),
            (">=", Function::GreaterEqual),
            ("==", Function::Equal),
            ("!=", Function::NotEqual),
            ("<", Function::Less),
            (">", Function::Greater),
        ];
        let left = self.sum()?;
        let Some((column, function)) = self.operator(&OPERATORS) else {
            return Ok(left);
        };
        let right = self.sum()?;
        match self.operator(&OPERATORS) {
            Some((column, _)) => Err(error(column, "comparisons are joined by &&")),
            None => Ok(apply(column, function, left, right)),
        }
    }

    fn sum(&mut self) -> Result<Node, Error> {
        self.chain(
            Self::product,
            &[("+", Function::Add), ("-", Function::Subtract)],
        )
    }

    fn product(&mut self) -> Result<Node, Error> {
        const OPERATORS: [(&str, Function); 3] = [
            ("*", Function::Multiply),
            ("/", Function::Divide),
            ("%", Function::Remainder),
        ];
        self.chain(Self::atom, &OPERATORS)
    }

    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Result<Node, Error>,
        operators: &[(&str, Function)],
    ) -> Result<Node, Error> {
        let mut left = operand(self)?;
        while let Some((column, function)) = self.operator(operators) {
            let right = operand(self)?;
            left = apply(column, function, left, right);
        }
        Ok(left)
    }

    /// Takes the first operator of a list that stands here, with its column.
    fn operator(&mut self, operators: &[(&str, Function)]) -> Option<(usize, Function)> {
        self.peek()?;
        let rest = self.text.get(self.at..)?;
        let stands = |text: &str| {
            let mut rest = rest.iter();
            text.chars().all(|c| rest.next() == Some(&c))
        };
        let (text, function) = operators.iter().find(|(text, _)| stands(text))?;
        let column = self.at + 1;
        self.at += text.len();
        Some((column, *function))
    }

    fn atom(&mut self) -> Result<Node, Error> {
        let next = self.peek();
        let column = self.at + 1;
        match next {
            Some(c) if c.is_ascii_digit() => self.number(column),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(column),
            Some('-') => {
                self.at += 1;
                self.nest(column)?;
                let zero = Node {
                    column,
                    kind: Kind::Integer(0),
                };
                let operand = self.atom()?;
                self.depth -= 1;
                let kind = Kind::Apply(Function::Subtract, vec![zero, operand]);
                Ok(Node { column, kind })
            }
            Some('!') => {
                self.at += 1;
                self.nest(column)?;
                let operand = self.atom()?;
                self.depth -= 1;
                let kind = Kind::Apply(Function::Not, vec![operand]);
                Ok(Node { column, kind })
            }
            Some('(') => {
                let inner = self.list(column)?;
                let [inner] = <[Node; 1]>::try_from(inner)
                    .map_err(|_| error(column, "one value belongs in these parentheses"))?;
                Ok(inner)
            }
            _ => Err(error(column, "a number, a name or \"(\" is missing")),
        }
    }

    fn word(&mut self, part: fn(char) -> bool) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word: String = rest.iter().copied().take_while(|&c| part(c)).collect();
        self.at += word.chars().count();
        word
    }

    fn number(&mut self, column: usize) -> Result<Node, Error> {
        let word = self.word(|c| c.is_ascii_digit() || c == '.');
        let kind = if word == "0" && self.peek() == Some('x') {
            self.at += 1;
            let digits = self.word(|c| c.is_ascii_hexdigit());
            let value = u64::from_str_radix(&digits, 16);
            Kind::Integer(value.map_err(|_| error(column, "hexadecimal digits are missing"))?)
        } else if word.contains('.') {
            let value = word.parse();
            Kind::Real(value.map_err(|_| error(column, format!("\"{word}\" is no number")))?)
        } else {
            let value = word.parse();
            Kind::Integer(value.map_err(|_| error(column, "the number is too large"))?)
        };
        Ok(Node { column, kind })
    }

    fn name(&mut self, column: usize) -> Result<Node, Error> {
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.peek() != Some('(') {
            let kind = Kind::Name(name);
            return Ok(Node { column, kind });
        }
        let (function, count) = Function::named(&name).ok_or_else(|| {
            let known = "ceil_div, round_up, min, max, pow2, sqrt";
            error(
                column,
                format!("there is no function \"{name}\"; there are {known}"),
            )
        })?;
        let operands = self.list(column)?;
        if operands.len() != count {
            return Err(error(column, format!("{name} takes {count} operands")));
        }
        let kind = Kind::Apply(function, operands);
        Ok(Node { column, kind })
    }

    fn nest(&mut self, column: usize) -> Result<(), Error> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(error(column, "nested too deeply")),
            false => Ok(()),
        }
    }

    /// `( a, b, … )`, from the opening parenthesis on.
    fn list(&mut self, column: usize) -> Result<Vec<Node>, Error> {
        self.nest(column)?;
        self.at += 1;
        let mut nodes = vec![self.any()?];
        loop {
            match self.peek() {
                Some(',') => {
                    self.at += 1;
                    nodes.push(self.any()?);
                }
                Some(')') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(nodes);
                }
                _ => return Err(error(self.at + 1, "\")\" is missing")),
            }
        }
    }
}
