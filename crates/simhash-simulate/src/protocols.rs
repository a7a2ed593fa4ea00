//! Protocols by which writers keep out of each other's way, as models: what PostgreSQL does
//! (transactions, locks, snapshots) is too entangled with them for their own code to run here. A
//! model has one step for each thing that is atomic, and every order of steps is explored.

pub mod claims;
mod explore;
pub mod groups;
mod mutants;

use std::fmt::Debug;
use std::time::Instant;

use crate::score::Score;
use explore::{Fault, Outcome, Protocol, explore_all};

/// Explores the protocols, which must hold, and all their mutants, in each of which there must be a
/// fault. `names`: only these. `is_whole`: all scenarios, and not those of an everyday run.
pub fn run(names: &[String], is_whole: bool) -> Score {
    let claims = |mutant| claims::scenarios(mutant, is_whole);
    let groups = |mutant| groups::scenarios(mutant, is_whole);
    of(names, "claims", claims, claims::Mutant::ALL, |mutant| mutant.description()).and(of(
        names,
        "groups",
        groups,
        groups::Mutant::ALL,
        |mutant| mutant.description(),
    ))
}

fn of<P: Protocol + Sync, M: Copy + Debug>(
    names: &[String],
    protocol: &str,
    scenarios: impl Fn(Option<M>) -> Vec<P>,
    mutants: &[M],
    description: impl Fn(M) -> &'static str,
) -> Score {
    let mut score = Score::default();
    for mutant in std::iter::once(None).chain(mutants.iter().copied().map(Some)) {
        let name = mutant.map_or(protocol.to_owned(), |mutant| format!("{protocol}/{mutant:?}"));
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let begun = Instant::now();
        let Outcome { scenarios, states, steps, fault } = explore_all(&scenarios(mutant));
        let passed = fault.is_some() == mutant.is_some();
        score = score.and(Score::of(passed));
        let verdict = if passed { "ok" } else { "not ok" };
        println!(
            "{verdict} {name}: {scenarios} scenarios, {states} states, {steps} steps in {:.1} s{}",
            begun.elapsed().as_secs_f64(),
            mutant.map_or(String::new(), |mutant| format!(":{}", description(mutant)))
        );
        if let Some(Fault { what, scenario, trace }) = fault {
            println!("  {what} | {scenario}");
            if !passed || !names.is_empty() {
                trace.iter().for_each(|line| println!("    {line}"));
            }
        }
    }
    score
}
