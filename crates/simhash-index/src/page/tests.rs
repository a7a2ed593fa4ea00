//! Pages are read as they were written, and what does not belong on one is refused.

use simhash_core::Fingerprint;
use simhash_core::base::bits::{B256, B1024};
use simhash_core::base::random::SplitMix64;

use super::write::*;
use super::*;
use crate::form::{Common, MOST_CUT, Tids};
use crate::key::{Posting, Scoped};

type Scoped64 = Scoped<u64, 3>;
type Scoped128 = Scoped<u128, 3>;

const FORMS: [Form; 2] = [Form::MIXED, Form::UNIFORM];

/// The bytes that are cut, where any are.
const PREFIX: u64 = 0x1122 << 48;

/// Every form that leaves with such keys may have.
fn each_form<K: TreeKey>(shape: &Shape, mut test: impl FnMut(Form)) {
    let most_cut = if may_cut::<K>(shape) { MOST_CUT } else { 0 };
    let briefs = [1, 8, 11].map(Tids::brief);
    for uniform in [false, true] {
        for tids in [Tids::WHOLE, Tids::SHORT].into_iter().chain(briefs) {
            for cut in 0..=most_cut {
                test(Form { uniform, tids, cut });
            }
        }
    }
}

/// A row that such a leaf can store, as [`row`] makes one of the scope 7.
fn fitting<K: TreeKey>(shape: &Shape, form: Form, random: &mut SplitMix64) -> Row<K> {
    let mut row = row::<K>(shape, 7, random);
    let (cut, key) = (form.cut_mask(), row.entry.key.fingerprint());
    let top = K::Fingerprint::BITS as usize / 64 - 1;
    let with_prefix = K::Fingerprint::from_words(|word| match key.word(word) {
        stored if word == top => stored & !cut | PREFIX & cut,
        stored => stored,
    });
    row.entry.key = K::new(row.entry.key.scope(), with_prefix);
    row.entry.tid = form.tids.unpack(random.next_u64() >> (64 - 8 * form.tids.bytes()));
    row
}

fn shape(key: usize, scope: usize, payload: usize) -> Shape {
    Shape { key, scope, payload }
}

/// A row whose scope and payload have every byte that the shape has.
fn row<K: TreeKey>(shape: &Shape, scope: u8, random: &mut SplitMix64) -> Row<K> {
    let mut key = [0; MOST_KEY];
    key[..shape.key].fill_with(|| random.next_u64() as u8);
    let payload: Vec<u8> = (0..shape.payload).map(|_| random.next_u64() as u8).collect();
    let scope = K::Scope::load(&vec![scope; shape.scope]);
    let key = K::new(scope, load_key(&key[..shape.key]));
    let entry = Entry { key, tid: random.next_u64() >> 16 };
    Row { entry, payload: K::Payload::load(&payload) }
}

/// An empty leaf in this form, in whose range all rows of scope 7 are that have its prefix.
fn leaf<K: TreeKey>(bytes: &mut [u8], shape: &Shape, form: Form) -> Bounds<K> {
    let scope = K::Scope::load(&vec![7; shape.scope]);
    let top = K::Fingerprint::BITS as usize / 64 - 1;
    let prefix = PREFIX & form.cut_mask();
    let first = K::Fingerprint::from_words(|word| if word == top { prefix } else { 0 });
    let low = Entry { key: K::new(scope, first), tid: 5 };
    // A posting stores four bytes of its key, and a wide key may have fewer words.
    let last = load_key(&[0xff; MOST_KEY][..shape.key]);
    let high = Entry { key: K::new(K::Scope::load(&vec![9; shape.scope]), last), tid: 6 };
    let bounds = Bounds { low, high: Some(high) };
    let place = Place { table: 2, level: 0, bounds: &bounds, right: Some(77) };
    PageMut::format(bytes, shape, &place).set_rows::<K>(&[], form);
    bounds
}

fn checked<'a, K: TreeKey>(bytes: &'a [u8], shape: &Shape) -> Page<'a> {
    Page::check::<K>(bytes, shape).expect("the page is sound")
}

/// The shapes that indexes with keys of type `K` may have.
fn each_shape<K: TreeKey>(test: impl Fn(&Shape)) {
    let keys: &[usize] =
        if K::Scope::BYTES > 24 { &[8, 40, 128] } else { &[K::Fingerprint::BYTES] };
    for &key in keys {
        for scope in [0, 1, 2, 5, 17, 24, 56] {
            for payload in [0, 1, 4, 9, 40] {
                let shape = shape(key, scope, payload);
                if shape.fits::<K>() {
                    test(&shape);
                }
            }
        }
    }
}

