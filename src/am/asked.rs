//! What operators ask indexes of texts for.

/// What a search looks for: rows that have at least `shared` of these keys.
pub struct Wanted<F> {
    pub keys: Vec<F>,
    pub shared: usize,
}

/// What an argument of an operator asks an index for.
pub enum Asked<F> {
    /// No row.
    Nothing,
    /// Rows that meet any of these.
    Keys(Vec<Wanted<F>>),
    /// The keys do not tell: every row may be near.
    Everything,
}
