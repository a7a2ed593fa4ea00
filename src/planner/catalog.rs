//! The extension's own objects, as the planner's part needs them, whatever schema they live in.
//!
//! Invariant: a function is taken for ours only if pg_depend says that it is a member of the
//! extension, its language is C, and its symbol and its signature are those that our SQL script
//! gives it. A name, a schema, `prosrc` or membership alone prove nothing: anybody may give names,
//! whoever may create functions in the schema may choose `prosrc`, and the extension's owner may
//! add members; only a superuser creates functions in C.
//!
//! Everything is looked up without regard to the user's rights: a query that names a function by
//! way of a view needs none on its schema. What a role may execute is asked for each plan, see
//! [`Measure::may_use`].

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use pgrx::{PgList, pg_sys};

use crate::compat;

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
}

/// How datums of a type are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Fingerprint(Width),
    /// For [`Width::Lexicons`] arrays of balls.
    Ball(Width),
}

/// `hamming` for one type of fingerprint, with everything that its clauses are rewritten to.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub width: Width,
    /// The type of both arguments.
    pub point: pg_sys::Oid,
    /// The type that `operator` has on its right.
    pub ball: pg_sys::Oid,
    /// `hamming(point, point) -> integer`.
    pub hamming: pg_sys::Oid,
    /// `hamming_within(point, point, bigint) -> boolean`.
    pub within: pg_sys::Oid,
    /// `hamming_ball_or_null(point, bigint) -> ball`.
    pub make_ball: pg_sys::Oid,
    /// `point <@ ball`.
    pub operator: pg_sys::Oid,
}

/// All that a backend knows of the extension in its database. Empty where it is not installed.
#[derive(Default)]
pub struct Catalog {
    access_method: Option<pg_sys::Oid>,
    measures: Vec<Measure>,
    /// Functions of a centre and a radius that return a ball, or a ball for each centre of an
    /// array.
    ball_makers: Vec<pg_sys::Oid>,
}

/// Counts changes of functions, operators, operator classes and access methods.
static CHANGES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// With the count of changes when the look-up began.
    static KNOWN: RefCell<Option<(u64, Rc<Catalog>)>> = const { RefCell::new(None) };
}

unsafe extern "C-unwind" fn note_change(_: pg_sys::Datum, _cache: i32, _hash: u32) {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// How many changes there were that may concern the extension's objects.
pub fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// Calls `note` for every change of a system cache, from now on to the backend's end.
pub fn watch_cache(
    cache: pg_sys::SysCacheIdentifier::Type,
    note: unsafe extern "C-unwind" fn(pg_sys::Datum, i32, u32),
) {
    // SAFETY: the callback only counts; it lives as long as the process.
    unsafe { pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(note), pg_sys::Datum::null()) };
}

impl Catalog {
    /// Looked up once, and anew after a change.
    pub fn get() -> Rc<Catalog> {
        use pg_sys::SysCacheIdentifier::{AMOID, CLAOID, OPEROID, PROCOID};
        thread_local! {
            static WATCHED: () = for cache in [PROCOID, OPEROID, CLAOID, AMOID] {
                watch_cache(cache, note_change);
            };
        }
        WATCHED.with(|()| ());
        let now = changes();
        let known =
            KNOWN.with_borrow(|known| known.as_ref().filter(|known| known.0 == now).map(|k| k.1.clone()));
        known.unwrap_or_else(|| {
            // SAFETY: in a transaction, for a query is being planned.
            let catalog = Rc::new(unsafe { Catalog::look_up() });
            KNOWN.set(Some((now, catalog.clone())));
            catalog
        })
    }

    unsafe fn look_up() -> Catalog {
        // SAFETY: catalogue look-ups.
        unsafe {
            let Some(extension) = valid(pg_sys::get_extension_oid(c"pg_simhash".as_ptr(), true)) else {
                return Catalog::default();
            };
            let access_method = valid(pg_sys::get_am_oid(c"simhash".as_ptr(), true));
            let own = |name| Function::of_extension(extension, name);
            let (withins, makers) = (own(c"hamming_within"), own(c"hamming_ball_or_null"));
            let measure = |hamming: &Function| {
                let width = width_of_symbol(hamming.symbol.strip_prefix(b"hamming_")?)?;
                let &[point, _] = hamming.arguments.as_slice() else { return None };
                let within = withins.iter().find(|within| {
                    within.symbol.strip_prefix(b"hamming_within_").and_then(width_of_symbol) == Some(width)
                        && within.is([point, point, pg_sys::INT8OID], pg_sys::BOOLOID)
                })?;
                let make_ball = makers.iter().find(|make| {
                    make.symbol.starts_with(b"hamming_ball_or_null_")
                        && make.arguments == [point, pg_sys::INT8OID]
                })?;
                let measure = Measure {
                    width,
                    point,
                    ball: make_ball.result,
                    hamming: hamming.oid,
                    within: within.oid,
                    make_ball: make_ball.oid,
                    operator: operator_of_extension(extension, c"<@", point, make_ball.result)?,
                };
                hamming.is([point, point], pg_sys::INT4OID).then_some(measure)
            };
            Catalog {
                access_method: access_method
                    .filter(|&oid| is_member(extension, pg_sys::AccessMethodRelationId, oid)),
                measures: own(c"hamming").iter().filter_map(measure).collect(),
                ball_makers: makers
                    .iter()
                    .chain(&own(c"hamming_ball"))
                    .filter(|make| {
                        make.symbol.starts_with(b"hamming_ball_")
                            && matches!(make.arguments[..], [_, pg_sys::INT4OID | pg_sys::INT8OID])
                    })
                    .map(|make| make.oid)
                    .collect(),
            }
        }
    }