#[test]
fn a_page_of_8_kb_holds_as_many_rows_as_ever() {
    let plain = |key| shape(key, 0, 0);
    assert_eq!(plain(8).leaf_capacity(8192, Form::MIXED), 579);
    assert_eq!(plain(16).leaf_capacity(8192, Form::MIXED), 368);
    assert_eq!(plain(8).special(), 56);
    assert_eq!(plain(16).special(), 56);
    // (8192 - 24 - 80) / (8 + 6 + 12), and / (8 + 6).
    assert_eq!(shape(8, 12, 0).leaf_capacity(8192, Form::MIXED), 311);
    assert_eq!(shape(8, 12, 0).leaf_capacity(8192, Form::UNIFORM), 577);
}

fn leaves_hold_what_they_say<K: TreeKey>() {
    each_shape::<K>(|shape| {
        each_form::<K>(shape, |form| {
            let mut random = SplitMix64::new(1);
            let mut bytes = vec![0xaa; 1024];
            let bounds = leaf::<K>(&mut bytes, shape, form);
            let mut rows = Vec::new();
            while checked::<K>(&bytes, shape).has_room() {
                rows.push(fitting::<K>(shape, form, &mut random));
                assert!(checked::<K>(&bytes, shape).takes(&rows[rows.len() - 1].entry));
                PageMut::existing(&mut bytes, shape).append([&rows[rows.len() - 1]]);
            }
            let page = checked::<K>(&bytes, shape);
            assert_eq!(rows.len(), shape.leaf_capacity(1024, form), "{shape:?} {form:?}");
            assert_eq!((page.form(), page.table(), page.level()), (form, 2, 0));
            assert_eq!((page.bounds::<K>(), page.right()), (bounds, Some(77)));
            assert!(page.rows::<K>().eq(rows.iter().copied()), "{shape:?} {form:?}");
            let stored = rows[0].entry.key.fingerprint();
            // Queries may differ in what is cut.
            let queries =
                [stored, stored ^ K::Fingerprint::bit(3), stored ^ K::Fingerprint::bit(9)];
            for query in queries {
                for distance in [0, 1, 2, 4 * shape.key as u32 - 1, 4 * shape.key as u32] {
                    let mut within = Vec::new();
                    page.within(query, distance, &mut within);
                    let near = |&i: &u32| {
                        let other = rows[i as usize].entry.key.fingerprint();
                        (other ^ query).count_ones() <= distance
                    };
                    assert!((0..rows.len() as u32).filter(near).eq(within), "{shape:?} {form:?}");
                }
            }
        });
    });
}

#[test]
fn leaves_of_every_family_hold_what_they_say() {
    leaves_hold_what_they_say::<u64>();
    leaves_hold_what_they_say::<u128>();
    leaves_hold_what_they_say::<Scoped64>();
    leaves_hold_what_they_say::<Scoped128>();
    leaves_hold_what_they_say::<B256>();
    leaves_hold_what_they_say::<Scoped<B256, 3>>();
    leaves_hold_what_they_say::<Scoped<B1024, 7>>();
}

fn inner_pages_hold_what_they_say<K: TreeKey>() {
    each_shape::<K>(|shape| {
        let mut random = SplitMix64::new(2);
        let mut bytes = vec![0xaa; 1024];
        let place = Place { table: 1, level: 3, bounds: &Bounds::<K>::ALL, right: None };
        PageMut::format(&mut bytes, shape, &place);
        let mut separators: Vec<Entry<K>> =
            (0..200).map(|i| row::<K>(shape, i, &mut random).entry).collect();
        separators.sort_unstable();
        separators[0] = Entry::MIN;
        let mut links = Vec::new();
        while checked::<K>(&bytes, shape).has_room() {
            let separator = separators[links.len()];
            links.push(Downlink { separator, child: random.next_u64() as u32 });
            PageMut::existing(&mut bytes, shape).set_downlinks(&links);
        }
        let page = checked::<K>(&bytes, shape);
        assert_eq!(links.len(), shape.inner_capacity(1024), "{shape:?}");
        assert_eq!(page.bounds::<K>(), Bounds::ALL);
        for (i, Downlink { separator, child }) in links.iter().enumerate() {
            assert_eq!((page.entry::<K>(i), page.child(i)), (*separator, *child), "{shape:?}");
        }
    });
}

