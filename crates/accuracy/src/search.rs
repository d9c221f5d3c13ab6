//! A deterministic search for the least of a function of a few numbers.

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// First step along each coordinate.
    pub step: f64,
    /// The search ends when every step is smaller.
    pub tolerance: f64,
    /// Passes over all coordinates at most.
    pub sweeps: usize,
    /// How strongly a fit holds constants near their start, per case: a constant at the end of
    /// its range costs as much as this factor's logarithm on every case.
    pub hold: f64,
}

/// See [`Limits::hold`].
pub const HOLD: f64 = 0.2;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            step: 0.2,
            tolerance: 0.01,
            sweeps: 40,
            hold: HOLD,
        }
    }
}

/// Pattern search: each coordinate in turn is moved by its step either way; a step that
/// helps is taken and grows, one that does not shrinks. Returns the point and its value.
pub fn minimise(
    start: &[f64],
    limits: Limits,
    mut value: impl FnMut(&[f64]) -> f64,
) -> (Vec<f64>, f64) {
    let mut point = start.to_vec();
    let mut best = value(&point);
    let mut steps = vec![limits.step; point.len()];
    for _ in 0..limits.sweeps {
        for axis in 0..point.len() {
            if steps[axis].abs() < limits.tolerance {
                continue;
            }
            let here = point[axis];
            point[axis] = here + steps[axis];
            let mut tried = value(&point);
            if tried >= best {
                steps[axis] = -steps[axis];
                point[axis] = here + steps[axis];
                tried = value(&point);
            }
            if tried < best {
                best = tried;
                steps[axis] *= 1.5;
            } else {
                point[axis] = here;
                steps[axis] *= 0.4;
            }
        }
        if steps.iter().all(|step| step.abs() < limits.tolerance) {
            break;
        }
    }
    (point, best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilted_valley_is_followed_to_its_bottom() {
        let valley = |p: &[f64]| (p[0] - 1.0).powi(2) + 4.0 * (p[1] + 0.5 * p[0]).powi(2);
        let limits = Limits {
            tolerance: 1e-6,
            sweeps: 500,
            ..Limits::default()
        };
        let (point, value) = minimise(&[0.0, 0.0], limits, valley);
        assert!(value < 1e-6, "{point:?} {value}");
        assert!((point[0] - 1.0).abs() < 1e-2);
    }
}
