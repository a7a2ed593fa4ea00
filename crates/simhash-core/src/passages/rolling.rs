//! The hash of each run of some number of tokens, from that of the run before it (Karp and Rabin
//! 1987): a polynomial modulo a prime, whose coefficients are the tokens.

/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// Hashes the runs of a sequence.
#[derive(Debug, Clone)]
pub(super) struct Rolling {
    base: u64,
    /// The base to the power of the tokens of a run.
    power: u64,
    /// The tokens of the last run, the next one to go at `slot`.
    last: Box<[u64]>,
    slot: usize,
    /// How many of them are still to come.
    missing: usize,
    sum: u64,
}

impl Rolling {
    /// For runs of `run` tokens, at least one.
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

    /// Takes the next token. The hash of the run that ends with it, less than 2^61, if there are
    /// enough tokens.
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

/// The remainder of any number.
#[inline]
fn reduce(number: u64) -> u64 {
    let rest = (number & PRIME) + (number >> 61);
    if rest >= PRIME { rest - PRIME } else { rest }
}

/// The sum of two remainders, one of which may be [`PRIME`] instead of 0.
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