#[test]
fn inner_pages_of_every_family_hold_what_they_say() {
    inner_pages_hold_what_they_say::<u64>();
    inner_pages_hold_what_they_say::<u128>();
    inner_pages_hold_what_they_say::<Scoped64>();
    inner_pages_hold_what_they_say::<Scoped128>();
    inner_pages_hold_what_they_say::<Scoped<B256, 3>>();
    inner_pages_hold_what_they_say::<Scoped<B1024, 7>>();
}

fn an_addition_is_an_append<K: TreeKey>() {
    each_shape::<K>(|shape| {
        each_form::<K>(shape, |form| {
            let mut random = SplitMix64::new(4);
            let mut bytes = vec![0; 1024];
            leaf::<K>(&mut bytes, shape, form);
            let mut next = None;
            while checked::<K>(&bytes, shape).has_room() {
                let row = fitting::<K>(shape, form, &mut random);
                let addition = Addition::new(&checked::<K>(&bytes, shape), &row);
                let [_, key, slot] = addition.runs().map(|(offset, _)| offset);
                assert!(next.is_none_or(|next| next == [key, slot]), "{shape:?} {form:?}");
                next = Some(addition.next());
                let mut added = bytes.clone();
                let mut changed = 0;
                for (offset, run) in addition.runs() {
                    added[usize::from(offset)..][..run.len()].copy_from_slice(run);
                    changed += run.len();
                }
                PageMut::existing(&mut bytes, shape).append([&row]);
                assert_eq!(added, bytes, "{shape:?} {form:?}");
                assert!(changed <= Addition::MOST_BYTES);
            }
        });
    });
}

#[test]
fn an_addition_of_every_family_is_an_append() {
    an_addition_is_an_append::<u64>();
    an_addition_is_an_append::<u128>();
    an_addition_is_an_append::<Scoped64>();
    an_addition_is_an_append::<Scoped128>();
    an_addition_is_an_append::<Scoped<B256, 3>>();
    an_addition_is_an_append::<Scoped<B1024, 7>>();
}

#[test]
fn removal_keeps_the_other_rows_whole() {
    each_shape::<Scoped64>(|shape| {
        each_form::<Scoped64>(shape, |form| {
            let mut random = SplitMix64::new(5);
            let mut bytes = vec![0; 1024];
            leaf::<Scoped64>(&mut bytes, shape, form);
            let rows: Vec<Row<Scoped64>> =
                (0..6).map(|_| fitting(shape, form, &mut random)).collect();
            PageMut::existing(&mut bytes, shape).set_rows(&rows, form);
            PageMut::existing(&mut bytes, shape).remove(&[0, 2, 5]);
            let page = checked::<Scoped64>(&bytes, shape);
            let mut left: Vec<Row<Scoped64>> = page.rows().collect();
            let mut expected = vec![rows[1], rows[3], rows[4]];
            left.sort_unstable();
            expected.sort_unstable();
            assert_eq!(left, expected, "{shape:?} {form:?}");
            let [lower, upper] = [LOWER, UPPER].map(|at| usize::from(u16_at(&bytes, at)));
            assert!(bytes[lower..upper].iter().all(|&byte| byte == 0));
        });
    });
}

#[test]
fn a_uniform_leaf_has_room_for_its_own_scope_only() {
    let shape = shape(8, 3, 0);
    let mut random = SplitMix64::new(6);
    for form in FORMS {
        let mut bytes = vec![0; 256];
        leaf::<Scoped64>(&mut bytes, &shape, form);
        let page = checked::<Scoped64>(&bytes, &shape);
        let fits = |scope, random: &mut SplitMix64| {
            page.has_room_for(&row::<Scoped64>(&shape, scope, random).entry)
        };
        assert!(fits(7, &mut random));
        assert_eq!(fits(8, &mut random), form == Form::MIXED);
    }
}

/// A page of 8 kB as version 0.1.0 wrote it: field by field, with none of the code above.
fn old_page(level: u8, keys: &[&[u8]], slots: &[&[u8]], bounds: [&[u8]; 2]) -> Vec<u8> {
    let mut page = vec![0; 8192];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    for (i, key) in keys.iter().enumerate() {
        put(24 + i * key.len(), key);
    }
    for (i, slot) in slots.iter().enumerate() {
        put(8136 - (i + 1) * slot.len(), slot);
    }
    let lower = 24 + keys.len() * keys[0].len();
    let upper = 8136 - slots.len() * slots[0].len();
    let header = [lower as u16, upper as u16, 8136, 0x2004];
    for (i, field) in header.iter().enumerate() {
        put(12 + 2 * i, &field.to_ne_bytes());
    }
    put(8136, bounds[0]);
    put(8152, bounds[1]);
    // The TIDs of both bounds.
    put(8168, &[1, 0, 2, 0, 0, 0]);
    put(8174, &[3, 0, 4, 0, 0, 0]);
    put(8180, &77u32.to_ne_bytes());
    put(8184, &[2, level]);
    put(8188, &0x5348_5431u32.to_ne_bytes());
    page
}

