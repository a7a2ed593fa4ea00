//! Comparison operators: `fingerprint64` and `fingerprint256` as unsigned numbers, balls by centre
//! and then by radius. Equality serves grouping and replication, the order serves sorting.

use pgrx::pg_extern;

use crate::types::ball::{Ball64, Ball128, Ball256};
use crate::types::{Fp64, Fp256};

macro_rules! comparisons {
    ($type:ty: $($name:ident is $operator:tt),+; $three_way:ident) => {
        $(
            #[pg_extern(sql = false, immutable, strict, parallel_safe)]
            fn $name(a: $type, b: $type) -> bool {
                a $operator b
            }
        )+

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $three_way(a: $type, b: $type) -> i32 {
            a.cmp(&b) as i32
        }
    };
}

// `=` and `<>` of fingerprint64 are PostgreSQL's int8eq and int8ne.
comparisons!(Fp64:
    fingerprint64_lt is <, fingerprint64_le is <=, fingerprint64_gt is >, fingerprint64_ge is >=;
    fingerprint64_cmp
);
comparisons!(Fp256:
    fingerprint256_eq is ==, fingerprint256_ne is !=, fingerprint256_lt is <,
    fingerprint256_le is <=, fingerprint256_gt is >, fingerprint256_ge is >=;
    fingerprint256_cmp
);
comparisons!(Ball64:
    hamming_ball64_eq is ==, hamming_ball64_ne is !=, hamming_ball64_lt is <,
    hamming_ball64_le is <=, hamming_ball64_gt is >, hamming_ball64_ge is >=;
    hamming_ball64_cmp
);
comparisons!(Ball128:
    hamming_ball128_eq is ==, hamming_ball128_ne is !=, hamming_ball128_lt is <,
    hamming_ball128_le is <=, hamming_ball128_gt is >, hamming_ball128_ge is >=;
    hamming_ball128_cmp
);
comparisons!(Ball256:
    hamming_ball256_eq is ==, hamming_ball256_ne is !=, hamming_ball256_lt is <,
    hamming_ball256_le is <=, hamming_ball256_gt is >, hamming_ball256_ge is >=;
    hamming_ball256_cmp
);
