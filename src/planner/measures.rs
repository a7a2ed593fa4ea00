//! The extension's own objects for the planner: what `hamming` compares, and what its clauses are
//! rewritten to.
//!
//! Functions are identified by their C symbols and signatures. [`crate::catalog::members`] has the
//! other conditions. Each plan checks which functions the role may execute: [`Measure::may_use`].

use std::cell::RefCell;
use std::rc::Rc;

use pgrx::pg_sys;

use super::changes;
use super::expr::Expr;
use super::near::objects::{NearObjects, TextCalls};
use super::root::Root;
use crate::catalog::cache::valid;
use crate::catalog::members::{Extension, Function};
use crate::catalog::rights;
use crate::types::Width;
use crate::types::layout::Layout;

/// `hamming` for one type of fingerprint, with the objects of its rewritten clauses. Only
/// [`Objects`] makes one, so the objects have the types that are given here.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub layout: Layout,
    /// The type of both arguments.
    pub point: pg_sys::Oid,
    /// The type of the right operand of `operator`.
    pub ball: pg_sys::Oid,
    /// `hamming(point, point) -> integer`.
    pub hamming: pg_sys::Oid,
    /// `hamming_within(point, point, bigint) -> boolean`.
    pub within: pg_sys::Oid,
    /// `hamming_ball_or_null(point, bigint) -> ball`.
    pub make_ball: pg_sys::Oid,
    /// `point <@ ball`.
    pub operator: pg_sys::Oid,
    /// `point <~> point`, or `<^>`: `hamming` as an ordering operator. 0.1.0 has none for bit.
    pub order: Option<pg_sys::Oid>,
    /// `ball ~= ball`.
    pub alike: Option<pg_sys::Oid>,
}

/// The extension's objects in a backend's database. Empty if it is not installed.
#[derive(Default)]
pub struct Objects {
    access_method: Option<pg_sys::Oid>,
    measures: Vec<Measure>,
    /// Functions of a centre and a radius that return a ball, or a ball for each centre of an
    /// array.
    ball_makers: Vec<pg_sys::Oid>,
    near: Option<NearObjects>,
    passages: Option<TextCalls>,
}

thread_local! {
    /// The objects, with the count of changes before the look-up.
    static KNOWN: RefCell<Option<(u64, Rc<Objects>)>> = const { RefCell::new(None) };
}

impl Objects {
    /// The objects, which are looked up once, and again after a change.
    pub fn get() -> Rc<Objects> {
        let now = changes::of_objects();
        let known = KNOWN.with_borrow(|known| {
            known.as_ref().filter(|known| known.0 == now).map(|k| k.1.clone())
        });
        known.unwrap_or_else(|| {
            let catalog = Rc::new(Objects::look_up());
            KNOWN.set(Some((now, catalog.clone())));
            catalog
        })
    }

    fn look_up() -> Objects {
        let Some(extension) = Extension::installed() else { return Objects::default() };
        let (withins, makers) =
            (extension.functions(c"hamming_within"), extension.functions(c"hamming_ball_or_null"));
        let hammings = extension.functions(c"hamming");
        let measures = hammings
            .iter()
            .filter_map(|hamming| Measure::of(extension, hamming, &withins, &makers))
            .collect();
        let ball_makers = makers
            .iter()
            .chain(&extension.functions(c"hamming_ball"))
            .filter(|make| {
                make.symbol.starts_with(b"hamming_ball_")
                    && matches!(make.arguments[..], [_, pg_sys::INT4OID | pg_sys::INT8OID])
            })
            .map(|make| make.oid)
            .collect();
        let near = NearObjects::look_up(extension);
        let passages = TextCalls::of_passages(extension);
        let access_method = extension.access_method();
        Objects { access_method, measures, ball_makers, near, passages }
    }

    /// The measure whose `hamming` this function is.
    pub fn of_hamming(&self, function: pg_sys::Oid) -> Option<Measure> {
        self.measures.iter().copied().find(|measure| measure.hamming == function)
    }

    /// The measure whose `hamming_within` this function is.
    pub fn of_within(&self, function: pg_sys::Oid) -> Option<Measure> {
        self.measures.iter().copied().find(|measure| measure.within == function)
    }

    /// The objects for texts.
    pub fn near(&self) -> Option<NearObjects> {
        self.near
    }

    /// The objects for passages.
    pub fn passages(&self) -> Option<TextCalls> {
        self.passages
    }