#[test]
fn a_page_of_version_0_1_is_read_and_written_as_before() {
    let [a, b] = [0x1122_3344_5566_7788u64, 0x99aa_bbcc_ddee_ff00].map(u64::to_ne_bytes);
    let (low, high) = (5u64.to_ne_bytes(), u64::MAX.to_ne_bytes());
    let slots: [&[u8]; 2] = [&[9, 0, 8, 0, 0, 0], &[7, 0, 6, 0, 0, 0]];
    let image = old_page(0, &[&a, &b], &slots, [&low, &high]);
    let shape = Shape::plain::<u64>();
    let bounds = Bounds {
        low: Entry { key: 5u64, tid: 0x2_0001 },
        high: Some(Entry { key: u64::MAX, tid: 0x4_0003 }),
    };
    let page = checked::<u64>(&image, &shape);
    assert_eq!((page.table(), page.level(), page.right()), (2, 0, Some(77)));
    assert_eq!((page.bounds(), page.form()), (bounds, Form::MIXED));
    let entries = [
        Entry { key: 0x1122_3344_5566_7788u64, tid: 0x8_0009 },
        Entry { key: 0x99aa_bbcc_ddee_ff00, tid: 0x6_0007 },
    ];
    assert!(page.entries().eq(entries));

    let mut written = vec![0; 8192];
    let place = Place { table: 2, level: 0, bounds: &bounds, right: Some(77) };
    let rows = entries.map(|entry| Row { entry, payload: () });
    PageMut::format(&mut written, &shape, &place).set_rows(&rows, Form::MIXED);
    assert_eq!(written, image);
}

#[test]
fn an_inner_page_of_version_0_1_is_read_and_written_as_before() {
    let [a, b] = [5u128, 0x99aa_bbcc_ddee_ff00_1122_3344_5566_7788].map(u128::to_ne_bytes);
    let high = u128::MAX.to_ne_bytes();
    let child = |tid: [u8; 6], child: u32| [&tid[..], &child.to_ne_bytes()].concat();
    let slots = [child([1, 0, 2, 0, 0, 0], 41), child([7, 0, 6, 0, 0, 0], 42)];
    let image = old_page(1, &[&a, &b], &[&slots[0], &slots[1]], [&a, &high]);
    let shape = Shape::plain::<u128>();
    let page = checked::<u128>(&image, &shape);
    let bounds = Bounds {
        low: Entry { key: 5u128, tid: 0x2_0001 },
        high: Some(Entry { key: u128::MAX, tid: 0x4_0003 }),
    };
    assert_eq!((page.level(), page.bounds()), (1, bounds));
    let links = [
        Downlink { separator: bounds.low, child: 41 },
        Downlink { separator: Entry { key: u128::from_ne_bytes(b), tid: 0x6_0007 }, child: 42 },
    ];
    for (i, link) in links.iter().enumerate() {
        assert_eq!((page.entry(i), page.child(i)), (link.separator, link.child));
    }

    let mut written = vec![0; 8192];
    let place = Place { table: 2, level: 1, bounds: &bounds, right: Some(77) };
    PageMut::format(&mut written, &shape, &place).set_downlinks(&links);
    assert_eq!(written, image);
}

#[test]
fn a_leaf_takes_what_its_form_can_store() {
    let shape = Shape::plain::<u128>();
    each_form::<u128>(&shape, |form| {
        let mut random = SplitMix64::new(11);
        let mut bytes = vec![0; 1024];
        leaf::<u128>(&mut bytes, &shape, form);
        let page = checked::<u128>(&bytes, &shape);
        let Entry { key, tid } = fitting::<u128>(&shape, form, &mut random).entry;
        for bit in 0..128 {
            let other = Entry { key: key ^ u128::bit(bit), tid };
            assert_eq!(page.takes(&other), bit >= form.cut_bits(), "{form:?} {bit}");
        }
        for bit in 0..48 {
            let other = Entry { key, tid: tid | 1 << bit };
            assert_eq!(page.takes(&other), form.tids.take(other.tid), "{form:?} {bit}");
        }
    });
}

