//! The latest steps of an actor. They are kept as values, and formatted only after a failure.

use std::collections::VecDeque;
use std::fmt;

const KEPT: usize = 24;

#[derive(Clone, Debug)]
pub enum Step {
    Op(String),
    Share(u32),
    Exclusive(u32),
    After(u32),
    Try(u32, bool),
    Cleanup(u32),
    Unlock(u32),
    Unpin(u32),
    Extend(u32),
    TakeFree(Option<u32>),
    NoteFree(u32),
    Change(Vec<u32>),
    Append(Vec<u32>),
    Replay(Vec<u32>),
    Waits(u32),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Op(what) => write!(f, "-- {what}"),
            Step::Share(number) => write!(f, "locks {number} shared"),
            Step::Exclusive(number) => write!(f, "locks {number} exclusively"),
            Step::After(number) => write!(f, "locks {number} exclusively while it holds others"),
            Step::Try(number, true) => write!(f, "locks {number} at once"),
            Step::Try(number, false) => write!(f, "cannot lock {number} at once"),
            Step::Cleanup(number) => write!(f, "locks {number} for cleanup"),
            Step::Unlock(number) => write!(f, "unlocks {number}"),
            Step::Unpin(number) => write!(f, "unpins {number}"),
            Step::Extend(number) => write!(f, "adds page {number}"),
            Step::TakeFree(Some(number)) => write!(f, "is told that {number} is free"),
            Step::TakeFree(None) => write!(f, "is told that no page is free"),
            Step::NoteFree(number) => write!(f, "notes {number} as free"),
            Step::Change(pages) => write!(f, "changes {pages:?} in one record"),
            Step::Append(pages) => write!(f, "appends to {pages:?} in one record"),
            Step::Replay(pages) => write!(f, "replays a record of {pages:?}"),
            Step::Waits(number) => write!(f, "waits for {number}"),
        }
    }
}

/// The last steps.
#[derive(Clone, Debug, Default)]
pub struct Trace(VecDeque<Step>);

impl Trace {
    pub fn note(&mut self, step: Step) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(step);
    }

    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.0.iter()
    }
}
