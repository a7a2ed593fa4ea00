//! Faults that can be made on purpose, one at a time. They prove that the simulation would find
//! them.

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
    /// A split lets go of the full page between reading and rewriting it.
    ReleasedEarly,
    /// An insertion waits for leaves while it holds others.
    WaitsForSecondLeaf,
    /// A reader stays on a page although its target lies to the right of it.
    RightLinkIgnored,
    /// An insertion that holds leaves does not look at the upper bound of the next.
    HighBoundUnchecked,
    /// A split is logged in two records, the parent's change in the second.
    SplitInTwo,
    /// A full root is split in two records, its children in the second.
    RootSplitInTwo,
    /// A removed leaf stays in its parent.
    RemovalWithoutParent,
    /// Vacuum takes leaves under an exclusive lock.
    NoCleanupLock,
    /// Vacuum takes a leaf under a cleanup lock only where it has a dead entry.
    CleanupOnlyWhereDead,
    /// Vacuum takes the leaves of the table of NULLs under an exclusive lock.
    NoCleanupOfNulls,
    /// Vacuum takes leaves that were added since it began under an exclusive lock.
    NoCleanupOfNewLeaves,
    /// A removed page is free before its parent forgets it.
    FreedTooEarly,
    /// The TIDs of separators with equal keys are not looked at.
    TiesIgnored,
    /// A page that was reused is taken for what an old copy says it is.
    StaleCopyTrusted,
    /// A page that the map of free pages names is taken without a look at it.
    FreeMapTrusted,
    /// A scan shows rows of a leaf that lie before its position.
    PositionForgotten,
    /// A scan goes on where a copy says that the leaf ends.
    StaleEndTrusted,
    /// A nearest scan forgets rows that must wait, and does not look for them again.
    WindowNotShrunk,
    /// A leaf is removed without a second look at whether it is empty.
    EmptinessAssumed,
    /// Vacuum does not wait for a scan that pinned a root when it was a leaf, before it was split.
    ReadersOfRootForgotten,
    /// Vacuum waits for such a scan before it looks at the leaves and not afterwards.
    ReadersOfRootTooEarly,
    /// Vacuum does not wait for such a scan in the table of NULLs.
    ReadersOfNullRootForgotten,
    /// A row that is looked for again is recognised by its key alone.
    TidNotCompared,
    /// A new page is logged as one that changes in parts.
    NewPageInParts,
    /// A nearest scan ends one distance early.
    NearestEndsEarly,
    /// Vacuum counts the rows of every table.
    RowsCountedTwice,
    /// The check of the structure does not look at the bounds of pages.
    BoundsNotChecked,
    /// A removed page's neighbour keeps its range.
    RangeNotHandedOn,
    /// A page that is added to a level is not the right neighbour of the one before it.
    NewPageNotLinked,
    /// Vacuum passes over pages that were added since it began.
    NewPagesSkipped,
    /// Every table that finds a row shows it.
    ShownByEveryTable,
    /// Whoever inserts a row that must not be near another searches before the insertion, not
    /// after.
    SearchedFirst,
    /// Interrupts are served under a lock.
    InterruptUnderLock,
    /// A scan of one scope shows rows of others that are on the same leaves.
    ScopeNotCompared,
    /// A uniform leaf takes rows of any scope.
    UniformTakesAll,
    /// A leaf is made uniform although only its first row was looked at.
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
    /// The removal of rows from a uniform leaf takes their slots for those of a mixed one.
    SlotsOfOtherForm,
    /// A split leaves the payloads of the rows that it moves behind.
    PayloadsNotMoved,
    /// A removed row's payload stays, where the last row fills the gap.
    PayloadNotInGap,
    /// A row without a fingerprint is inserted without its scope.
    ScopeOfNullForgotten,
    /// A row is looked for again whatever its scope.
    ScopeNotLookedFor,
    /// A scan that is done with a scope steps over the next one.
    ScopeSteppedOver,
    /// A scan of several scopes ends with the first.
    ScopesEndEarly,
    /// A scan of several scopes ends at one that has no row.
    EmptyScopeEnds,
    /// When a column of a scope moves on, those after it stay where they were.
    ColumnsNotReset,
    /// A leaf with short TIDs takes rows with any TID.
    ShortTakesAll,
    /// A leaf that cuts keys takes rows of which something else is cut.
    CutTakesAll,
    /// A removal that fills gaps from the end leaves a leaf's entries said to ascend.
    OrderKept,
    /// A leaf's entries are said to ascend although nobody has looked.
    OrderAssumed,
    /// A scan passes over the chunk of a leaf in which what it looks for may begin.
    FirstChunkPassed,
    /// A leaf that changes its form cuts of its keys what the new row allows.
    CutByTarget,
    /// Postings that settle are removed and added in two records.
    SettledInTwo,
    /// A search for postings reads the settled ones before the recent ones.
    SettledReadFirst,
    /// A search reads settled postings before the recent ones of the same TIDs.
    SettledReadAhead,
    /// Vacuum cleans the settled postings before the recent ones.
    SettledCleanedFirst,
    /// Whoever settles postings takes the leaf that it found before it locked them for theirs.
    SettledUnseen,
    /// Whoever settles postings keeps the recent leaf locked while it waits for the settled one.
    SettledUnderLock,
    /// A search for postings stops at the end of the first leaf that has some.
    PostingsEndEarly,
    /// A search for postings that goes on in a leaf takes what lies before its position.
    PostingsReadAgain,
    /// A search for postings takes those of other scopes.
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
    /// An insertion settles an emptied leaf of which the form does not take its row.
    EmptiedFormKept,
    /// A settled leaf takes postings past one that it has no form for, which stays behind.
    SettledWithGaps,
    /// The next scope is looked for on one leaf only.
    ScopeOfOneLeaf,
    /// Whatever may be of a dead row is taken for dead.
    SuspectsTakenForDead,
    /// Entries of dead rows go, and readers where the log is replayed are not told.
    HorizonNotLogged,
    /// What is dead for new readers is taken for dead for all.
    DeadForOneReader,
    /// Whoever has asked which rows of a leaf are dead does not keep it pinned meanwhile.
    DeadWithoutPin,
}

/// Whether a fault has vacuum take a leaf without waiting for pins.
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
