//! Which texts have a key: postings (key, place), in memory or, if they do not fit, in a file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::laws::UNUSED;

/// A key in the most significant bits, and the place of a row with this key in the others.
pub trait Posting: Copy + Ord + Send {
    const SIZE: usize = size_of::<Self>();

    fn new(key: u64, place: u32) -> Self;
    fn key(self) -> u64;
    fn place(self) -> u32;
    fn write(&self, file: &mut impl Write) -> io::Result<()>;
    fn read(file: &mut impl Read) -> io::Result<Self>;
}

/// The most rows whose places fit into postings of 8 bytes.
pub const SHORT: usize = 1 << UNUSED;

impl Posting for u64 {
    fn new(key: u64, place: u32) -> Self {
        key | u64::from(place)
    }

    fn key(self) -> u64 {
        self >> UNUSED
    }

    fn place(self) -> u32 {
        (self & (SHORT as u64 - 1)) as u32
    }

    fn write(&self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(&self.to_ne_bytes())
    }

    fn read(file: &mut impl Read) -> io::Result<Self> {
        read_bytes(file).map(Self::from_ne_bytes)
    }
}

impl Posting for u128 {
    fn new(key: u64, place: u32) -> Self {
        u128::from(key) << u32::BITS | u128::from(place)
    }

    fn key(self) -> u64 {
        (self >> u32::BITS) as u64
    }

    fn place(self) -> u32 {
        self as u32
    }

    fn write(&self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(&self.to_ne_bytes())
    }

    fn read(file: &mut impl Read) -> io::Result<Self> {
        read_bytes(file).map(Self::from_ne_bytes)
    }
}

fn read_bytes<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The places of rows by their keys.
pub trait Places {
    /// Passes the places of each key that several rows have to `each`, until it returns false.
    /// Calls `check` between pieces of work.
    fn each_key(
        &self,
        each: &mut dyn FnMut(&mut Vec<u32>) -> bool,
        check: &mut dyn FnMut(),
    ) -> io::Result<()>;
}

/// Postings in memory, ascending.
pub struct InMemory<P>(pub Vec<P>);

impl<P: Posting> Places for InMemory<P> {
    fn each_key(
        &self,
        each: &mut dyn FnMut(&mut Vec<u32>) -> bool,
        _check: &mut dyn FnMut(),
    ) -> io::Result<()> {
        let mut places = Vec::new();
        let keys = self.0.chunk_by(|a, b| a.key() == b.key()).filter(|rows| rows.len() > 1);
        for of_key in keys {
            places.clear();
            places.extend(of_key.iter().map(|posting| posting.place()));
            if !each(&mut places) {
                break;
            }
        }
        Ok(())
    }
}

/// Postings in a file without a name. Those of a key are consecutive.
pub struct InFile {
    file: File,
    postings: usize,
    read: fn(&mut BufReader<&File>) -> io::Result<(u64, u32)>,
}

/// The bytes that are read and written at a time.
const BUFFER: usize = 256 << 10;

/// A call checks whether it was cancelled each time after this many postings.
const OFTEN: usize = 4096;

impl InFile {
    /// A file of the parts that `next` returns until it returns none. No key is in two parts.
    pub fn new<P: Posting>(
        directory: &Path,
        next: impl FnMut() -> Option<Vec<P>>,
        check: &mut dyn FnMut(),
    ) -> io::Result<Self> {
        Self::written(directory, next, check).map_err(|error| {
            let named = format!("a temporary file in {}: {error}", directory.display());
            io::Error::new(error.kind(), named)
        })
    }

    fn written<P: Posting>(
        directory: &Path,
        mut next: impl FnMut() -> Option<Vec<P>>,
        check: &mut dyn FnMut(),
    ) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        let mut file = BufWriter::with_capacity(BUFFER, file);
        let mut postings = 0;
        while let Some(part) = next() {
            postings += part.len();
            for some in part.chunks(OFTEN) {
                check();
                some.iter().try_for_each(|posting| posting.write(&mut file))?;
            }
        }
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let read = |file: &mut BufReader<&File>| {
            let posting = P::read(file)?;
            Ok((posting.key(), posting.place()))
        };
        Ok(Self { file, postings, read })
    }
}

impl Places for InFile {
    fn each_key(
        &self,
        each: &mut dyn FnMut(&mut Vec<u32>) -> bool,
        check: &mut dyn FnMut(),
    ) -> io::Result<()> {
        (&self.file).rewind()?;
        let mut file = BufReader::with_capacity(BUFFER, &self.file);
        let (mut last, mut places) = (None, Vec::new());
        for number in 0..self.postings {
            if number % OFTEN == 0 {
                check();
            }
            let (key, place) = (self.read)(&mut file)?;
            if last.replace(key) != Some(key) {
                if places.len() > 1 && !each(&mut places) {
                    return Ok(());
                }
                places.clear();
            }
            places.push(place);
        }
        if places.len() > 1 {
            each(&mut places);
        }
        Ok(())
    }
}
