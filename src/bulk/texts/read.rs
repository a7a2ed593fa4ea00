//! Where rows of texts are read from: tables of this server, or parts of a table on several.

use std::rc::Rc;

use pgrx::pg_sys;

use super::super::places::Places;
use super::super::servers::parts::{Parts, Wanted};
use super::super::servers::texts::ServerTexts;
use super::super::target::{Content, Target};
use super::any_rows::AnyRows;
use super::rows::{TextRows, Texts};
use crate::types::near_text::check_similarity;

/// Where the compared rows are stored.
pub enum Origin {
    /// In tables of this server, by their indexes.
    Here(Target),
    /// In partitions of a table, some of which lie on other servers.
    Servers(Parts),
}

impl Origin {
    /// The origin for a similarity: `relation` is an index, or a table with parts on several
    /// servers.
    pub fn of(relation: pg_sys::Oid, similarity: f64) -> Self {
        if !Parts::are_of(relation) {
            return Self::Here(Target::new(relation, Content::Texts));
        }
        check_similarity(similarity);
        Self::Servers(Parts::of(relation, Wanted::Texts(similarity)))
    }

    /// The same for passages of so many words, or of as many as the index has.
    pub fn of_passages(relation: pg_sys::Oid, words: Option<usize>) -> Self {
        match Parts::are_of(relation) {
            true => Self::Servers(Parts::of(relation, Wanted::Passages(words))),
            false => Self::Here(Target::new(relation, Content::Passages)),
        }
    }

    /// The tables. A table's place in this list is part of its rows' numbers.
    pub fn tables(&self) -> Rc<[pg_sys::Oid]> {
        match self {
            Self::Here(target) => target.sources.iter().map(|source| source.heap).collect(),
            Self::Servers(parts) => parts.tables(),
        }
    }

    /// The indexes of this server that a call keeps in use until its last row.
    pub fn targets(&self) -> &[Target] {
        match self {
            Self::Here(target) => std::slice::from_ref(target),
            Self::Servers(_) => &[],
        }
    }
}

impl From<Target> for Origin {
    fn from(target: Target) -> Self {
        Self::Here(target)
    }
}

/// An origin whose rows are being read.
pub(super) enum Read {
    Here(Target, Box<Texts>),
    Servers(Box<ServerTexts>),
}

impl Read {
    pub(super) fn places(&self) -> &Places {
        match self {
            Self::Here(_, texts) => &texts.places,
            Self::Servers(texts) => &texts.places,
        }
    }

    /// The visible version of a row whose text was read.
    pub(super) fn visible(&self, place: u32) -> u64 {
        match self {
            Self::Here(_, texts) => texts.visible(place),
            Self::Servers(texts) => texts.visible(place),
        }
    }

    /// Calls `work` with the rows, while the tables are open. With `workers`, nothing may be
    /// written meanwhile.
    pub(super) fn with_rows<T>(
        &mut self,
        workers: bool,
        work: impl FnOnce(&mut AnyRows<'_>) -> T,
    ) -> T {
        match self {
            Self::Here(target, texts) => {
                let opened = target.open();
                let rows = match workers {
                    true => TextRows::with_workers(texts, &opened),
                    false => TextRows::new(texts, &opened),
                };
                work(&mut AnyRows::Here(Box::new(rows)))
            }
            Self::Servers(texts) => work(&mut AnyRows::Servers(texts)),
        }
    }

    /// Closes connections, when nothing more will be read.
    pub(super) fn end(&mut self) {
        if let Self::Servers(texts) = self {
            texts.end();
        }
    }
}
