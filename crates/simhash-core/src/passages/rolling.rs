//! The hash of each run of a fixed number of tokens, computed from the previous one (Karp and Rabin
//! 1987): a polynomial modulo a prime, with the tokens as coefficients.

/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// Hashes the runs of a sequence.
#[derive(Debug, Clone)]
pub(super) struct Rolling {
    base: u64,
    /// The base to the power of the number of tokens in a run.
    power: u64,
    /// The tokens of the last run, as a ring; the next token is stored at `slot`.
    last: Box<[u64]>,
    slot: usize,
    /// The number of tokens missing to a whole run.
    missing: usize,
    sum: u64,
}

impl Rolling {
    /// Takes the number of tokens in a run, at least one.
    pub(super) fn new(base: u64, run: usize) -> Self {
        let base = reduce(base);
        let power = (0..run).fold(1, |power, _| multiply(power, base));
        let last = vec![0; run].into();
        Rolling { base, power, last, slot: 0, missing: run, sum: 0 }
    }

    pub(super) fn restart(&mut self) {
        self.last.fill(0);
        self.slot = 0;
        self.missing = self.last.len();
        self.sum = 0;
    }

    /// Adds the next token. Returns the hash, less than 2^61, of the run that ends with it, if
    /// there are enough tokens.
    #[inline]
    pub(super) fn push(&mut self, token: u64) -> Option<u64> {
        let token = reduce(token);
        let gone = std::mem::replace(&mut self.last[self.slot], token);
        self.slot += 1;
        if self.slot == self.last.len() {
            self.slot = 0;
        }
        let gone = PRIME - multiply(gone, self.power);
        self.sum = add(add(multiply(self.sum, self.base), token), gone);
        self.missing = self.missing.saturating_sub(1);
        (self.missing == 0).then_some(self.sum)
    }
}

/// The remainder of any number modulo [`PRIME`].
#[inline]
fn reduce(number: u64) -> u64 {
    let rest = (number & PRIME) + (number >> 61);
    if rest >= PRIME { rest - PRIME } else { rest }
}

/// The sum of two remainders. One of them may be [`PRIME`] instead of 0.
#[inline]
fn add(a: u64, b: u64) -> u64 {
    reduce(a + b)
}

/// The product of two remainders.
#[inline]
fn multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    add(product as u64 & PRIME, (product >> 61) as u64)
}