/// A row of postings, with a TID that four bytes suffice for or one that they do not.
fn posting<K: TreeKey>(shape: &Shape, short: bool, random: &mut SplitMix64) -> Row<K> {
    let mut row = row::<K>(shape, 7, random);
    let (page, offset) = (random.next_u64() & 0x1f_ffff, random.next_u64() & 0x7ff);
    row.entry.tid = page << 16 | offset;
    match random.next_u64() % 3 {
        _ if short => {}
        0 => row.entry.tid |= 1 << 37,
        1 => row.entry.tid |= 1 << 11,
        _ => row.entry.tid |= 0xffff_ffff << 16,
    }
    assert_eq!(Tids::SHORT.take(row.entry.tid), short);
    row
}

/// Every shape, table and form of an index of postings.
fn each_form_of_postings<K: TreeKey>(test: impl Fn(&Shape, u8, Form)) {
    for (scope, payload) in [(0, 0), (1, 0), (0, 9), (5, 4), (16, 40), (17, 1), (56, 40)] {
        let shape = shape(4, scope, payload);
        for table in 0..3 {
            for [uniform, short] in [[false, false], [false, true], [true, false], [true, true]] {
                if shape.fits::<K>() {
                    let tids = if short { Tids::SHORT } else { Tids::WHOLE };
                    test(&shape, table, Form { uniform, tids, cut: 0 });
                }
            }
        }
    }
}

/// An empty leaf, as [`leaf`] makes one.
fn leaf_of_postings<K: TreeKey>(bytes: &mut [u8], shape: &Shape, table: u8, form: Form) {
    let scope = K::Scope::load(&vec![7; shape.scope]);
    let low = Entry { key: K::new(scope, K::Fingerprint::ZERO), tid: 5 };
    let bounds = Bounds { low, high: None };
    let place = Place { table, level: 0, bounds: &bounds, right: None };
    PageMut::format(bytes, shape, &place).set_rows::<K>(&[], form);
}

fn leaves_of_postings_hold_what_they_say<K: TreeKey>() {
    each_form_of_postings::<K>(|shape, table, form| {
        let mut random = SplitMix64::new(7);
        let mut bytes = vec![0xaa; 1024];
        leaf_of_postings::<K>(&mut bytes, shape, table, form);
        let at = shape.at(table);
        let mut rows = Vec::new();
        while checked::<K>(&bytes, shape).has_room() {
            rows.push(posting::<K>(&at, form.tids == Tids::SHORT, &mut random));
            PageMut::existing(&mut bytes, shape).append([&rows[rows.len() - 1]]);
        }
        let page = checked::<K>(&bytes, shape);
        assert_eq!(rows.len(), at.leaf_capacity(1024, form), "{shape:?} {table} {form:?}");
        assert_eq!((page.form(), page.table(), page.room()), (form, table, 0));
        assert!(page.rows::<K>().eq(rows.iter().copied()), "{shape:?} {table} {form:?}");
        let [near, far] = [true, false].map(|short| posting::<K>(&at, short, &mut random).entry);
        assert_eq!((page.takes(&near), page.takes(&far)), (true, form.tids != Tids::SHORT));
    });
}

#[test]
fn leaves_of_postings_of_every_family_hold_what_they_say() {
    leaves_of_postings_hold_what_they_say::<Posting>();
    leaves_of_postings_hold_what_they_say::<Scoped<u64, 2>>();
    leaves_of_postings_hold_what_they_say::<Scoped<u64, 7>>();
}

#[test]
fn payloads_are_stored_with_rows_only() {
    let shape = shape(4, 0, 40);
    let capacity = |table: u8| shape.at(table).leaf_capacity(8192, Form::UNIFORM);
    // (8192 - 24 - 56) / (4 + 6), and / (4 + 6 + 40); 4 + 4 where TIDs are short.
    assert_eq!([0, 1, 2].map(capacity), [811, 811, 162]);
    let short = Form { tids: Tids::SHORT, ..Form::UNIFORM };
    assert_eq!(shape.at(1).leaf_capacity(8192, short), 1014);
    let of_blocks = Shape { key: 8, ..shape };
    assert_eq!(of_blocks.at(0), of_blocks);
}