    /// The measure whose `hamming` this function is.
    pub fn of_hamming(&self, function: pg_sys::Oid) -> Option<Measure> {
        self.measures.iter().copied().find(|measure| measure.hamming == function)
    }

    /// The measure whose `hamming_within` this function is.
    pub fn of_within(&self, function: pg_sys::Oid) -> Option<Measure> {
        self.measures.iter().copied().find(|measure| measure.within == function)
    }

    pub fn is_ball_maker(&self, function: pg_sys::Oid) -> bool {
        self.ball_makers.contains(&function)
    }

    pub fn access_method(&self) -> Option<pg_sys::Oid> {
        self.access_method
    }

    /// How a type's datums are laid out, if it is one of ours, one with the same bits, or a domain
    /// over such.
    pub fn layout(&self, type_oid: pg_sys::Oid) -> Option<Layout> {
        // SAFETY: a catalogue look-up; no type has no base type.
        let base = valid(type_oid).map(|oid| unsafe { pg_sys::getBaseType(oid) })?;
        if base == pg_sys::UUIDOID {
            return Some(Layout::Fingerprint(Width::Bits128));
        }
        self.measures.iter().find_map(|measure| {
            let fingerprint = (measure.point == base).then_some(Layout::Fingerprint(measure.width));
            fingerprint.or((measure.ball == base).then_some(Layout::Ball(measure.width)))
        })
    }
}

impl Measure {
    /// Whether the current role may execute what stands in the clause, and `makes`, which is to
    /// stand there instead: so the new clause is executed where the user's would have been, and
    /// refused where that would have been. If not everybody may, the plan is marked as this role's
    /// own.
    ///
    /// # Safety
    /// `root` is the planner's.
    pub unsafe fn may_use(&self, root: *mut pg_sys::PlannerInfo, makes: &[pg_sys::Oid]) -> bool {
        // SAFETY: as this function's; catalogue look-ups.
        unsafe {
            let operator = pg_sys::get_opcode(self.operator);
            makes.iter().copied().chain([operator]).all(|function| {
                if has_own_rights(function) {
                    (*(*root).glob).dependsOnRole = true;
                }
                compat::may_execute(function)
            })
        }
    }
}

/// Whether rights on a function were granted or revoked: without, everybody may execute it.
unsafe fn has_own_rights(function: pg_sys::Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
    // SAFETY: a syscache tuple is valid until it is released.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(function));
        if tuple.is_null() {
            return true;
        }
        let mut is_null = false;
        let column = pg_sys::Anum_pg_proc_proacl as pg_sys::AttrNumber;
        pg_sys::SysCacheGetAttr(cache, tuple, column, &mut is_null);
        pg_sys::ReleaseSysCache(tuple);
        !is_null
    }
}

/// A function of the extension, written in C.
struct Function {
    oid: pg_sys::Oid,
    symbol: Vec<u8>,
    arguments: Vec<pg_sys::Oid>,
    result: pg_sys::Oid,
}

impl Function {
    fn is<const N: usize>(&self, arguments: [pg_sys::Oid; N], result: pg_sys::Oid) -> bool {
        self.arguments == arguments && self.result == result
    }

    /// All of a name.
    unsafe fn of_extension(extension: pg_sys::Oid, name: &CStr) -> Vec<Function> {
        let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32;
        let none = pg_sys::Datum::null();
        // SAFETY: a list of syscache tuples is valid until it is released; each is a
        // FormData_pg_proc.
        unsafe {
            let list = pg_sys::SearchSysCacheList(cache, 1, pg_sys::Datum::from(name.as_ptr()), none, none);
            let oids: Vec<pg_sys::Oid> = members(list)
                .map(|tuple| (*pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_proc>(tuple)).oid)
                .collect();
            pg_sys::ReleaseCatCacheList(list);
            oids.into_iter().filter_map(|oid| Function::if_own(extension, oid)).collect()
        }
    }

