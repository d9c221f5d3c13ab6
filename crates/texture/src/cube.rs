//! Cubes: from a direction to a face and a place on it, and across the edges.

/// A place on a face, from 0 to 1 along both axes if it is on the face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OnFace {
    pub(crate) face: u32,
    pub(crate) s: f32,
    pub(crate) t: f32,
}

/// The face a direction meets: +x, -x, +y, -y, +z, -z.
pub(crate) fn face_of([x, y, z]: [f32; 3]) -> u32 {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (axis, value) = if az >= ax && az >= ay {
        (2, z)
    } else if ay >= ax {
        (1, y)
    } else {
        (0, x)
    };
    axis * 2 + u32::from(value < 0.0)
}

/// The axes of a face: along s, along t (both from the centre) and outwards.
fn project(face: u32, [x, y, z]: [f32; 3]) -> [f32; 3] {
    match face {
        0 => [-z, -y, x],
        1 => [z, -y, -x],
        2 => [x, z, y],
        3 => [x, -z, -y],
        4 => [x, -y, z],
        _ => [-x, -y, -z],
    }
}

/// Where a direction meets its face.
pub(crate) fn on_face(direction: [f32; 3]) -> OnFace {
    let face = face_of(direction);
    let [s, t, out] = project(face, direction);
    let out = if out == 0.0 { 1.0 } else { out };
    OnFace {
        face,
        s: (s / out + 1.0) * 0.5,
        t: (t / out + 1.0) * 0.5,
    }
}

/// The change of a place on a face with a change of the direction.
pub(crate) fn gradient(direction: [f32; 3], change: [f32; 3]) -> [f32; 2] {
    let face = face_of(direction);
    let ([s, t, out], [ds, dt, dout]) = (project(face, direction), project(face, change));
    let out = if out == 0.0 { 1.0 } else { out };
    [(s, ds), (t, dt)].map(|(at, along)| (along - at * dout / out) * 0.5 / out)
}

/// The direction of a texel's centre, on the face or beside it.
fn direction(face: u32, x: i64, y: i64, size: u32) -> [f32; 3] {
    let along = |at: i64| (2 * at + 1) as f32 / size as f32 - 1.0;
    let (s, t) = (along(x), along(y));
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The texel beside an edge of a face, on the face that meets it there. None at a corner, where three faces meet.
pub(crate) fn across(face: u32, x: i64, y: i64, size: u32) -> Option<(u32, u32, u32)> {
    let last = i64::from(size) - 1;
    let outside = |at: i64| at < 0 || at > last;
    if !outside(x) && !outside(y) {
        return Some((face, x as u32, y as u32));
    }
    if outside(x) && outside(y) {
        return None;
    }
    let met = on_face(direction(face, x, y, size));
    let place = |at: f32| ((at * size as f32).floor() as i64).clamp(0, last) as u32;
    Some((met.face, place(met.s), place(met.t)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_through_texels_meet_them_again() {
        for face in 0..6 {
            for (x, y) in (0..5).flat_map(|y| (0..5).map(move |x| (x, y))) {
                let met = on_face(direction(face, x, y, 5));
                assert_eq!(met.face, face);
                let place = |at: f32| (at * 5.0).floor() as i64;
                assert_eq!((place(met.s), place(met.t)), (x, y));
            }
        }
    }

    #[test]
    fn an_edge_leads_to_the_neighbour_and_back() {
        // Right of +z lies +x, and the other way round.
        assert_eq!(across(4, 5, 2, 5), Some((0, 0, 2)));
        assert_eq!(across(0, -1, 2, 5), Some((4, 4, 2)));
        assert_eq!(across(4, 2, -1, 5), Some((2, 2, 4)));
        assert_eq!(across(4, -1, -1, 5), None);
    }
}
