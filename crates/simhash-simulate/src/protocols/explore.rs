//! Explores every order of a protocol's steps from its start, and each state only once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::world::locked;

/// A few writers, each with a program.
pub trait Protocol {
    type State: Clone + Eq + Hash;

    fn start(&self) -> Self::State;

    /// Whether all writers have ended.
    fn is_over(&self, state: &Self::State) -> bool;

    /// Adds every step that is possible in a state.
    fn steps(&self, state: &Self::State, steps: &mut Vec<Step<Self::State>>);

    /// What the writers do.
    fn describe(&self) -> String;

    /// The name of a row.
    fn name(&self, row: u8) -> String;
}

/// A step in words. Each `{}` in `says` stands for one of the rows, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub writer: u8,
    pub says: &'static str,
    pub rows: [u8; 2],
    /// Whether it is a cancel from outside. A state with no other steps is a hang.
    pub is_cancel: bool,
}

/// No row, or no writer.
pub const NOBODY: u8 = u8::MAX;

pub struct Step<S> {
    pub event: Event,
    pub state: S,
    /// The rule that it breaks, if any.
    pub fault: Option<&'static str>,
}

/// A fault, with a shortest way to it.
pub struct Fault {
    pub what: &'static str,
    pub scenario: String,
    pub trace: Vec<String>,
}

#[derive(Default)]
pub struct Outcome {
    pub scenarios: usize,
    pub states: usize,
    pub steps: usize,
    pub fault: Option<Fault>,
}

/// Explores scenarios on all processors, until a fault is found.
pub fn explore_all<P: Protocol + Sync>(scenarios: &[P]) -> Outcome {
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Outcome::default()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = explore(scenario);
                    let mut total = locked(&total);
                    total.scenarios += 1;
                    total.states += outcome.states;
                    total.steps += outcome.steps;
                    if outcome.fault.is_some() {
                        total.fault = outcome.fault;
                        next.store(scenarios.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    std::mem::take(&mut *locked(&total))
}

/// States in the order in which they are reached, each with the step that led to it first.
struct Explored<S> {
    states: Vec<S>,
    from: Vec<Option<(u32, Event)>>,
    /// The numbers of the states that steps lead to, state by state, and where those of each state
    /// end.
    leads: Vec<u32>,
    ends: Vec<usize>,
}

/// A fast hasher. Hashing is a large part of the work, and no adversary chooses the states.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.chunks(8).for_each(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        });
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

fn explore<P: Protocol>(protocol: &P) -> Outcome {
    let start = protocol.start();
    let mut known: HashMap<_, u32, BuildHasherDefault<Mixer>> = HashMap::default();
    known.insert(start.clone(), 0);
    let (states, from) = (vec![start], vec![None]);
    let mut all = Explored { states, from, leads: Vec::new(), ends: Vec::new() };
    let (mut steps, mut fault) = (Vec::new(), None);
    // Breadth first, so that a trace is a shortest one.
    while fault.is_none() && all.ends.len() < all.states.len() {
        let at = all.ends.len();
        protocol.steps(&all.states[at], &mut steps);
        if steps.iter().all(|step| step.event.is_cancel) && !protocol.is_over(&all.states[at]) {
            fault = Some(("a hang", all.way_to(at)));
        }
        for step in steps.drain(..) {
            if fault.is_none() && step.fault.is_some() {
                let mut way = all.way_to(at);
                way.push(step.event);
                fault = step.fault.map(|what| (what, way));
            }
            let number = all.states.len() as u32;
            let lead = match known.entry(step.state) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    all.states.push(new.key().clone());
                    all.from.push(Some((at as u32, step.event)));
                    *new.insert(number)
                }
            };
            all.leads.push(lead);
        }
        all.ends.push(all.leads.len());
    }
    let endless = || all.on_a_cycle().map(|at| ("an interleaving that never ends", all.way_to(at)));
    let fault = fault.or_else(endless).map(|(what, way)| Fault {
        what,
        scenario: protocol.describe(),
        trace: way.iter().map(|event| say(protocol, event)).collect(),
    });
    Outcome { scenarios: 1, states: all.states.len(), steps: all.leads.len(), fault }
}

impl<S> Explored<S> {
    fn way_to(&self, mut at: usize) -> Vec<Event> {
        let mut way = Vec::new();
        while let Some((before, event)) = self.from[at] {
            way.push(event);
            at = before as usize;
        }
        way.reverse();
        way
    }

    fn leads_of(&self, at: usize) -> &[u32] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.leads[begin..self.ends[at]]
    }

    /// A state on a cycle, or reachable from one: removes states without predecessors until none is
    /// left.
    fn on_a_cycle(&self) -> Option<usize> {
        let mut before = vec![0; self.states.len()];
        self.leads.iter().for_each(|&lead| before[lead as usize] += 1);
        let mut free = vec![0];
        while let Some(at) = free.pop() {
            for &lead in self.leads_of(at) {
                before[lead as usize] -= 1;
                if before[lead as usize] == 0 {
                    free.push(lead as usize);
                }
            }
        }
        before.iter().position(|&before| before > 0)
    }
}

fn say<P: Protocol>(protocol: &P, event: &Event) -> String {
    let mut says = event.says.to_owned();
    for row in event.rows {
        if row != NOBODY {
            says = says.replacen("{}", &protocol.name(row), 1);
        }
    }
    format!("{} {says}", writer_name(event.writer))
}

pub fn writer_name(writer: u8) -> char {
    char::from(b'A' + writer)
}