fn an_addition_of_rows_is_their_appends<K: TreeKey>() {
    each_form_of_postings::<K>(|shape, table, form| {
        let mut random = SplitMix64::new(8);
        let mut bytes = vec![0; 1024];
        leaf_of_postings::<K>(&mut bytes, shape, table, form);
        loop {
            let page = checked::<K>(&bytes, shape);
            let most = Addition::most_rows(&page);
            if most == 0 {
                break;
            }
            assert!(most <= page.room());
            let count = random.next_u64() as usize % most + 1;
            let rows: Vec<Row<K>> = (0..count)
                .map(|_| posting(&shape.at(table), form.tids == Tids::SHORT, &mut random))
                .collect();
            let addition = Addition::of_rows(&page, &rows);
            let mut added = bytes.clone();
            let mut changed = 0;
            for (offset, run) in addition.runs() {
                added[usize::from(offset)..][..run.len()].copy_from_slice(run);
                changed += run.len();
            }
            for row in &rows {
                PageMut::existing(&mut bytes, shape).append([row]);
            }
            assert_eq!(added, bytes, "{shape:?} {table} {form:?}");
            assert!(changed <= Addition::MOST_BYTES);
            assert_eq!(addition.next()[0], u16_at(&bytes, LOWER));
        }
        assert!(!checked::<K>(&bytes, shape).has_room());
    });
}

#[test]
fn an_addition_of_rows_of_every_family_is_their_appends() {
    an_addition_of_rows_is_their_appends::<Posting>();
    an_addition_of_rows_is_their_appends::<Scoped<u64, 2>>();
    an_addition_of_rows_is_their_appends::<Scoped<u64, 7>>();
}

#[test]
fn a_key_of_four_bytes_is_the_most_significant_part() {
    let key = 0x1122_3344_5566_7788u64;
    let mut stored = [0; 4];
    store_key(key, &mut stored);
    assert_eq!(stored, 0x1122_3344u32.to_ne_bytes());
    assert_eq!(load_key::<u64>(&stored), 0x1122_3344_0000_0000);
    for key in [0, 1 << 32, u64::MAX << 32, 1 << 63] {
        store_key(key, &mut stored);
        assert_eq!(load_key::<u64>(&stored), key);
    }
}

#[test]
fn equal_keys_are_found_wherever_they_are() {
    let shape = Shape { key: 4, scope: 0, payload: 0 };
    let mut random = SplitMix64::new(10);
    for count in [0, 1, 3, 63, 64, 65, 127, 128, 129, 200, 300] {
        for values in [1, 2, 20, 1000] {
            let mut bytes = vec![0; 4096];
            let form = Form { tids: Tids::SHORT, ..Form::UNIFORM };
            leaf_of_postings::<Posting>(&mut bytes, &shape, 1, form);
            let keys: Vec<u64> = (0..count).map(|_| (random.next_u64() % values) << 32).collect();
            for (i, &key) in (0..).zip(&keys) {
                let entry = Entry { key: Posting::new((), key), tid: (i + 1) << 16 | 1 };
                PageMut::existing(&mut bytes, &shape).append([&Row { entry, payload: () }]);
            }
            let page = checked::<Posting>(&bytes, &shape);
            for wanted in (0..5).map(|key: u64| key << 32) {
                let mut positions = Vec::new();
                page.equal(wanted, &mut positions);
                let naive = (0..count as u32).filter(|&i| keys[i as usize] == wanted);
                assert!(naive.eq(positions.iter().copied()), "{count} {values}");
                let mut within = Vec::new();
                page.within(wanted, 0, &mut within);
                assert_eq!(within, positions);
            }
        }
    }
}

#[test]
fn a_form_that_keys_cannot_have_is_refused() {
    let cut = Form { cut: 1, ..Form::MIXED };
    let mut bytes = vec![0; 1024];
    let fixed = bytes.len() - FIXED_BYTES;
    let put_form = |bytes: &mut [u8], form: Form| {
        bytes[fixed + FLAGS..][..2].copy_from_slice(&form.flags().to_ne_bytes());
    };
    let postings = Shape { key: 4, scope: 0, payload: 0 };
    leaf_of_postings::<Posting>(&mut bytes, &postings, 1, Form::MIXED);
    put_form(&mut bytes, Form { tids: Tids::SHORT, ..cut });
    assert!(Page::check::<Posting>(&bytes, &postings).is_err());
    let wide = shape(40, 0, 0);
    leaf::<Scoped<B1024, 7>>(&mut bytes, &wide, Form::MIXED);
    put_form(&mut bytes, cut);
    assert!(Page::check::<Scoped<B1024, 7>>(&bytes, &wide).is_err());
    let blocks = Shape::plain::<u64>();
    leaf::<u64>(&mut bytes, &blocks, cut);
    assert!(Page::check::<u64>(&bytes, &blocks).is_ok());
    // An inner page has no form.
    bytes[fixed + LEVEL] = 1;
    assert!(Page::check::<u64>(&bytes, &blocks).is_err());
    leaf::<u64>(&mut bytes, &blocks, Form::MIXED);
    bytes[fixed + FLAGS] = 1 << 3;
    assert!(Page::check::<u64>(&bytes, &blocks).is_err());
}