    /// The objects for calls of this function, if it is one of two texts.
    pub fn text_calls(&self, function: pg_sys::Oid) -> Option<TextCalls> {
        let near = self.near.map(|near| near.calls);
        [near, self.passages].into_iter().flatten().find(|calls| calls.function == function)
    }

    /// The layout of a type's values, if it is a type of ours, one with the same bits, or a domain
    /// over one of these.
    pub fn layout(&self, type_oid: pg_sys::Oid) -> Option<Layout> {
        // SAFETY: a catalogue look-up in a transaction, by a valid OID.
        let base = valid(type_oid).map(|oid| unsafe { pg_sys::getBaseType(oid) })?;
        if base == pg_sys::UUIDOID {
            return Some(Layout::Fingerprint(Width::Bits128));
        }
        self.measures.iter().find_map(|measure| {
            let point = (measure.point == base).then_some(measure.layout);
            point.or((measure.ball == base).then_some(measure.layout.of_balls()))
        })
    }
}

impl Measure {
    /// The measure of a function `hamming`. `None` if the function is another, or if an object is
    /// missing.
    fn of(
        extension: Extension,
        hamming: &Function,
        withins: &[Function],
        makers: &[Function],
    ) -> Option<Measure> {
        let layout = layout_of_symbol(hamming.symbol.strip_prefix(b"hamming_")?)?;
        let &[point, _] = hamming.arguments.as_slice() else { return None };
        let within = withins.iter().find(|within| {
            let symbol = within.symbol.strip_prefix(b"hamming_within_");
            symbol.and_then(layout_of_symbol) == Some(layout)
                && within.is([point, point, pg_sys::INT8OID], pg_sys::BOOLOID)
        })?;
        let make_ball = makers.iter().find(|make| {
            make.symbol.starts_with(b"hamming_ball_or_null_")
                && make.arguments == [point, pg_sys::INT8OID]
        })?;
        let measure = Measure {
            layout,
            point,
            ball: make_ball.result,
            hamming: hamming.oid,
            within: within.oid,
            make_ball: make_ball.oid,
            operator: extension.operator(c"<@", point, make_ball.result)?,
            order: [c"<~>", c"<^>"].into_iter().find_map(|name| {
                extension.operator_returning(name, [point, point], pg_sys::INT4OID)
            }),
            alike: extension.operator(c"~=", make_ball.result, make_ball.result),
        };
        hamming.is([point, point], pg_sys::INT4OID).then_some(measure)
    }

    /// Whether the current role may execute `makes` and the function of `<@`. The caller passes the
    /// functions of the user's clause and those of its new form, so a query is refused exactly if
    /// the user's own would be. If a privilege on one of them was ever granted or revoked, the plan
    /// is marked as this role's own.
    pub fn may_use(&self, root: Root, makes: &[pg_sys::Oid]) -> bool {
        // SAFETY: a catalogue look-up in a transaction.
        let operator = unsafe { pg_sys::get_opcode(self.operator) };
        may_execute_all(root, makes) && may_execute_all(root, &[operator])
    }
}

/// Whether the current role may execute these functions. If a privilege on one of them was ever
/// granted or revoked, the plan is marked as this role's own.
pub fn may_execute_all(root: Root, functions: &[pg_sys::Oid]) -> bool {
    functions.iter().all(|&function| {
        if !rights::all_may_execute(function) {
            root.depends_on_role();
        }
        rights::may_execute(function)
    })
}

/// The layout of the values that `hamming` with this C symbol compares. The symbol comes without
/// its prefix.
fn layout_of_symbol(symbol: &[u8]) -> Option<Layout> {
    Some(match symbol {
        b"fingerprint64_wrapper" | b"int8_wrapper" => Layout::Fingerprint(Width::Bits64),
        b"fingerprint128_wrapper" => Layout::Fingerprint(Width::Bits128),
        b"fingerprint256_wrapper" => Layout::Fingerprint(Width::Bits256),
        b"fingerprint64_array_wrapper" => Layout::Fingerprints,
        b"bit_wrapper" => Layout::Bits,
        _ => return None,
    })
}

/// The centre and the radius of a ball, if a function of ours makes it:
/// `hamming_ball(center, radius)`.
pub fn made_ball(node: Expr) -> Option<[Expr; 2]> {
    let call = node.call()?;
    Objects::get().ball_makers.contains(&call.funcid).then(|| node.arguments()?.first()).flatten()
}

/// The access method's OID, if the extension is installed in this database.
pub fn access_method() -> Option<pg_sys::Oid> {
    Objects::get().access_method
}
