//! Seeded random streams, one for each component that draws random numbers.
//!
//! A stream is named by its component's path ("flow/3/start") and the run's seed, so adding a
//! component does not shift the numbers of another. The generator is xoshiro256++ (Blackman and
//! Vigna, "Scrambled linear pseudorandom number generators", 2021), its state filled by SplitMix64
//! (Steele, Lea, Flood, 2014) from the seed and an FNV-1a hash of the path.

/// One component's own sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// The stream of the component at `path` in the run with this `seed`.
    pub fn new(seed: u64, path: &str) -> Self {
        let name = path
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut fill = SplitMix(splitmix(seed) ^ name);
        Self { state: [fill.next(), fill.next(), fill.next(), fill.next()] }
    }

    /// A number uniform over all 64-bit values.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number uniform in `0..bound`, without bias (Lemire, 2019). `bound` must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a random number below 0 was asked for");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number uniform in `[0, 1)`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        let value = splitmix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        value
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014): scrambles a number.
#[inline]
pub fn splitmix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values of the published xoshiro256++ step for the state 1, 2, 3, 4.
    #[test]
    fn generator_matches_its_reference() {
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| stream.next_u64()).collect();
        assert_eq!(first, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn streams_are_their_own() {
        let draw = |seed, path| Stream::new(seed, path).next_u64();
        assert_eq!(draw(1, "flow/0"), draw(1, "flow/0"));
        assert_ne!(draw(1, "flow/0"), draw(1, "flow/1"));
        assert_ne!(draw(1, "flow/0"), draw(2, "flow/0"));
    }

    /// Three quarters of all 64-bit values: scaling alone would give each third number twice as often as the others.
    /// The deviation of a third of 30,000 is 82.
    #[test]
    fn below_has_no_bias() {
        let mut stream = Stream::new(7, "test");
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[(stream.below(3 << 62) % 3) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 5 * 82), "{counts:?}");
    }

    /// All of the 53 bits, from 0 to just below 1.
    #[test]
    fn unit_is_uniform() {
        let mut stream = Stream::new(7, "test");
        let drawn: Vec<f64> = (0..100_000).map(|_| stream.unit()).collect();
        assert!(drawn.iter().all(|x| (0.0..1.0).contains(x)));
        // The deviation of the mean is 0.289 / sqrt(100000).
        let mean = drawn.iter().sum::<f64>() / 100_000.0;
        assert!((mean - 0.5).abs() < 5.0 * 0.000_92, "{mean}");
        assert!(drawn.iter().any(|&x| x < 1e-4) && drawn.iter().any(|&x| x > 1.0 - 1e-4));
        assert!(drawn.iter().any(|x| (x * (1u64 << 53) as f64) as u64 % 2 == 1), "the last bit is never set");
    }

    #[test]
    fn below_is_uniform_enough() {
        let mut stream = Stream::new(7, "test");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_600..10_400).contains(&n)), "{counts:?}");
    }
}
