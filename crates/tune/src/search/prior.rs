//! Times that a model predicts, and how far they can be trusted.

use crate::normal;
use crate::space::Point;

/// Predicted times of all points of a space.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    logs: Vec<f64>,
    error: f64,
}

impl Prior {
    /// The predicted time of each point, in order, `None` where the model refuses, and the standard deviation of the
    /// logarithm of predicted over true time.
    pub fn new(times: impl IntoIterator<Item = Option<f64>>, error: f64) -> Prior {
        let log = |time: Option<f64>| {
            time.filter(|time| *time > 0.0)
                .map_or(f64::INFINITY, f64::ln)
        };
        Prior {
            logs: times.into_iter().map(log).collect(),
            error: error.max(1e-3),
        }
    }

    /// The logarithm of a predicted time.
    pub(super) fn log(&self, point: Point) -> f64 {
        self.logs
            .get(point.0 as usize)
            .copied()
            .unwrap_or(f64::INFINITY)
    }

    /// The point with the least predicted time.
    pub(super) fn best(&self, points: impl Iterator<Item = Point>) -> Option<Point> {
        points.min_by(|a, b| self.log(*a).total_cmp(&self.log(*b)))
    }

    /// The points with the least predicted times, the fastest first.
    pub(super) fn fastest(&self, points: impl Iterator<Item = Point>, most: usize) -> Vec<Point> {
        let mut points: Vec<Point> = points.collect();
        let order = |a: &Point, b: &Point| self.log(*a).total_cmp(&self.log(*b)).then(a.cmp(b));
        if points.len() > most {
            points.select_nth_unstable_by(most, order);
            points.truncate(most);
        }
        points.sort_by(order);
        points
    }

    /// The logarithm of the odds that a point's true time lies below a threshold, by the model alone.
    pub(super) fn log_odds(&self, point: Point, threshold: f64) -> f64 {
        let distance = (threshold - self.log(point)) / self.error;
        normal::log_cumulative(distance) - normal::log_cumulative(-distance)
    }
}
