//! The caller's check for interruption, called often enough and not too often.

/// Calls the caller's check once for about every [`Interrupt::BYTES`] of work.
pub(crate) struct Interrupt<'a> {
    check: &'a mut dyn FnMut(),
    left: usize,
}

impl<'a> Interrupt<'a> {
    /// Work between two checks, in bytes of text: well under a millisecond in every stage.
    const BYTES: usize = 16 << 10;

    pub(crate) fn new(check: &'a mut dyn FnMut()) -> Self {
        Interrupt { check, left: Self::BYTES }
    }

    /// Accounts for `bytes` of work done; may unwind.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.call(),
        }
    }

    #[cold]
    fn call(&mut self) {
        self.left = Self::BYTES;
        (self.check)();
    }
}
