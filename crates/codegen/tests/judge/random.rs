//! Random kernels for recipes: independent threads that branch and loop by their position and by what they read, and
//! whose guarded loads are out of bounds without their guard.

use super::values::Random;
use std::fmt::Write as _;

/// The source of a kernel called `random`.
pub(crate) fn kernel(seed: u64) -> String {
    let mut author = Author {
        random: Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(7)),
        text: String::new(),
        loops: 0,
    };
    let two = author.below(2) == 0;
    let (position, y) = if two {
        ("uint2", "g.y")
    } else {
        ("uint", "0u")
    };
    let x = if two { "g.x" } else { "g" };
    let mut text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void random(device float* out [[buffer(0)]], device const float* a [[buffer(1)]],\n    \
         device const uint* b [[buffer(2)]], constant uint& n [[buffer(3)]],\n    \
         {position} g [[thread_position_in_grid]]) {{\n    \
         uint x = {x}, y = {y};\n    \
         uint place = (y * 1024u + x) * 4u;\n"
    );
    match author.below(4) {
        0 => text += "    if (x >= n * 3u) return;\n",
        1 => text += "    if (x >= n * 3u || y > n) return;\n",
        2 => text += "    if (b[x] % 5u == 0u) return;\n",
        _ => {}
    }
    text += "    float f0 = a[x], f1 = 0.5f;\n    uint u0 = b[x + y], u1 = x * 3u + y;\n";
    for _ in 0..3 + author.below(3) {
        author.statement(1, 3);
    }
    text += &author.text;
    text += "    out[place] = f0;\n    out[place + 1u] = f1;\n    out[place + 2u] = float(u0 & 255u);\n";
    if author.below(2) == 0 {
        text += "    if (u1 & 1u) out[place + 3u] = float(u1 & 1023u);\n";
    }
    text + "}\n"
}

struct Author {
    random: Random,
    text: String,
    loops: usize,
}

impl Author {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(depth));
    }

    fn unsigned(&mut self) -> String {
        let one = ["u0", "u1", "x", "y", "n", "7u"];
        let pick = |author: &mut Author| one[author.below(6) as usize];
        match self.below(4) {
            0 => pick(self).to_owned(),
            1 => format!("({} + {})", pick(self), pick(self)),
            2 => format!("({} * 5u ^ {})", pick(self), pick(self)),
            _ => format!("b[({} + {}) % 997u]", pick(self), pick(self)),
        }
    }

    fn float(&mut self) -> String {
        match self.below(5) {
            0 => "f0".to_owned(),
            1 => "f1 * 0.25f".to_owned(),
            2 => format!("float({} & 63u)", self.unsigned()),
            3 => format!("a[{} % 1999u]", self.unsigned()),
            _ => "fma(f0, 0.5f, f1)".to_owned(),
        }
    }

    fn condition(&mut self) -> String {
        match self.below(5) {
            0 => format!("({} & 3u) != 0u", self.unsigned()),
            1 => format!("x < {}u", self.below(24)),
            2 => format!("y < {}u", self.below(12)),
            3 => "f0 > f1".to_owned(),
            _ => format!("n > {}u", self.below(8)),
        }
    }

    fn block(&mut self, depth: usize, left: usize) {
        for _ in 0..1 + self.below(2) {
            self.statement(depth, left - 1);
        }
    }

    fn statement(&mut self, depth: usize, left: usize) {
        let kinds = if left == 0 { 3 } else { 7 };
        match self.below(kinds) {
            0 => {
                let (to, from) = (self.below(2), self.float());
                self.line(depth, &format!("f{to} = {from};"));
            }
            1 => {
                let (to, from) = (self.below(2), self.unsigned());
                self.line(depth, &format!("u{to} = {from};"));
            }
            2 => {
                let (place, from) = (self.below(4), self.float());
                self.line(depth, &format!("out[place + {place}u] = {from};"));
            }
            // Out of bounds where the guard does not hold.
            3 => {
                self.line(depth, "if ((b[x] & 8u) == 0u) {");
                self.line(depth + 1, "f0 += a[(b[x] & 15u) * 2600u + (x & 63u)];");
                self.line(depth, "}");
            }
            4 => {
                let cond = self.condition();
                self.line(depth, &format!("if ({cond}) {{"));
                self.block(depth + 1, left);
                if self.below(2) == 0 {
                    self.line(depth, "} else {");
                    self.block(depth + 1, left);
                }
                self.line(depth, "}");
            }
            _ => {
                let bound = ["n", "n + 2u", "5u"][self.below(3) as usize];
                let name = format!("i{}", self.loops);
                self.loops += 1;
                self.line(
                    depth,
                    &format!("for (uint {name} = 0; {name} < {bound}; {name}++) {{"),
                );
                self.block(depth + 1, left);
                self.line(depth + 1, &format!("f1 += a[{name} + (u1 & 31u)];"));
                self.line(depth, "}");
            }
        }
    }
}
