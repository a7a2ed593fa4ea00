//! Lists of faults that can be made on purpose.

/// Faults that can be made on purpose, with what is wrong in each.
macro_rules! mutants {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mutant {
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+),)+
                }
            }
        }
    };
}
pub(crate) use mutants;
