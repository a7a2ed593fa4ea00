//! Recognises conditions on a distance and constants alone, in any form: `hamming(x, y) IN (0, 1)`,
//! `1 - hamming(x, y) / 64.0 >= 0.95`. There are few distances, so the condition is evaluated for
//! each.

use pgrx::pg_sys;

use super::distance::Distance;
use super::expr::{Constant, Expr};

/// A condition on one distance and constants.
pub struct Values {
    pub distance: Distance,
    /// The condition, with a place-holder for the distance. It is a copy, made only of functions
    /// that raise no ERROR.
    condition: Expr,
}

/// The reach of a condition: it holds at the radius, and at no greater distance.
pub struct Reach {
    pub radius: u32,
    /// Whether it holds at every smaller distance as well.
    pub is_ball: bool,
}

/// The most arithmetic operators, and the greatest constant beside one. So nothing overflows.
const MOST_OPERATORS: usize = 2;
const GREATEST: f64 = 1000.0;

/// What has been found in an expression so far.
struct Reading {
    found: Option<Distance>,
    operators: usize,
}

impl Values {
    /// Recognises a condition.
    pub fn of(clause: Expr) -> Option<Values> {
        clause.operator()?;
        if !mentions_distance(clause, 0) {
            return None;
        }
        let mut reading = Reading { found: None, operators: 0 };
        let condition = reading.copy_condition(clause)?;
        let distance = reading.found?;
        let is_volatile = distance.x().is_volatile() || distance.y().is_volatile();
        (!is_volatile).then_some(Values { distance, condition })
    }

    /// `None` if no distance meets the condition, or if the greatest one does.
    pub fn reach(&self) -> Option<Reach> {
        let most = self.distance.measure().layout.most_bits();
        let holds = self.evaluated(most);
        let radius = holds.iter().rposition(|&holds| holds)?;
        let is_ball = holds[..radius].iter().all(|&holds| holds);
        let radius = u32::try_from(radius).ok().filter(|&radius| radius < most)?;
        Some(Reach { radius, is_ball })
    }

    /// Whether the condition holds for each distance from 0 to `most`, put in for the place-holder.
    fn evaluated(&self, most: u32) -> Vec<bool> {
        let condition = self.condition.as_ptr();
        // SAFETY: the expression has no variables, and its functions raise no ERROR for these
        // distances.
        unsafe {
            pg_sys::fix_opfuncids(condition);
            let context = pg_sys::CreateStandaloneExprContext();
            let state = pg_sys::ExecInitExpr(condition.cast(), std::ptr::null_mut());
            let holds = (0..=most).map(|distance| {
                (*context).caseValue_datum = pg_sys::Datum::from(distance as i32);
                (*context).caseValue_isNull = false;
                let mut is_null = false;
                let value = (*state).evalfunc.map(|evaluate| {
                    let call = || evaluate(state, context, &mut is_null);
                    pg_sys::ffi::pg_guard_ffi_boundary(call)
                });
                !is_null && value.is_some_and(|value| value.value() != 0)
            });
            let holds = holds.collect();
            pg_sys::FreeExprContext(context, true);
            holds
        }
    }
}

/// Whether an expression has a distance among its topmost nodes.
fn mentions_distance(node: Expr, depth: usize) -> bool {
    let mut below = node.arguments().into_iter().flat_map(|arguments| arguments.iter());
    Distance::of(node).is_some()
        || depth < 5 && below.any(|node| mentions_distance(node, depth + 1))
}

fn is_number(type_oid: pg_sys::Oid) -> bool {
    let integers = [pg_sys::INT2OID, pg_sys::INT4OID, pg_sys::INT8OID];
    let others = [pg_sys::FLOAT4OID, pg_sys::FLOAT8OID, pg_sys::NUMERICOID];
    integers.contains(&type_oid) || others.contains(&type_oid)
}

/// The name of one of PostgreSQL's own operators. `None` for another one.
fn name_of(operator: pg_sys::Oid) -> Option<Vec<u8>> {
    // SAFETY: a catalogue look-up in a transaction, which returns a copy of the name.
    unsafe {
        let is_own = operator.to_u32() < pg_sys::FirstGenbkiObjectId;
        let name = if is_own { pg_sys::get_opname(operator) } else { std::ptr::null_mut() };
        (!name.is_null()).then(|| std::ffi::CStr::from_ptr(name).to_bytes().to_vec())
    }
}

