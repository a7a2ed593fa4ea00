//! How an actor ends early: cancelled, or with a fault that it found.

/// The payload of an actor that was cancelled, which is no failure.
pub struct Cancelled;

/// The payload of an actor that found a fault.
pub struct Failed(pub String);

/// Ends the schedule with a fault.
pub fn fail(what: String) -> ! {
    std::panic::resume_unwind(Box::new(Failed(what)))
}
