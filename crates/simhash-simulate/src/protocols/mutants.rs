//! A macro for lists of mutants: faults that can be made on purpose.

/// Defines the mutants of a protocol. The comment of each says what is wrong in it, and is printed.
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