    unsafe fn if_own(extension: pg_sys::Oid, oid: pg_sys::Oid) -> Option<Function> {
        let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
        // SAFETY: a syscache tuple is valid until it is released; prosrc is a text.
        unsafe {
            if !is_member(extension, pg_sys::ProcedureRelationId, oid) {
                return None;
            }
            let tuple = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(oid));
            if tuple.is_null() {
                return None;
            }
            let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_proc>(tuple);
            let in_c = Some((*form).prolang) == valid(pg_sys::get_language_oid(c"c".as_ptr(), true));
            let symbol = in_c.then(|| {
                let mut is_null = false;
                let column = pg_sys::Anum_pg_proc_prosrc as pg_sys::AttrNumber;
                let source = pg_sys::SysCacheGetAttr(cache, tuple, column, &mut is_null);
                CStr::from_ptr(pg_sys::text_to_cstring(source.cast_mut_ptr())).to_bytes().to_vec()
            });
            let (result, count) = ((*form).prorettype, (*form).pronargs.max(0) as usize);
            let returns_set = (*form).proretset;
            let arguments = (*form).proargtypes.values.as_slice(count).to_vec();
            pg_sys::ReleaseSysCache(tuple);
            (!returns_set).then_some(Function { oid, symbol: symbol?, arguments, result })
        }
    }
}

/// The extension's operator of these operand types, if a function of the extension's is behind it.
unsafe fn operator_of_extension(
    extension: pg_sys::Oid,
    name: &CStr,
    left: pg_sys::Oid,
    right: pg_sys::Oid,
) -> Option<pg_sys::Oid> {
    let cache = pg_sys::SysCacheIdentifier::OPERNAMENSP as i32;
    let name = pg_sys::Datum::from(name.as_ptr());
    // SAFETY: a list of syscache tuples is valid until it is released; each is a
    // FormData_pg_operator.
    unsafe {
        let list =
            pg_sys::SearchSysCacheList(cache, 3, name, pg_sys::Datum::from(left), pg_sys::Datum::from(right));
        let found: Vec<(pg_sys::Oid, pg_sys::Oid)> = members(list)
            .map(|tuple| &*pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_operator>(tuple))
            .map(|form| (form.oid, form.oprcode))
            .collect();
        pg_sys::ReleaseCatCacheList(list);
        let (operator, _) = found.into_iter().find(|&(operator, function)| {
            is_member(extension, pg_sys::OperatorRelationId, operator)
                && Function::if_own(extension, function)
                    .is_some_and(|function| function.is([left, right], pg_sys::BOOLOID))
        })?;
        Some(operator)
    }
}

pub unsafe fn members<'a>(list: *mut pg_sys::catclist) -> impl Iterator<Item = pg_sys::HeapTuple> + 'a {
    // SAFETY: the caller holds the list while it reads the tuples.
    unsafe {
        let members = (*list).members.as_slice((*list).n_members.max(0) as usize);
        members.iter().map(|&member| &raw mut (*member).tuple)
    }
}

unsafe fn is_member(extension: pg_sys::Oid, class: pg_sys::Oid, object: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    unsafe { pg_sys::getExtensionOfObject(class, object) == extension }
}

fn width_of_symbol(symbol: &[u8]) -> Option<Width> {
    Some(match symbol {
        b"fingerprint64_wrapper" | b"int8_wrapper" => Width::Bits64,
        b"fingerprint128_wrapper" => Width::Bits128,
        b"fingerprint64_array_wrapper" => Width::Lexicons,
        _ => return None,
    })
}

/// The centre and the radius of a ball that a function of ours makes: `hamming_ball(center,
/// radius)`.
///
/// # Safety
/// `node` is an expression or null.
pub unsafe fn made_ball(node: *mut pg_sys::Node) -> Option<(*mut pg_sys::Node, *mut pg_sys::Node)> {
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_FuncExpr) {
            return None;
        }
        let call = node.cast::<pg_sys::FuncExpr>();
        if !Catalog::get().is_ball_maker((*call).funcid) {
            return None;
        }
        let arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
        Some((arguments.get_ptr(0)?, arguments.get_ptr(1)?))
    }
}

/// The access method's OID, if the extension is in this database.
pub fn access_method() -> Option<pg_sys::Oid> {
    Catalog::get().access_method()
}

pub fn valid(oid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    (oid != pg_sys::InvalidOid).then_some(oid)
}
