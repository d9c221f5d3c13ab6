//! The uniform registers: 512 halves, shared by every thread of a launch.

use assay_agx::UniformSet;

/// How many half uniforms there are.
pub const UNIFORM_HALVES: u16 = 512;

/// Values of the uniform registers, and which of them have one.
///
/// Indices are 16-bit halves: `u0l` is 0, `u0h` is 1, `u1` starts at 2.
///
/// ```
/// use assay_emu::Uniforms;
/// let mut uniforms = Uniforms::new();
/// uniforms.set_u32(10, 0x0001_0002)?;
/// assert_eq!(uniforms.get(11), Some(1));
/// assert_eq!(uniforms.get(12), None);
/// # Ok::<(), assay_emu::NoSuchUniform>(())
/// ```
#[derive(Clone, Debug)]
pub struct Uniforms {
    values: Box<[u16; UNIFORM_HALVES as usize]>,
    known: UniformSet,
}

/// A value does not fit into the uniform registers at that index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no uniform {0}: half uniforms go from 0 to 511")]
pub struct NoSuchUniform(
    /// The half that was asked for.
    pub u64,
);

impl Default for Uniforms {
    fn default() -> Uniforms {
        Uniforms::new()
    }
}

impl Uniforms {
    /// None has a value.
    pub fn new() -> Uniforms {
        Uniforms {
            values: Box::new([0; UNIFORM_HALVES as usize]),
            known: UniformSet::EMPTY,
        }
    }

    /// The value of a half, when it has one.
    pub fn get(&self, half: u16) -> Option<u16> {
        self.known
            .contains(half)
            .then(|| self.values.get(usize::from(half)).copied())?
    }

    /// Sets one half.
    pub fn set(&mut self, half: u16, value: u16) -> Result<(), NoSuchUniform> {
        let place = self
            .values
            .get_mut(usize::from(half))
            .ok_or(NoSuchUniform(u64::from(half)))?;
        *place = value;
        self.known.insert(half);
        Ok(())
    }

    /// Sets consecutive halves from little-endian bytes; an odd last byte is extended
    /// with zero.
    pub fn set_bytes(&mut self, first_half: u16, bytes: &[u8]) -> Result<(), NoSuchUniform> {
        for (index, chunk) in bytes.chunks(2).enumerate() {
            let value = match chunk {
                [low, high] => u16::from_le_bytes([*low, *high]),
                [low] => u16::from(*low),
                _ => 0,
            };
            let half = u64::from(first_half) + index as u64;
            let narrow = u16::try_from(half).map_err(|_| NoSuchUniform(half))?;
            self.set(narrow, value)?;
        }
        Ok(())
    }

    /// Sets a 32-bit value: two halves.
    pub fn set_u32(&mut self, first_half: u16, value: u32) -> Result<(), NoSuchUniform> {
        self.set_bytes(first_half, &value.to_le_bytes())
    }

    /// Sets a 64-bit value, such as a buffer's address: four halves.
    pub fn set_u64(&mut self, first_half: u16, value: u64) -> Result<(), NoSuchUniform> {
        self.set_bytes(first_half, &value.to_le_bytes())
    }

    /// The value of `halves` halves, or the first of them that has none.
    pub(crate) fn read(&self, first_half: u16, halves: u16) -> Result<u64, u16> {
        let mut value = 0;
        for index in (0..halves).rev() {
            let half = first_half.saturating_add(index);
            value = value << 16 | u64::from(self.get(half).ok_or(half)?);
        }
        Ok(value)
    }
}
