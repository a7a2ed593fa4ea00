//! Measures Bloom filters by memory, and compares with what is computed and with the table in
//! docs/methods/bloom.md.

use simhash_core::methods::bloom::Shape;

/// How many different texts are added to a filter, and how many others are looked up in it.
const TEXTS: u32 = 100_000;
const OTHERS: u32 = 1_000_000;

/// A share of events, as computed and as measured, and the standard error of the measurement.
struct Share {
    computed: f64,
    measured: f64,
    error: f64,
}

/// The shares for a filter with this shape.
struct Row {
    shape: Shape,
    /// The share of other texts that the full filter says it has.
    wrong: Share,
    /// The share of different texts that the filter calls new when they are added.
    new: Share,
}

/// The shape with this many bits whose number of hashes gives the least rate of false answers.
fn best(bits: u64) -> Shape {
    let shapes = (1..=20).map(|hashes| Shape { bits, hashes });
    shapes.min_by(|a, b| a.rate(TEXTS.into()).total_cmp(&b.rate(TEXTS.into()))).unwrap()
}

fn measure(shape: Shape) -> Row {
    let mut bytes = vec![0; shape.bytes()];
    let new = (0..TEXTS).filter(|i| shape.insert(&mut bytes, format!("text {i}").as_bytes()));
    let new = new.count();
    let wrong = (0..OTHERS).filter(|i| shape.contains(&bytes, format!("other {i}").as_bytes()));
    let wrong = wrong.count();

    // By the definition, not by `Shape::rate`.
    let (k, m) = (f64::from(shape.hashes), shape.bits as f64);
    let load = |n: f64| k * n / m;
    let rate = |n: f64| (1.0 - (-load(n)).exp()).powf(k);
    let full = rate(TEXTS.into());
    // The scatter of the look-ups, and that of the share of set bits: occupied bins, whose variance
    // is m e^-c (1 - (1 + c) e^-c) at load c.
    let c = load(TEXTS.into());
    let bits = ((-c).exp() * (1.0 - (1.0 + c) * (-c).exp()) / m).sqrt();
    let questions = full * (1.0 - full) / f64::from(OTHERS);
    let filled = k * (1.0 - (-c).exp()).powf(k - 1.0) * bits;
    let rates = || (0..TEXTS).map(|n| rate(n.into()));
    let scatter: f64 = rates().map(|rate| rate * (1.0 - rate)).sum();
    Row {
        shape,
        wrong: Share {
            computed: full,
            measured: wrong as f64 / f64::from(OTHERS),
            error: (questions + filled * filled).sqrt(),
        },
        new: Share {
            computed: 1.0 - rates().sum::<f64>() / f64::from(TEXTS),
            measured: new as f64 / f64::from(TEXTS),
            error: scatter.sqrt() / f64::from(TEXTS),
        },
    }
}

/// Three digits of a share or of the rest, whichever is smaller.
fn shown(share: f64) -> String {
    let rest = share.min(1.0 - share).max(1e-6);
    let digits = 3 + (-rest.log10()).floor() as usize;
    format!("{share:.digits$}")
}

#[test]
fn accuracy_by_memory() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/methods/bloom.md");
    let page = std::fs::read_to_string(page).expect("the page is part of the repository");
    let sizes = [
        ("1/8", 0.125),
        ("1/4", 0.25),
        ("1/2", 0.5),
        ("1", 1.0),
        ("2", 2.0),
        ("4", 4.0),
        ("6", 6.0),
        ("8", 8.0),
        ("10", 10.0),
        ("12", 12.0),
        ("16", 16.0),
    ];
    let mut missing = Vec::new();
    for (bits, bits_a_text) in sizes {
        let Row { shape, wrong, new } = measure(best((bits_a_text * f64::from(TEXTS)) as u64));
        for (what, Share { computed, measured, error }) in
            [("false answers", &wrong), ("texts called new", &new)]
        {
            assert!(
                (measured - computed).abs() < 4.0 * error,
                "{bits} bits, {what}: {measured}, computed {computed}, standard error {error}"
            );
        }
        // A request for this rate gets a filter of this size.
        let asked = Shape::for_rate(TEXTS.into(), wrong.computed).unwrap();
        assert_eq!(asked.hashes, shape.hashes, "{bits} bits");
        assert!(asked.bits.abs_diff(shape.bits) <= 1, "{bits} bits: {asked:?}");
        let [a, b, c, d] = [wrong.computed, wrong.measured, new.computed, new.measured].map(shown);
        let row = format!("| {bits} | {} | {a} | {b} | {c} | {d} |", shape.hashes);
        if !page.lines().any(|line| line == row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/methods/bloom.md lacks:\n{}", missing.join("\n"));
}
