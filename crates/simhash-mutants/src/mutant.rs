//! Faults that can be made on purpose, one at a time. The simulation must find each of them.

use std::cell::Cell;

macro_rules! mutants {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// One fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mutant {
            /// Every fault.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// What is wrong.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+),)+
                }
            }
        }
    };
}

mutants! {
    /// A split unlocks the full page between reading and rewriting it.
    ReleasedEarly,
    /// An insertion waits for leaves while it holds others.
    WaitsForSecondLeaf,
    /// A reader stays on a page although its target lies to the right of it.
    RightLinkIgnored,
    /// An insertion that holds leaves does not check the upper bound of the next.
    HighBoundUnchecked,
    /// A split is logged in two records, the parent's change in the second.
    SplitInTwo,
    /// A full root is split in two records, its children in the second.
    RootSplitInTwo,
    /// A removed leaf stays in its parent.
    RemovalWithoutParent,
    /// Vacuum locks leaves exclusively, not for cleanup.
    NoCleanupLock,
    /// Vacuum locks a leaf for cleanup only if it has a dead entry.
    CleanupOnlyWhereDead,
    /// Vacuum locks the leaves of the table of NULLs exclusively, not for cleanup.
    NoCleanupOfNulls,
    /// Vacuum locks leaves that were added since it began exclusively, not for cleanup.
    NoCleanupOfNewLeaves,
    /// A removed page is free before its parent forgets it.
    FreedTooEarly,
    /// The TIDs of separators with equal keys are not compared.
    TiesIgnored,
    /// A reused page is trusted to be what an old copy says it is.
    StaleCopyTrusted,
    /// A page that the map of free pages names is reused without a check.
    FreeMapTrusted,
    /// A scan returns rows of a leaf that precede its position.
    PositionForgotten,
    /// A scan goes on where a copy says that the leaf ends.
    StaleEndTrusted,
    /// A nearest scan drops rows that must wait, and does not search for them again.
    WindowNotShrunk,
    /// A leaf is removed without a second check that it is empty.
    EmptinessAssumed,
    /// Vacuum does not wait for a scan that pinned a root when it was a leaf, before it was split.
    ReadersOfRootForgotten,
    /// Vacuum waits for such a scan before it reads the leaves, and not afterwards.
    ReadersOfRootTooEarly,
    /// Vacuum does not wait for such a scan in the table of NULLs.
    ReadersOfNullRootForgotten,
    /// A row that is searched for again is recognised by its key alone.
    TidNotCompared,
    /// A new page is logged as one that changes in parts.
    NewPageInParts,
    /// A nearest scan ends one distance early.
    NearestEndsEarly,
    /// Vacuum counts the rows of every table.
    RowsCountedTwice,
    /// The check of the structure does not check the bounds of pages.
    BoundsNotChecked,
    /// A removed page's neighbour keeps its range.
    RangeNotHandedOn,
    /// A page that is added to a level is not the right neighbour of the one before it.
    NewPageNotLinked,
    /// Vacuum skips pages that were added since it began.
    NewPagesSkipped,
    /// Every table in which a row is found returns it.
    ShownByEveryTable,
    /// An insertion of a row that must not be near another is preceded, not followed, by the
    /// search.
    SearchedFirst,
    /// Interrupts are served under a lock.
    InterruptUnderLock,
    /// A scan of one scope returns rows of others that are on the same leaves.
    ScopeNotCompared,
    /// A uniform leaf takes rows of any scope.
    UniformTakesAll,
    /// A leaf is made uniform although only its first row was checked.
    MadeUniformUnseen,
    /// A leaf is made uniform whose rows have the scope of a new row, not of the lower bound.
    MadeUniformByTarget,
    /// A split gives a page the form that suits its first row.
    FormOfFirstRow,
    /// A build puts a row of another scope on a leaf that is too full to be mixed.
    BuildCutsLate,
    /// The last leaf of a stretch that a process builds has no right neighbour.
    StretchesApart,
    /// Whether a mixed leaf has room is computed as if it were uniform.
    RoomOfOtherForm,
    /// The removal of rows from a uniform leaf computes their slots as on a mixed one.
    SlotsOfOtherForm,
    /// A split leaves the payloads of the rows that it moves behind.
    PayloadsNotMoved,
    /// A removed row's payload stays, although the last row fills the gap.
    PayloadNotInGap,
    /// A row without a fingerprint is inserted without its scope.
    ScopeOfNullForgotten,
    /// A search for a row again ignores its scope.
    ScopeNotLookedFor,
    /// A scan that has finished a scope skips the next one.
    ScopeSteppedOver,
    /// A scan of several scopes ends with the first.
    ScopesEndEarly,
    /// A scan of several scopes ends at one that has no row.
    EmptyScopeEnds,
    /// When a column of a scope advances, those after it stay as they were.
    ColumnsNotReset,
    /// A leaf with short TIDs takes rows with any TID.
    ShortTakesAll,
    /// A leaf that cuts keys takes rows whose cut bits differ.
    CutTakesAll,
    /// After a removal that fills gaps from the end, a leaf's entries still count as ascending.
    OrderKept,
    /// A leaf's entries count as ascending without a check.
    OrderAssumed,
    /// A scan skips the chunk of a leaf in which the entries sought may begin.
    FirstChunkPassed,
    /// A leaf that changes its form cuts from its keys what the new row allows.
    CutByTarget,
    /// Postings that settle are removed and added in two records.
    SettledInTwo,
    /// A search for postings reads the settled ones before the recent ones.
    SettledReadFirst,
    /// A search reads settled postings before the recent ones of the same TIDs.
    SettledReadAhead,
    /// Vacuum cleans the settled postings before the recent ones.
    SettledCleanedFirst,
    /// A settlement does not check that postings are within the bounds of the settled leaf.
    SettledUnseen,
    /// A settlement keeps the recent leaf locked while it waits for the settled one.
    SettledUnderLock,
    /// A search for postings stops at the end of the first leaf that has some.
    PostingsEndEarly,
    /// A search for postings that goes on in a leaf reads the postings that precede its position
    /// again.
    PostingsReadAgain,
    /// A search for postings returns those of other scopes.
    PostingsOfAllScopes,
    /// A posting that is found in both trees counts twice.
    SettlingCountsTwice,
    /// Equal keys of two bands count once.
    EqualKeysCountOnce,
    /// A search counts a row's postings before all of them have been read.
    CountedTooEarly,
    /// Equal keys of a row are two postings.
    EqualKeysStoredTwice,
    /// An insertion of postings waits for leaves while it holds others.
    WaitsForSecondRecent,
    /// An insertion of postings puts them beyond the end of their leaf.
    AddedBeyondEnd,
    /// An insertion settles an emptied leaf whose form does not take its row.
    EmptiedFormKept,
    /// A settled leaf takes postings past one that its form does not take and that stays behind.
    SettledWithGaps,
    /// The next scope is searched for on only one leaf.
    ScopeOfOneLeaf,
    /// Every row that may be dead counts as dead.
    SuspectsTakenForDead,
    /// Entries of dead rows are removed, but readers on a standby are not cancelled.
    HorizonNotLogged,
    /// Rows that are dead to new readers count as dead to all.
    DeadForOneReader,
    /// A leaf does not stay pinned while the caller checks which of its rows are dead.
    DeadWithoutPin,
}

/// Whether a fault makes vacuum lock a leaf without waiting for pins.
pub(crate) fn spares_cleanup(
    is_of_nulls: bool,
    is_new: bool,
    has_dead: impl FnOnce() -> bool,
) -> bool {
    is(Mutant::NoCleanupLock)
        || is(Mutant::NoCleanupOfNulls) && is_of_nulls
        || is(Mutant::NoCleanupOfNewLeaves) && is_new
        || is(Mutant::CleanupOnlyWhereDead) && !has_dead()
}

thread_local! {
    static ACTIVE: Cell<Option<Mutant>> = const { Cell::new(None) };
}

/// Gives this thread's code one fault, or none.
pub fn activate(mutant: Option<Mutant>) {
    ACTIVE.set(mutant);
}

/// Whether this thread's code has this fault.
pub fn is(mutant: Mutant) -> bool {
    ACTIVE.get() == Some(mutant)
}
