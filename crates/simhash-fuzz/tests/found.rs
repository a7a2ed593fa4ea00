//! Inputs that once showed faults. libFuzzer found each of them.

use simhash_fuzz::pages;

/// A downlink to a page of the same level, on which the estimate of a scope's leaves looped for
/// ever.
#[test]
fn a_downlink_leads_no_deeper() {
    pages::run(&[255, 1, 205, 255, 16, 0, 1, 2, 16, 76, 1, 64, 46, 163, 255, 16]);
}

/// A leaf far to the right of its place in the parent, at which an insertion started over for ever.
#[test]
fn a_leaf_is_elsewhere() {
    let insertions = [61; 25];
    pages::run(&[&[37, 1, 73, 0, 2, 255, 175, 255], &insertions[..], &[255, 255]].concat());
}

/// A uniform root with a lower bound of its own, whose rows did not fit on a page at its split.
#[test]
fn a_root_has_no_bounds() {
    let bytes = [33, 33, 21, 0, 2, 17, 0, 20, 0, 203, 75, 75, 75, 75, 0];
    pages::run(&bytes);
}
