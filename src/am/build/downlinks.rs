//! Files of downlinks: the writer of a stretch of leaves leaves their downlinks to the leader.

use std::ffi::CStr;

use simhash_index::key::Bytes;
use simhash_index::page::write::Downlink;
use simhash_index::{Row, Shape, TreeKey};

use super::files::{FileSet, TempFile};
use super::runs;
use crate::storage::check_for_interrupts;

const CHILD_BYTES: usize = size_of::<u32>();
/// How many downlinks are written or read at once.
const TOGETHER: usize = 4096;

/// The shape of a separator, and the size of a stored downlink.
fn stored(shape: &Shape) -> (Shape, usize) {
    let shape = Shape { payload: 0, ..*shape };
    (shape, runs::stored(&shape) + CHILD_BYTES)
}

/// Writes downlinks to a new file.
pub fn write<K: TreeKey>(set: FileSet, name: &CStr, shape: &Shape, downlinks: &[Downlink<K>]) {
    let (shape, size) = stored(shape);
    let mut bytes = vec![0; size * TOGETHER];
    let file = TempFile::create(set, name);
    for some in downlinks.chunks(TOGETHER) {
        check_for_interrupts();
        for (downlink, bytes) in some.iter().zip(bytes.chunks_exact_mut(size)) {
            let (row, child) = bytes.split_at_mut(size - CHILD_BYTES);
            let separator = Row { entry: downlink.separator, payload: K::Payload::ZERO };
            runs::write(&separator, &shape, row);
            child.copy_from_slice(&downlink.child.to_ne_bytes());
        }
        file.write(&bytes[..some.len() * size]);
    }
    file.close();
}

/// Appends the downlinks of a file, which its writer has closed, to `downlinks`.
pub fn read<K: TreeKey>(
    set: FileSet,
    name: &CStr,
    shape: &Shape,
    downlinks: &mut Vec<Downlink<K>>,
) {
    let (shape, size) = stored(shape);
    let mut bytes = vec![0; size * TOGETHER];
    let file = TempFile::open(set, name);
    loop {
        check_for_interrupts();
        let read = file.read(&mut bytes);
        downlinks.extend(bytes[..read].chunks_exact(size).map(|bytes| {
            let (row, child) = bytes.split_at(size - CHILD_BYTES);
            Downlink {
                separator: runs::read::<K>(row, &shape).entry,
                child: child.try_into().map_or(0, u32::from_ne_bytes),
            }
        }));
        if read < bytes.len() {
            break;
        }
    }
    file.close();
}
