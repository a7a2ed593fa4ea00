//! How an actor ends before its part does.

/// The payload of an actor that was cancelled, which is no failure.
pub struct Cancelled;

/// The payload of an actor that found a fault.
pub struct Failed(pub String);

/// Ends the schedule, because something is wrong.
pub fn fail(what: String) -> ! {
    std::panic::resume_unwind(Box::new(Failed(what)))
}
