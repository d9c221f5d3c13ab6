//! Points and lines over two logarithmic axes, as an SVG picture that takes the page's colours.
//!
//! ```
//! use assay_report::chart::{Chart, Point};
//! let chart = Chart {
//!     x: "operations per byte".to_owned(),
//!     y: "Gflop/s".to_owned(),
//!     lines: vec![vec![(0.1, 10.0), (36.0, 3600.0), (1000.0, 3600.0)]],
//!     points: vec![Point { x: 0.5, y: 20.0, class: "set-common", title: "relu".to_owned(), ..Point::default() }],
//! };
//! let svg = chart.svg("relu under the roof of an M2");
//! assert!(svg.starts_with("<svg") && svg.contains("<title>relu</title>"));
//! ```

use crate::html::escape;
use std::fmt::Write;

/// A point, and what is said when the pointer rests on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The style sheet's name for its kind.
    pub class: &'static str,
    /// What it is.
    pub title: String,
    /// The row of a table that it belongs to, as `data-key`; empty for none.
    pub key: String,
    /// Its height is not believed: the axis up is made without it, and outside of that it is drawn at the edge, as an arrow.
    pub doubtful: bool,
}

/// What is drawn. Anything that has no logarithm is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// What the axis along says.
    pub x: String,
    /// What the axis up says.
    pub y: String,
    /// Lines, each through its points in order.
    pub lines: Vec<Vec<(f64, f64)>>,
    /// Points.
    pub points: Vec<Point>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
/// Room for the figures of the axes: left, below; and a little elsewhere.
const LEFT: f64 = 66.0;
const BELOW: f64 = 48.0;
const EDGE: f64 = 22.0;

/// The style of a chart: part of the page's style sheet.
pub const STYLE: &str = "
svg.chart { display: block; width: 100%; min-width: 32rem; max-width: 60rem; height: auto; }
svg.chart text { font: 12px system-ui, sans-serif; fill: var(--dim); }
@media (max-width: 40rem) { svg.chart text { font-size: 18px; } }
svg.chart .grid { stroke: var(--line); stroke-width: 1; }
svg.chart .line { stroke: var(--ink); stroke-width: 2; fill: none; }
svg.chart .point { fill: var(--accent); fill-opacity: .75; stroke: var(--paper); stroke-width: 1; }
svg.chart .point:hover, svg.chart .point.pointed { fill-opacity: 1; stroke: var(--ink); stroke-width: 2; }
svg.chart .point[hidden] { display: none; }
";

/// An axis: whole powers of ten from one to another.
#[derive(Clone, Copy, Debug)]
struct Axis {
    low: i32,
    high: i32,
}

impl Axis {
    /// The axis that holds all values, two powers at least.
    fn over(values: impl Iterator<Item = f64>) -> Axis {
        let logs: Vec<f64> = values.filter_map(logarithm).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if logs.is_empty() {
            return Axis { low: 0, high: 2 };
        }
        let (low, high) = (low.floor() as i32, high.ceil() as i32);
        Axis {
            low,
            high: high.max(low + 2),
        }
    }

    /// Where a value lies, from 0 to 1.
    fn place(self, value: f64) -> Option<f64> {
        let log = logarithm(value)?;
        Some((log - f64::from(self.low)) / f64::from(self.high - self.low))
    }
}

impl Point {
    /// Draws the point at its place, or at the edge of the picture next to it.
    fn draw(&self, out: &mut String, (x, y): (f64, f64)) {
        let (class, title) = (self.class, escape(&self.title));
        let key = match self.key.as_str() {
            "" => String::new(),
            key => format!(" data-key=\"{}\"", escape(key)),
        };
        let inside = (x.clamp(LEFT, WIDTH - EDGE), y.clamp(EDGE, HEIGHT - BELOW));
        let shape = if inside == (x, y) {
            format!("<circle class=\"point {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"{key}>")
        } else {
            // The arrow points to where the point is.
            let (to_x, to_y) = (x - inside.0, y - inside.1);
            let angle = to_y.atan2(to_x).to_degrees();
            format!(
                "<path class=\"point beyond {class}\" d=\"M7 0L-5 -6V6Z\" transform=\"translate({:.1} {:.1}) rotate({angle:.0})\"{key}>",
                inside.0, inside.1
            )
        };
        let end = if inside == (x, y) { "circle" } else { "path" };
        let _ = writeln!(out, "{shape}<title>{title}</title></{end}>");
    }
}

fn logarithm(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.log10())
}

