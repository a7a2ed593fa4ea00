//! Objects of this extension, found from one of them: the extension may live in any schema.

use std::ffi::CStr;

use pgrx::pg_sys;

/// What `hamming` measures between, told from its C symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// fingerprint64 or bigint.
    Bits64,
    /// fingerprint128.
    Bits128,
    /// fingerprint64[], the least distance over equal positions.
    Lexicons,
}

impl Width {
    pub fn bits(self) -> i64 {
        match self {
            Width::Bits64 | Width::Lexicons => 64,
            Width::Bits128 => 128,
        }
    }

    /// The ball type; for arrays that of the elements.
    fn ball_type(self) -> &'static CStr {
        match self {
            Width::Bits64 | Width::Lexicons => c"hamming_ball64",
            Width::Bits128 => c"hamming_ball128",
        }
    }
}

/// One of the extension's distance functions that an index can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// `hamming(x, y)`, an integer.
    Hamming,
    /// `hamming_within(x, y, distance)`, a condition.
    Within,
}

/// What a function of the extension measures, and the schema it lives in with all others.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub distance: Distance,
    pub width: Width,
    pub schema: pg_sys::Oid,
}

impl Measure {
    /// `None` for any other function. A function is known by its C symbol: its name may be anyone's.
    pub fn from_function(function: pg_sys::Oid) -> Option<Self> {
        // SAFETY: a syscache tuple is valid until it is released, and its fixed part is a
        // FormData_pg_proc; prosrc is a text.
        unsafe {
            let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
            let tuple = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(function));
            if tuple.is_null() {
                return None;
            }
            let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_proc>(tuple);
            let schema = (*form).pronamespace;
            let name = CStr::from_ptr((*form).proname.data.as_ptr());
            // Reading prosrc copies it; the name spares that for nearly every function.
            let measure = if name.to_bytes().starts_with(b"hamming") {
                let mut is_null = false;
                let column = pg_sys::Anum_pg_proc_prosrc as pg_sys::AttrNumber;
                let source = pg_sys::SysCacheGetAttr(cache, tuple, column, &mut is_null);
                <String as pgrx::FromDatum>::from_datum(source, is_null)
                    .and_then(|symbol| measure_of_symbol(&symbol))
                    .map(|(distance, width)| Measure { distance, width, schema })
            } else {
                None
            };
            pg_sys::ReleaseSysCache(tuple);
            measure
        }
    }

    /// The type of what `<@` has on its right.
    pub fn ball_type(self) -> Option<pg_sys::Oid> {
        // SAFETY: a catalogue look-up by name and schema.
        let oid = unsafe {
            pg_sys::GetSysCacheOid(
                pg_sys::SysCacheIdentifier::TYPENAMENSP as i32,
                pg_sys::Anum_pg_type_oid as pg_sys::AttrNumber,
                pg_sys::Datum::from(self.width.ball_type().as_ptr()),
                pg_sys::Datum::from(self.schema),
                pg_sys::Datum::null(),
                pg_sys::Datum::null(),
            )
        };
        if self.width == Width::Lexicons {
            // SAFETY: a catalogue look-up; no type has no array type.
            return valid(unsafe { pg_sys::get_array_type(oid) });
        }
        valid(oid)
    }

    /// A function of the extension by its name and argument types.
    pub fn function(self, name: &CStr, arguments: &[pg_sys::Oid]) -> Option<pg_sys::Oid> {
        // SAFETY: the list of names and the argument types are valid for the call, which copies them.
        unsafe {
            let mut names = pgrx::PgList::<pg_sys::Node>::new();
            names.push(pg_sys::makeString(pg_sys::get_namespace_name(self.schema)).cast());
            names.push(pg_sys::makeString(pg_sys::pstrdup(name.as_ptr())).cast());
            valid(pg_sys::LookupFuncName(names.into_pg(), arguments.len() as i32, arguments.as_ptr(), true))
        }
    }
}

fn measure_of_symbol(symbol: &str) -> Option<(Distance, Width)> {
    Some(match symbol {
        "hamming_fingerprint64_wrapper" | "hamming_int8_wrapper" => (Distance::Hamming, Width::Bits64),
        "hamming_fingerprint128_wrapper" => (Distance::Hamming, Width::Bits128),
        "hamming_fingerprint64_array_wrapper" => (Distance::Hamming, Width::Lexicons),
        "hamming_within_fingerprint64_array_wrapper" => (Distance::Within, Width::Lexicons),
        "hamming_within_fingerprint64_wrapper" | "hamming_within_int8_wrapper" => {
            (Distance::Within, Width::Bits64)
        }
        "hamming_within_fingerprint128_wrapper" => (Distance::Within, Width::Bits128),
        _ => return None,
    })
}

/// The access method's OID, if the extension is in this database.
pub fn access_method() -> Option<pg_sys::Oid> {
    // SAFETY: a catalogue look-up by name.
    valid(unsafe { pg_sys::get_am_oid(c"simhash".as_ptr(), true) })
}

pub fn valid(oid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    (oid != pg_sys::InvalidOid).then_some(oid)
}
