//! Describes what an index of texts has to search for an operator's argument.

/// A search: rows that have at least `shared` of these keys.
pub struct Wanted<F> {
    pub keys: Vec<F>,
    pub shared: usize,
}

/// What the argument of an operator requires of the index.
pub enum Asked<F> {
    /// No row can meet the condition.
    Nothing,
    /// Every row that meets the condition is found by one of these searches.
    Keys(Vec<Wanted<F>>),
    /// The keys cannot decide: every row may meet the condition.
    Everything,
}