impl Chart {
    /// The picture; `label` says what it is to those who cannot see it.
    pub fn svg(&self, label: &str) -> String {
        let on_lines = || self.lines.iter().flatten();
        // Where there is nothing else, doubtful points are better than no axes.
        let none = self.lines.is_empty() && self.points.iter().all(|point| point.doubtful);
        let sure = || self.points.iter().filter(|point| none || !point.doubtful);
        let points = self.points.iter();
        let along = Axis::over(points.map(|point| point.x).chain(on_lines().map(|at| at.0)));
        let up = Axis::over(sure().map(|point| point.y).chain(on_lines().map(|at| at.1)));
        let at = |x: f64, y: f64| {
            let (x, y) = (along.place(x)?, up.place(y)?);
            Some((
                LEFT + x * (WIDTH - LEFT - EDGE),
                EDGE + (1.0 - y) * (HEIGHT - EDGE - BELOW),
            ))
        };
        let mut out = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(label)
        );
        self.axes(&mut out, along, up, &at);
        for line in &self.lines {
            let places = line.iter().filter_map(|&(x, y)| at(x, y));
            let places: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                out,
                "<polyline class=\"line\" points=\"{}\"/>",
                places.join(" ")
            );
        }
        for point in &self.points {
            if let Some(place) = at(point.x, point.y) {
                point.draw(&mut out, place);
            }
        }
        out + "</svg>\n"
    }

    fn axes(
        &self,
        out: &mut String,
        along: Axis,
        up: Axis,
        at: &impl Fn(f64, f64) -> Option<(f64, f64)>,
    ) {
        let (bottom, left) = (10f64.powi(up.low), 10f64.powi(along.low));
        for power in along.low..=along.high {
            if let Some((x, y)) = at(10f64.powi(power), bottom) {
                let _ = writeln!(
                    out,
                    "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{EDGE}\" x2=\"{x:.1}\" y2=\"{y:.1}\"/>\
                     <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    y + 16.0,
                    power_of_ten(power)
                );
            }
        }
        for power in up.low..=up.high {
            if let Some((x, y)) = at(left, 10f64.powi(power)) {
                let _ = writeln!(
                    out,
                    "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    WIDTH - EDGE,
                    x - 6.0,
                    y + 4.0,
                    power_of_ten(power)
                );
            }
        }
        let middle = (EDGE + HEIGHT - BELOW) / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + WIDTH - EDGE) / 2.0,
            HEIGHT - 10.0,
            escape(&self.x),
            escape(&self.y)
        );
    }
}

/// A power of ten as people read it: `0.01`, `1`, `1,000`, `10⁵`.
fn power_of_ten(power: i32) -> String {
    match power {
        0..=3 => crate::number::grouped(10u64.pow(power.unsigned_abs())),
        -3..=-1 => format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power)),
        _ => {
            let digits = power.to_string();
            let raised = digits.chars().map(|character| match character {
                '-' => '⁻',
                digit => {
                    let digit = digit.to_digit(10).unwrap_or(0) as usize;
                    ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit.min(9)]
                }
            });
            format!("10{}", raised.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_whole_powers_around_all_values() {
        let axis = Axis::over([0.3, 250.0, f64::NAN, 0.0, -1.0].into_iter());
        assert_eq!((axis.low, axis.high), (-1, 3));
        assert_eq!(axis.place(0.1), Some(0.0));
        assert_eq!(axis.place(0.0), None);
        let one = Axis::over([5.0].into_iter());
        assert_eq!((one.low, one.high), (0, 2));
        let none = Axis::over(std::iter::empty());
        assert_eq!((none.low, none.high), (0, 2));
    }

    #[test]
    fn powers_are_written_for_people() {
        let written = [-5, -2, 0, 3, 12].map(power_of_ten);
        assert_eq!(written, ["10⁻⁵", "0.01", "1", "1,000", "10¹²"]);
    }

    #[test]
    fn what_has_no_logarithm_is_left_out_and_titles_are_escaped() {
        let point = |x, title: &str| Point {
            x,
            y: 1.0,
            class: "a",
            title: title.to_owned(),
            ..Point::default()
        };
        let chart = Chart {
            points: vec![
                point(0.0, "zero"),
                point(1.0, "<b>"),
                point(f64::INFINITY, "far"),
            ],
            ..Chart::default()
        };
        let svg = chart.svg("\"");
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(svg.contains("&lt;b&gt;") && svg.contains("aria-label=\"&quot;\""));
    }

    #[test]
    fn a_doubtful_point_leaves_the_axes_alone_and_is_drawn_at_their_edge() {
        let sure = Point {
            x: 1.0,
            y: 50.0,
            key: "a".to_owned(),
            ..Point::default()
        };
        let doubtful = |y| Point {
            x: 1.0,
            y,
            doubtful: true,
            ..Point::default()
        };
        let svg = |points: Vec<Point>| {
            let chart = Chart {
                points,
                ..Chart::default()
            };
            chart.svg("")
        };
        let alone = svg(vec![sure.clone()]);
        let with = svg(vec![sure.clone(), doubtful(1e9), doubtful(20.0)]);
        let axes = |svg: &str| svg.matches("class=\"grid\"").count();
        assert_eq!(axes(&alone), axes(&with));
        assert_eq!(with.matches("<circle").count(), 2);
        assert_eq!(with.matches("point beyond").count(), 1);
        // It lies above, so the arrow points up.
        assert!(with.contains("rotate(-90)"), "{with}");
        assert!(with.contains("data-key=\"a\""));
        // Alone it has axes of its own.
        assert_eq!(svg(vec![doubtful(1e9)]).matches("<circle").count(), 1);
    }
}
