//! What an actor did last: steps that are kept as they are and only written out after a failure.

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
            Step::Share(block) => write!(f, "locks {block} shared"),
            Step::Exclusive(block) => write!(f, "locks {block} exclusively"),
            Step::After(block) => write!(f, "locks {block} exclusively while it holds others"),
            Step::Try(block, true) => write!(f, "locks {block} at once"),
            Step::Try(block, false) => write!(f, "cannot lock {block} at once"),
            Step::Cleanup(block) => write!(f, "locks {block} for cleanup"),
            Step::Unlock(block) => write!(f, "unlocks {block}"),
            Step::Unpin(block) => write!(f, "unpins {block}"),
            Step::Extend(block) => write!(f, "adds block {block}"),
            Step::TakeFree(Some(block)) => write!(f, "is told that {block} is free"),
            Step::TakeFree(None) => write!(f, "is told that no block is free"),
            Step::NoteFree(block) => write!(f, "notes {block} as free"),
            Step::Change(blocks) => write!(f, "changes {blocks:?} in one record"),
            Step::Append(blocks) => write!(f, "appends to {blocks:?} in one record"),
            Step::Replay(blocks) => write!(f, "replays a record of {blocks:?}"),
            Step::Waits(block) => write!(f, "waits for {block}"),
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
