//! Finds all groups of a table anew: by the join of an index with itself if that index alone says
//! which rows are near, otherwise by a search for each point.
//!
//! A row that is in no group before and after costs no more than reading it.

use std::collections::HashMap;

use pgrx::pg_sys;

use super::assign::assign;
use super::components::{Components, Row as Known};
use super::marks;
use super::own_update::refuse_meanwhile;
use super::row::{At, RowValues};
use super::run_as::as_role;
use super::search::{View, search};
use super::setup::Setup;
use super::table;
use super::under_way::note_look;
use crate::bulk::clusters::clusters;
use crate::bulk::target::{Content, Target};
use crate::bulk::texts::{self, Linkage};
use crate::family::arguments::By;
use crate::family::row::Row;
use crate::family::scan::{Next, Opened};
use crate::family::snapshot::Snapshot;
use crate::family::tables::Member;
use crate::types::ConfigText;

/// Finds all groups of the table, and writes the ids that change. Returns how many groups there
/// are. The caller holds the column's lock exclusively.
pub fn regroup_all(setup: &Setup) -> usize {
    refuse_meanwhile(setup);
    let previous_look = note_look(setup);
    loop {
        pgrx::check_for_interrupts!();
        let mut components = Components::new(setup);
        let is_joined =
            joinable(setup).is_some_and(|(member, index)| by_join(&mut components, member, index));
        if !is_joined {
            components = Components::new(setup);
            table::all_rows(&mut components, &mut |all, row| all.add_former(&row));
            let points = components.fresh_points();
            search(&mut components, &points, View::Committed, previous_look);
        }
        let assignment = assign(&mut components);
        if table::lock_rows(setup, &assignment.new_ids) {
            // Marks are deleted before ids are written, because the user's triggers may mark groups
            // then. Only if there are any: a read-only transaction can change a temporary table,
            // but not the marks.
            if marks::any(setup) {
                marks::clear(setup);
            }
            table::write_ids(setup, &assignment.new_ids);
            return assignment.groups;
        }
    }
}

/// The table and its index, if exactly the index says which rows are near. It holds all rows of the
/// table, which has no partitions, and is divided by the columns of the scope and no others. A
/// single partition does not count either: it may have other columns, and another owner. The key is
/// NOT NULL: a row without a key is in no group, but the index would connect others through it.
pub fn joinable(setup: &Setup) -> Option<(&Member, pg_sys::Oid)> {
    let [member] = setup.family.members.as_slice() else { return None };
    if member.table != setup.table || !setup.key.column.refuses_null() {
        return None;
    }
    let serving = member.index.as_ref()?;
    // SAFETY: a catalogue look-up; the row of an index has these columns.
    let columns = unsafe {
        use crate::catalog::cache;
        cache::row(
            pg_sys::SysCacheIdentifier::INDEXRELID,
            serving.index,
            |row: &cache::Row<pg_sys::FormData_pg_index>| {
                let is_whole = row.column(pg_sys::Anum_pg_index_indpred).is_none();
                (is_whole && !row.indcheckxmin && row.indisready).then_some(row.indnkeyatts)
            },
        )
    };
    let others = usize::try_from(columns??).ok()? - 1;
    (others == serving.conditions.len() && others == setup.scope.len())
        .then_some((member, serving.index))
}

/// Connects the rows of each cluster that the join of the index finds. Returns false if one of them
/// has no key: not every NULL is kept out by a domain, or by a constraint that is not valid.
fn by_join(components: &mut Components<'_>, member: &Member, index: pg_sys::Oid) -> bool {
    let setup = components.setup;
    let snapshot = Snapshot::latest();
    // SAFETY: the snapshot is released below.
    unsafe { pg_sys::PushActiveSnapshot(snapshot.raw()) };
    // The TID of each row, and that of its group's representative.
    let mut members: Vec<(u64, u64)> = as_role(setup.owner, || components_of(setup, index));
    // SAFETY: the snapshot pushed above is the active one.
    unsafe { pg_sys::PopActiveSnapshot() };
    members.sort_unstable();
    let mut representatives = HashMap::new();
    let mut members = members.into_iter().peekable();
    let mut have_keys = true;
    let mut take = |row: Row<'_>| {
        let (tid, row) = (row.tid(), RowValues::of(row, setup));
        let mut representative = None;
        while let Some((member, its)) = members.next_if(|&(member, _)| member <= tid) {
            representative = (member == tid).then_some(its);
        }
        if representative.is_some() && row.key.is_none() {
            have_keys = false;
            return Next::None;
        }
        let key = row.key.filter(|_| representative.is_some() || row.cluster.is_some());
        let Some(key) = key else { return Next::Any };
        let (key, stored) = (components.key(key), components.id(row.cluster));
        let first = representative
            .map_or(key, |representative| *representatives.entry(representative).or_insert(key));
        *components.row_mut(key) = Known::found(stored, At { member: 0, tid });
        components.link_rows(key, first);
        Next::Any
    };
    if let Some(mut opened) = Opened::open(member, &snapshot) {
        opened.all(true, &mut take);
        opened.close();
    }
    snapshot.release();
    have_keys
}

/// The rows of groups of two or more, each with the representative of its group.
fn components_of(setup: &Setup, index: pg_sys::Oid) -> Vec<(u64, u64)> {
    match &setup.by {
        By::Distance { distance, .. } => {
            let distance = i32::try_from(*distance).unwrap_or(i32::MAX);
            let target = Target::new(index, Content::Fingerprints);
            // No passages: rows that share one are no neighbours when single rows change.
            let members = clusters(target, distance, setup.verification.clone(), None);
            members.map(|(row, representative, _)| (row, representative)).collect()
        }
        By::Similarity(similar) => {
            let target = Target::new(index, Content::Texts);
            let numbers = Some(ConfigText::config_of(&similar.config).numbers());
            let members =
                texts::clusters(target.into(), similar.similarity, Linkage::Chain, None, numbers);
            members.map(|member| (member.row, member.representative)).collect()
        }
    }
}

/// An estimate of the table's number of rows.
pub fn rows_about(member: &Member) -> f64 {
    let (mut pages, mut rows, mut visible) = (0, 0.0, 0.0);
    // SAFETY: the table is locked, and closed below.
    unsafe {
        let relation = pg_sys::table_open(member.table, pg_sys::NoLock as pg_sys::LOCKMODE);
        let widths = std::ptr::null_mut();
        pg_sys::estimate_rel_size(relation, widths, &mut pages, &mut rows, &mut visible);
        pg_sys::table_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
    }
    rows
}
