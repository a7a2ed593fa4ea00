//! Models of the protocols by which concurrent writers of the extension exclude each other. The
//! writers' own code depends too much on PostgreSQL's transactions, locks and snapshots to run
//! here. A model has one step for each atomic action, and every order of steps is explored.

pub mod claims;
mod explore;
pub mod groups;
mod mutants;

use std::fmt::Debug;
use std::time::Instant;

use crate::score::Score;
use explore::{Fault, Outcome, Protocol, explore_all};

/// Explores the protocols, which must be free of faults, and all their mutants, each of which must
/// show a fault. `names`, if there are any, selects among them. `is_whole`: all scenarios, not only
/// those of an everyday run.
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