/// Whether a change of a leaf with the rows 10, 20 and 30 of the range from 10 to 40 is refused,
/// where all rows have one TID.
fn is_refused(change: impl FnOnce(&mut PageMut<'_>)) -> bool {
    let shape = Shape::plain::<u64>();
    let mut bytes = vec![0; 1024];
    let bounds = Bounds { low: at(10), high: Some(at(40)) };
    let place = Place { table: 1, level: 0, bounds: &bounds, right: Some(77) };
    let rows = [10, 20, 30].map(|key| Row { entry: at(key), payload: () });
    PageMut::format(&mut bytes, &shape, &place).set_rows(&rows, Form::MIXED);
    let mut page = PageMut::existing(&mut bytes, &shape);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| change(&mut page))).is_err()
}

fn at(key: u64) -> Entry<u64> {
    Entry { key, tid: 1 << 16 | 1 }
}

#[test]
fn a_leaf_that_would_lose_rows_is_not_written() {
    let row = |key| Row { entry: at(key), payload: () };
    assert!(!is_refused(|leaf| leaf.append([&row(39)])));
    for outside in [9, 40] {
        assert!(is_refused(|leaf| leaf.append([&row(35), &row(outside)])), "{outside}");
        assert!(is_refused(|leaf| leaf.set_rows(&[row(35), row(outside)], Form::MIXED)));
        assert!(is_refused(|leaf| leaf.set_rows(&[row(outside), row(35), row(20)], Form::MIXED)));
    }
    // The leaf's lower bound has other bytes in the place of those that are cut.
    let cut = Form { cut: 1, ..Form::MIXED };
    assert!(!is_refused(|leaf| leaf.set_rows(&[row(35)], cut)));
    let wide = Bounds { low: at(10), high: None };
    let place = Place { table: 1, level: 0, bounds: &wide, right: None };
    let shape = Shape::plain::<u64>();
    let write = || {
        let mut bytes = vec![0; 1024];
        PageMut::format(&mut bytes, &shape, &place).set_rows(&[row(1 << 60)], cut);
    };
    assert!(std::panic::catch_unwind(write).is_err());

    assert!(!is_refused(|leaf| leaf.remove(&[0, 2])));
    for twice in [[1, 1], [2, 0], [2, 3]] {
        assert!(is_refused(|leaf| leaf.remove(&twice)), "{twice:?}");
    }
    assert!(is_refused(|leaf| leaf.delete()));
    assert!(!is_refused(|leaf| {
        leaf.remove(&[0, 1, 2]);
        leaf.delete();
    }));
    assert!(!is_refused(|leaf| leaf.set_high(Some(at(31)), Some(78))));
    assert!(is_refused(|leaf| leaf.set_high(Some(at(10)), Some(78))));
    assert!(is_refused(|leaf| leaf.set_high::<u64>(None, Some(78))));
    assert!(is_refused(|leaf| leaf.set_high(Some(at(31)), None)));
    // A leaf has no children.
    assert!(is_refused(|leaf| leaf.set_downlinks(&[Downlink { separator: at(10), child: 9 }])));
}

#[test]
fn an_addition_has_only_rows_of_its_leaf() {
    let shape = Shape { key: 4, scope: 0, payload: 0 };
    let mut bytes = vec![0; 1024];
    let key = |key: u64| Entry { key: Posting::new((), key << 32), tid: 1 << 16 | 1 };
    let bounds = Bounds { low: key(10), high: Some(key(40)) };
    let place = Place { table: 1, level: 0, bounds: &bounds, right: Some(77) };
    PageMut::format(&mut bytes, &shape, &place);
    let page = checked::<Posting>(&bytes, &shape);
    let is_refused = |rows: &[Row<Posting>]| {
        std::panic::catch_unwind(|| Addition::of_rows(&page, rows)).is_err()
    };
    let row = |of: u64| Row { entry: key(of), payload: () };
    let most = Addition::most_rows(&page);
    assert!(!is_refused(&vec![row(20); most]));
    assert!(is_refused(&vec![row(20); most + 1]));
    assert!(is_refused(&[row(20), row(9)]) && is_refused(&[row(20), row(40)]));
}

