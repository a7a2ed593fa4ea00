//! The caller's check for interruption: called often enough, and not too often.

use std::cell::{Cell, RefCell};

/// Calls the caller's check once for about every [`Interrupt::BYTES`] of work.
pub(crate) struct Interrupt<'a> {
    check: RefCell<&'a mut dyn FnMut()>,
    left: Cell<usize>,
}

impl<'a> Interrupt<'a> {
    /// Work between two checks, in bytes of text: well under a millisecond in every stage.
    const BYTES: usize = 16 << 10;

    pub(crate) fn new(check: &'a mut dyn FnMut()) -> Self {
        Interrupt { check: RefCell::new(check), left: Cell::new(Self::BYTES) }
    }

    /// Checks now.
    pub(crate) fn check(&self) {
        self.call();
    }

    /// Accounts for `bytes` of completed work. May call the check, which may unwind.
    #[inline]
    pub(crate) fn spend(&self, bytes: usize) {
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => self.call(),
        }
    }

    #[cold]
    fn call(&self) {
        self.left.set(Self::BYTES);
        (self.check.borrow_mut())();
    }
}
