//! SHA-256 (FIPS 180-4): sources are known by it, and cached results are filed under it.

/// The digest of some bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let mut state = initial();
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    let round = constants();
    for block in padded.chunks_exact(64) {
        compress(&mut state, block, &round);
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

fn compress(state: &mut [u32; 8], block: &[u8], round: &[u32; 64]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes
            .iter()
            .fold(0, |all, byte| all << 8 | u32::from(*byte));
    }
    for n in 16..64 {
        let (a, b) = (words[n - 15], words[n - 2]);
        let small0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let small1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        words[n] = words[n - 16]
            .wrapping_add(small0)
            .wrapping_add(words[n - 7])
            .wrapping_add(small1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for n in 0..64 {
        let large1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h
            .wrapping_add(large1)
            .wrapping_add(choice)
            .wrapping_add(round[n])
            .wrapping_add(words[n]);
        let large0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = large0.wrapping_add(majority);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (word, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(new);
    }
}

/// The first 64 primes.
fn primes() -> impl Iterator<Item = u64> {
    (2u64..).filter(|n| (2..*n).all(|d| n % d != 0)).take(64)
}

/// The first 32 bits of the fractional part of a root, exactly: the largest `x` with
/// `x^power ≤ n · 2^(32·power)`.
fn root_fraction(n: u64, power: u32) -> u32 {
    let target = u128::from(n) << (32 * power);
    let (mut low, mut high) = (0u128, 1u128 << 36);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle.pow(power) <= target {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}

fn initial() -> [u32; 8] {
    let mut words = [0; 8];
    for (word, prime) in words.iter_mut().zip(primes()) {
        *word = root_fraction(prime, 2);
    }
    words
}

fn constants() -> [u32; 64] {
    let mut words = [0; 64];
    for (word, prime) in words.iter_mut().zip(primes()) {
        *word = root_fraction(prime, 3);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            sha256(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