#[test]
fn an_inner_page_that_would_lose_children_is_not_written() {
    let shape = Shape::plain::<u64>();
    let bounds = Bounds { low: at(10), high: Some(at(40)) };
    let place = Place { table: 1, level: 1, bounds: &bounds, right: Some(77) };
    let is_refused = |separators: &[u64]| {
        let links: Vec<Downlink<u64>> =
            separators.iter().map(|&key| Downlink { separator: at(key), child: 9 }).collect();
        let write = || {
            let mut bytes = vec![0; 1024];
            PageMut::format(&mut bytes, &shape, &place).set_downlinks(&links);
        };
        std::panic::catch_unwind(write).is_err()
    };
    assert!(!is_refused(&[10, 20, 39]));
    for wrong in [&[][..], &[11, 20], &[9, 20], &[10, 10], &[10, 30, 20], &[10, 40]] {
        assert!(is_refused(wrong), "{wrong:?}");
    }
}

/// A leaf of 8 kB whose keys agree in their first bits, and as many of them ascend as possible.
fn ordered_leaf<K: TreeKey>(bytes: &mut [u8], count: usize, random: &mut SplitMix64) {
    let shape = Shape::plain::<K::Fingerprint>();
    let low = Entry { key: K::new(K::Scope::ZERO, K::Fingerprint::ZERO), tid: 1 };
    let place = Place { table: 0, level: 0, bounds: &Bounds { low, high: None }, right: None };
    let mut rows: Vec<Row<K>> = (0..count)
        .map(|i| {
            let spread = [4, 11, 64][i % 3];
            let key = K::Fingerprint::from_words(|_| random.next_u64() >> random.below(spread));
            let entry = Entry { key: K::new(K::Scope::ZERO, key >> 9), tid: i as u64 / 2 + 1 };
            Row { entry, payload: K::Payload::ZERO }
        })
        .collect();
    rows.sort_unstable();
    let form = Common::of_rows(low, &rows).form(&shape);
    PageMut::format(bytes, &shape, &place).set_rows(&rows, form);
}

fn what_is_wanted_is_found<K: TreeKey>() {
    let shape = Shape::plain::<K::Fingerprint>();
    let mut random = SplitMix64::new(12);
    for round in 0..300 {
        let mut bytes = vec![0; 8192];
        let count = [0, 1, 31, 32, 33, 64, 200, 230][round % 8];
        ordered_leaf::<K>(&mut bytes, count, &mut random);
        assert_eq!(checked::<K>(&bytes, &shape).ordered(), count / 32 * 32);
        if round % 3 == 0 && count > 0 {
            let gone: Vec<usize> = (0..count).filter(|_| random.below(40) == 0).collect();
            PageMut::existing(&mut bytes, &shape).remove(&gone);
            let first = gone.first().copied().unwrap_or(count);
            assert!(checked::<K>(&bytes, &shape).ordered() <= first.max(1));
        }
        let page = checked::<K>(&bytes, &shape);
        let ordered: Vec<Entry<K>> = page.entries().take(page.ordered()).collect();
        assert!(ordered.is_sorted());
        for _ in 0..40 {
            let other = K::Fingerprint::from_words(|_| random.next_u64() >> random.below(64));
            let some = random.below(page.len().max(1) as u64) as usize;
            let target = if page.is_empty() || random.below(4) == 0 {
                other
            } else {
                page.fingerprint::<K::Fingerprint>(some)
            };
            let query = target ^ K::Fingerprint::bit(random.below(40) as u32);
            let distance = random.below(9) as u32;
            let (mut from, mut within) = (Vec::new(), Vec::new());
            let key = K::new(K::Scope::ZERO, target);
            let bounded = random.below(2) == 0 && !page.is_empty();
            let last = bounded
                .then(|| page.key::<K>(random.below(page.len() as u64) as usize))
                .filter(|&last| last >= key);
            page.within_between((key, last), query, distance, &mut from);
            page.within(query, distance, &mut within);
            assert!(from.is_sorted() && from.iter().all(|i| within.contains(i)));
            let is_wanted = |key_of: K| key_of >= key && last.is_none_or(|last| key_of <= last);
            let mut wanted = within.iter().filter(|&&i| is_wanted(page.key::<K>(i as usize)));
            assert!(wanted.all(|i| from.contains(i)), "round {round}");
            if page.ordered() > 0 {
                // Of the chunks that end below the target, only the first may be compared.
                let passed =
                    (1..page.ordered() / 32).filter(|i| page.key::<K>(i * 32) < key).count();
                assert!(from.iter().all(|&i| i as usize >= passed * 32));
            }
        }
    }
}

#[test]
fn what_is_wanted_is_found_on_ordered_leaves() {
    what_is_wanted_is_found::<u64>();
    what_is_wanted_is_found::<u128>();
    what_is_wanted_is_found::<B256>();
}