impl Reading {
    /// A copy of a comparison, with a place-holder for the distance. `None` unless it compares
    /// numbers that are computed from the distance and constants.
    fn copy_condition(&mut self, clause: Expr) -> Option<Expr> {
        let name = name_of(clause.operator()?)?;
        if !matches!(&name[..], b"<" | b"<=" | b"=" | b">=" | b">" | b"<>") {
            return None;
        }
        let [left, right] = clause.arguments()?.exactly()?;
        let left = self.copy_compared(left)?;
        let is_array = clause.tag() == pg_sys::NodeTag::T_ScalarArrayOpExpr;
        let right = if is_array { short_array(right)? } else { self.copy_compared(right)? };
        // SAFETY: a copy has the type of its original, and the place-holder that of a distance.
        Some(unsafe { clause.with_arguments(&[left, right]) })
    }

    /// An operand of the comparison, which may be a constant of any size.
    fn copy_compared(&mut self, node: Expr) -> Option<Expr> {
        if node.is_constant() && is_number(node.type_oid()) {
            return Some(node);
        }
        self.copy_number(node)
    }

    fn copy_number(&mut self, node: Expr) -> Option<Expr> {
        if let Some(distance) = Distance::of(node) {
            let is_first = self.found.replace(distance).is_none();
            return is_first.then(place_holder);
        }
        if !is_number(node.type_oid()) {
            return None;
        }
        match node.tag() {
            pg_sys::NodeTag::T_Const => is_moderate(node.constant()?).then_some(node),
            pg_sys::NodeTag::T_FuncExpr => self.copy_cast(node),
            pg_sys::NodeTag::T_OpExpr => self.copy_operator(node),
            _ => None,
        }
    }

    /// A built-in cast of a number to a type that is wide enough for it.
    fn copy_cast(&mut self, node: Expr) -> Option<Expr> {
        use pg_sys::CoercionForm::{COERCE_EXPLICIT_CAST, COERCE_IMPLICIT_CAST};
        let cast = node.call()?;
        let is_cast = matches!(cast.funcformat, COERCE_EXPLICIT_CAST | COERCE_IMPLICIT_CAST);
        let [number] = node.arguments()?.exactly()?;
        let is_wide = !matches!(cast.funcresulttype, pg_sys::INT2OID | pg_sys::INT4OID);
        if !is_cast || !is_wide || cast.funcid.to_u32() >= pg_sys::FirstGenbkiObjectId {
            return None;
        }
        let number = self.copy_number(number)?;
        // SAFETY: the number's copy has its type.
        Some(unsafe { node.with_arguments(&[number]) })
    }

    fn copy_operator(&mut self, node: Expr) -> Option<Expr> {
        let name = name_of(node.operator()?)?;
        self.operators += 1;
        let [left, right] = node.arguments()?.exactly()?;
        // A divisor must be a constant, and `is_moderate` keeps that from 0.
        let divisor_is_fit = name != b"/" || right.is_constant();
        if !matches!(&name[..], b"+" | b"-" | b"*" | b"/")
            || !divisor_is_fit
            || self.operators > MOST_OPERATORS
        {
            return None;
        }
        let numbers = [self.copy_number(left)?, self.copy_number(right)?];
        // SAFETY: the numbers' copies have their types.
        Some(unsafe { node.with_arguments(&numbers) })
    }
}

/// The most bytes of an array, which bounds the numbers that planning compares.
const LONGEST_ARRAY: usize = 4096;

/// A constant array of few numbers.
fn short_array(node: Expr) -> Option<Expr> {
    let array = node.constant()?;
    // SAFETY: a catalogue look-up in a transaction. An array is a varlena.
    let is_fit = unsafe {
        is_number(pg_sys::get_element_type(array.type_oid()))
            && pg_sys::toast_raw_datum_size(array.datum()) <= LONGEST_ARRAY
    };
    is_fit.then_some(node)
}

/// Whether a constant is fit for arithmetic: neither large nor near to 0.
fn is_moderate(constant: Constant) -> bool {
    let datum = constant.datum();
    let number = match constant.type_oid() {
        pg_sys::FLOAT4OID => f64::from(f32::from_bits(datum.value() as u32)),
        pg_sys::FLOAT8OID => constant.double(),
        pg_sys::NUMERICOID => {
            let convert = pg_sys::numeric_float8_no_overflow;
            // SAFETY: the datum is a numeric.
            unsafe { pgrx::direct_function_call(convert, &[Some(datum)]) }.unwrap_or(0.0)
        }
        _ => match constant.integer() {
            Some(integer) => integer as f64,
            None => return false,
        },
    };
    (1.0 / GREATEST..=GREATEST).contains(&number.abs())
}

/// The node that stands for the distance in a copy.
fn place_holder() -> Expr {
    let tag = pg_sys::NodeTag::T_CaseTestExpr;
    // SAFETY: the whole node is filled in.
    unsafe {
        let mut node = pgrx::PgBox::<pg_sys::CaseTestExpr>::alloc_node(tag);
        (node.typeId, node.typeMod, node.collation) = (pg_sys::INT4OID, -1, pg_sys::InvalidOid);
        Expr::made(node.into_pg())
    }
}
