//! Explores schedules of the index's protocol: actors work on a simulated page store, in the orders
//! of steps that random and PCT schedulers choose. Their answers are compared with brute force.
//!
//! - `simhash-simulate explore SCHEDULES [SEED]` explores schedules, beginning at a seed.
//! - `simhash-simulate mutants [SEED [MUTANT...]]` checks that exploration finds every mutant, a
//!   fault made on purpose, or those named.
//! - `simhash-simulate test SCHEDULES [SEED]` does both, and `protocols`, and ends with "N passed,
//!   N failed".
//! - `simhash-simulate seed SEED [MUTANT]` repeats a failure.
//!
//! It also explores [models](protocols) of other protocols of the extension:
//!
//! - `simhash-simulate protocols [NAME...]` explores every order of their steps, in more scenarios
//!   than `test`, and checks that their mutants are found. For each name (`claims`, `claims/Blind`)
//!   it prints the steps to the fault.

#![allow(clippy::disallowed_types, reason = "memory is not refused here")]

mod actors;
mod candidates;
mod coding;
mod explore;
mod facts;
mod failure;
mod opened;
mod program;
mod protocols;
mod random;
mod rows;
mod score;
#[cfg(test)]
mod sequential;
mod settle;
mod store;
mod trace;
mod tree;
mod world;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use explore::{Failure, SCHEDULES, explore};
use facts::Facts;
use score::Score;
use simhash_index::mutant::{self, Mutant};
use world::locked;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|argument| argument.parse::<u64>().ok());
    let seed = number(2).unwrap_or(1);
    let Score { passed, failed } = match (arguments.first().map(String::as_str), number(1)) {
        (Some("test"), Some(schedules)) => {
            run(schedules, seed).and(mutants(1, &[])).and(protocols::run(&[], false))
        }
        (Some("explore"), Some(schedules)) => run(schedules, seed),
        (Some("mutants"), first) => mutants(first.unwrap_or(1), arguments.get(2..).unwrap_or(&[])),
        (Some("protocols"), _) => protocols::run(&arguments[1..], true),
        (Some("seed"), Some(seed)) => repeat(seed, arguments.get(2).map(String::as_str)),
        _ => {
            eprintln!(
                "usage: simhash-simulate test|explore SCHEDULES [SEED] \
                 | mutants [SEED [MUTANT...]] | seed SEED [MUTANT] | protocols [NAME...]"
            );
            return ExitCode::from(2);
        }
    };
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every mutant must be found within this many schedules, as many as an everyday run explores.
const MUTANT_SCHEDULES: u64 = 40_000;

/// The seed at which each mutant was found last, a name and a seed a line. `look_for` tries that
/// seed first, if it is among those of `MUTANT_SCHEDULES`.
const SEEDS: &str = include_str!("seeds.txt");

/// The number of seeds that have this many schedules.
fn seeds_of(schedules: u64) -> u64 {
    schedules.div_ceil(SCHEDULES as u64)
}

/// Explores seeds from `first` on, on all processors, until one fails. Returns the number of
/// schedules that passed, their counts, and the failures.
fn search(
    schedules: u64,
    first: u64,
    mutant: Option<Mutant>,
    talk: bool,
) -> (u64, Facts, Vec<Failure>) {
    let seeds = seeds_of(schedules);
    let (next, ran, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let failures = Mutex::new(Vec::new());
    let total = Mutex::new(Facts::default());
    let begun = Instant::now();
    let said = Mutex::new(begun);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                mutant::activate(mutant);
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= seeds || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    match explore(first + i) {
                        Ok(facts) => {
                            ran.fetch_add(SCHEDULES as u64, Ordering::Relaxed);
                            locked(&total).add(&facts);
                        }
                        Err(failure) => {
                            locked(&failures).push(failure);
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                    let mut said = locked(&said);
                    if talk && said.elapsed() > Duration::from_secs(30) {
                        *said = Instant::now();
                        println!(
                            "{} of {schedules} schedules, {:.0} s",
                            i * SCHEDULES as u64,
                            begun.elapsed().as_secs_f64()
                        );
                    }
                }
            });
        }
    });
    let (total, failures) = (*locked(&total), std::mem::take(&mut *locked(&failures)));
    (ran.into_inner(), total, failures)
}

fn run(schedules: u64, first: u64) -> Score {
    let begun = Instant::now();
    let (ran, facts, failures) = search(schedules, first, None, true);
    failures.iter().for_each(|failure| show(failure, None));
    let Facts { records, trees, splits, removals, reshaped, settled, .. } = facts;
    let Facts { reclaimed, ended, scans, crashes, cancelled, .. } = facts;
    println!(
        "{ran} schedules from seed {first} in {:.0} s: {records} records ({splits} splits, \
         {removals} removals, {reshaped} leaves reshaped, {settled} settlings, \
         {reclaimed} of dead rows), {trees} trees walked, {scans} scans judged, {ended} ended by \
         the log, {crashes} crashes, \
         {cancelled} insertions cancelled",
        begun.elapsed().as_secs_f64()
    );
    Score::of(failures.is_empty())
}

/// Tries the seed at which the mutant was found last, and then, since the code may have changed,
/// all seeds from `first` on.
fn look_for(mutant: Mutant, first: u64) -> Vec<Failure> {
    let name = format!("{mutant:?}");
    let seed = SEEDS.lines().find_map(|line| line.strip_prefix(&name)?.trim().parse().ok());
    let known = seed.filter(|seed| (first..first + seeds_of(MUTANT_SCHEDULES)).contains(seed));
    let found = known.map(|seed| search(1, seed, Some(mutant), false).2).unwrap_or_default();
    if found.is_empty() { search(MUTANT_SCHEDULES, first, Some(mutant), false).2 } else { found }
}

/// Searches for every mutant, or for those named.
fn mutants(first: u64, names: &[String]) -> Score {
    let mut score = Score::default();
    let is_named = |mutant: &Mutant| names.is_empty() || names.contains(&format!("{mutant:?}"));
    for &mutant in Mutant::ALL.iter().filter(|mutant| is_named(mutant)) {
        let begun = Instant::now();
        let failures = look_for(mutant, first);
        let seconds = begun.elapsed().as_secs_f64();
        score = score.and(Score::of(!failures.is_empty()));
        match failures.iter().min_by_key(|failure| failure.seed) {
            Some(Failure { seed, what, .. }) => {
                println!("ok {mutant:?}: found at seed {seed} in {seconds:.1} s: {what}");
            }
            None => println!(
                "not ok {mutant:?}: not found in {MUTANT_SCHEDULES} schedules:{}",
                mutant.description()
            ),
        }
    }
    score
}

fn repeat(seed: u64, mutant: Option<&str>) -> Score {
    let mutant = mutant
        .and_then(|name| Mutant::ALL.iter().copied().find(|mutant| format!("{mutant:?}") == name));
    mutant::activate(mutant);
    match explore(seed) {
        Ok(facts) => {
            println!("seed {seed} passes: {facts:?}");
            Score::of(true)
        }
        Err(failure) => {
            show(&failure, mutant);
            Score::of(false)
        }
    }
}

fn show(failure: &Failure, mutant: Option<Mutant>) {
    let Failure { seed, what, steps } = failure;
    println!("seed {seed} fails: {what}");
    steps.iter().for_each(|line| println!("  {line}"));
    let mutant = mutant.map_or(String::new(), |mutant| format!(" {mutant:?}"));
    println!("repeat it: cargo run --release -p simhash-simulate -- seed {seed}{mutant}");
}
