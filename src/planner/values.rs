//! Recognises conditions on a distance and constants alone, in any form: `hamming(x, y) IN (0, 1)`,
//! `1 - hamming(x, y) / 64.0 >= 0.95`. There are few distances, so the condition is evaluated for
//! each.

use pgrx::{PgList, pg_sys};

use super::measures::Measure;
use super::pattern::distance_of;

/// A condition on one distance and constants.
pub struct Values {
    pub measure: Measure,
    pub x: *mut pg_sys::Node,
    pub y: *mut pg_sys::Node,
    /// The condition, with a place-holder for the distance.
    condition: *mut pg_sys::Node,
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
    found: Option<(Measure, *mut pg_sys::Node, *mut pg_sys::Node)>,
    operators: usize,
}

impl Values {
    /// Recognises a condition.
    ///
    /// # Safety
    /// `clause` is an expression tree.
    pub unsafe fn of(clause: *mut pg_sys::Node) -> Option<Values> {
        // SAFETY: `clause` is an expression tree, and is cast only to the type its tag says.
        unsafe {
            if !is_any_of(
                clause,
                &[pg_sys::NodeTag::T_OpExpr, pg_sys::NodeTag::T_ScalarArrayOpExpr],
            ) || !mentions_distance(clause, 0)
            {
                return None;
            }
            let mut reading = Reading { found: None, operators: 0 };
            let condition = reading.copy_condition(clause)?;
            let (measure, x, y) = reading.found?;
            let is_volatile = |node| pg_sys::contain_volatile_functions(node);
            (!is_volatile(x) && !is_volatile(y)).then_some(Values { measure, x, y, condition })
        }
    }

    /// `None` if no distance meets the condition, or if the greatest one does.
    pub fn reach(&self) -> Option<Reach> {
        let most = self.measure.layout.most_bits();
        // SAFETY: the condition is a copy, made only of functions that raise no ERROR.
        let holds = unsafe { evaluated(self.condition, most) };
        let radius = holds.iter().rposition(|&holds| holds)?;
        let is_ball = holds[..radius].iter().all(|&holds| holds);
        let radius = u32::try_from(radius).ok().filter(|&radius| radius < most)?;
        Some(Reach { radius, is_ball })
    }
}

unsafe fn is_any_of(node: *mut pg_sys::Node, tags: &[pg_sys::NodeTag]) -> bool {
    // SAFETY: a node or null.
    unsafe { !node.is_null() && tags.contains(&(*node).type_) }
}

/// The arguments of a call, of an operator, or of a comparison with an array.
unsafe fn arguments(node: *mut pg_sys::Node) -> Vec<*mut pg_sys::Node> {
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        let list = match (*node).type_ {
            pg_sys::NodeTag::T_FuncExpr => (*node.cast::<pg_sys::FuncExpr>()).args,
            pg_sys::NodeTag::T_OpExpr => (*node.cast::<pg_sys::OpExpr>()).args,
            pg_sys::NodeTag::T_ScalarArrayOpExpr => {
                (*node.cast::<pg_sys::ScalarArrayOpExpr>()).args
            }
            _ => return Vec::new(),
        };
        PgList::<pg_sys::Node>::from_pg(list).iter_ptr().collect()
    }
}

/// Whether an expression has a distance among its topmost nodes.
unsafe fn mentions_distance(node: *mut pg_sys::Node, depth: usize) -> bool {
    // SAFETY: an expression tree.
    unsafe {
        !node.is_null()
            && (distance_of(node).is_some()
                || depth < 5
                    && arguments(node).into_iter().any(|node| mentions_distance(node, depth + 1)))
    }
}

fn is_number(type_oid: pg_sys::Oid) -> bool {
    let integers = [pg_sys::INT2OID, pg_sys::INT4OID, pg_sys::INT8OID];
    let others = [pg_sys::FLOAT4OID, pg_sys::FLOAT8OID, pg_sys::NUMERICOID];
    integers.contains(&type_oid) || others.contains(&type_oid)
}

/// The name of one of PostgreSQL's own operators. `None` for another one.
unsafe fn name_of(operator: pg_sys::Oid) -> Option<Vec<u8>> {
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
    unsafe fn copy_condition(&mut self, clause: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
        // SAFETY: `clause` is an OpExpr or a ScalarArrayOpExpr. Nodes are cast only to the types
        // their tags say.
        unsafe {
            let is_array = pgrx::is_a(clause, pg_sys::NodeTag::T_ScalarArrayOpExpr);
            let operator = if is_array {
                (*clause.cast::<pg_sys::ScalarArrayOpExpr>()).opno
            } else {
                (*clause.cast::<pg_sys::OpExpr>()).opno
            };
            let name = name_of(operator)?;
            if !matches!(&name[..], b"<" | b"<=" | b"=" | b">=" | b">" | b"<>") {
                return None;
            }
            let [left, right] = arguments(clause)[..] else { return None };
            let left = self.copy_compared(left)?;
            let right = if is_array { copy_array(right)? } else { self.copy_compared(right)? };
            let copy: *mut pg_sys::Node = pg_sys::copyObjectImpl(clause.cast()).cast();
            let list = if is_array {
                &mut (*copy.cast::<pg_sys::ScalarArrayOpExpr>()).args
            } else {
                &mut (*copy.cast::<pg_sys::OpExpr>()).args
            };
            *list = list_of(&[left, right]);
            Some(copy)
        }
    }

    /// An operand of the comparison, which may be a constant of any size.
    unsafe fn copy_compared(&mut self, node: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
        // SAFETY: `node` is an expression, and is cast only to the type its tag says.
        unsafe {
            let is_const = !node.is_null() && pgrx::is_a(node, pg_sys::NodeTag::T_Const);
            if is_const && is_number(pg_sys::exprType(node)) {
                return Some(node);
            }
            self.copy_number(node)
        }
    }

    unsafe fn copy_number(&mut self, node: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
        // SAFETY: `node` is an expression or null, and is cast only to the type its tag says.
        unsafe {
            if let Some(distance) = distance_of(node) {
                let is_first = self.found.replace(distance).is_none();
                return is_first.then(|| place_holder());
            }
            if node.is_null() || !is_number(pg_sys::exprType(node)) {
                return None;
            }
            match (*node).type_ {
                pg_sys::NodeTag::T_Const => is_moderate(node.cast()).then_some(node),
                pg_sys::NodeTag::T_FuncExpr => self.copy_cast(node),
                pg_sys::NodeTag::T_OpExpr => self.copy_operator(node),
                _ => None,
            }
        }
    }

    /// A built-in cast of a number to a type that is wide enough for it.
    unsafe fn copy_cast(&mut self, node: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
        use pg_sys::CoercionForm::{COERCE_EXPLICIT_CAST, COERCE_IMPLICIT_CAST};
        // SAFETY: `node` is a FuncExpr, since its tag says so.
        unsafe {
            let cast = node.cast::<pg_sys::FuncExpr>();
            let is_cast = matches!((*cast).funcformat, COERCE_EXPLICIT_CAST | COERCE_IMPLICIT_CAST);
            let [number] = arguments(node)[..] else { return None };
            let is_wide = !matches!((*cast).funcresulttype, pg_sys::INT2OID | pg_sys::INT4OID);
            if !is_cast || !is_wide || (*cast).funcid.to_u32() >= pg_sys::FirstGenbkiObjectId {
                return None;
            }
            let number = self.copy_number(number)?;
            let copy: *mut pg_sys::FuncExpr = pg_sys::copyObjectImpl(node.cast()).cast();
            (*copy).args = list_of(&[number]);
            Some(copy.cast())
        }
    }

    unsafe fn copy_operator(&mut self, node: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
        // SAFETY: `node` is an OpExpr, since its tag says so.
        unsafe {
            let name = name_of((*node.cast::<pg_sys::OpExpr>()).opno)?;
            self.operators += 1;
            let [left, right] = arguments(node)[..] else { return None };
            let divides = name == b"/";
            // A divisor must be a constant, and `is_moderate` keeps that from 0.
            let divisor_is_fit = !divides || pgrx::is_a(right, pg_sys::NodeTag::T_Const);
            if !matches!(&name[..], b"+" | b"-" | b"*" | b"/")
                || !divisor_is_fit
                || self.operators > MOST_OPERATORS
            {
                return None;
            }
            let numbers = [self.copy_number(left)?, self.copy_number(right)?];
            let copy: *mut pg_sys::OpExpr = pg_sys::copyObjectImpl(node.cast()).cast();
            (*copy).args = list_of(&numbers);
            Some(copy.cast())
        }
    }
}

/// The most bytes of an array, which bounds the numbers that planning compares.
const LONGEST_ARRAY: usize = 4096;

/// A constant array of few numbers.
unsafe fn copy_array(node: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: `node` is an expression, cast only if it is a Const. An array is a varlena.
    unsafe {
        let is_const = pgrx::is_a(node, pg_sys::NodeTag::T_Const);
        let is_fit = is_const
            && !(*node.cast::<pg_sys::Const>()).constisnull
            && is_number(pg_sys::get_element_type(pg_sys::exprType(node)))
            && pg_sys::toast_raw_datum_size((*node.cast::<pg_sys::Const>()).constvalue)
                <= LONGEST_ARRAY;
        is_fit.then_some(node)
    }
}

/// Whether a constant is fit for arithmetic: not NULL, and neither large nor near to 0.
unsafe fn is_moderate(constant: *mut pg_sys::Const) -> bool {
    // SAFETY: the datum is read as the type that the node has, and numeric by PostgreSQL's own
    // function.
    unsafe {
        let pg_sys::Const { consttype, constvalue: datum, constisnull, .. } = *constant;
        if constisnull {
            return false;
        }
        let number = match consttype {
            pg_sys::INT2OID => f64::from(datum.value() as i16),
            pg_sys::INT4OID => f64::from(datum.value() as i32),
            pg_sys::INT8OID => datum.value() as i64 as f64,
            pg_sys::FLOAT4OID => f64::from(f32::from_bits(datum.value() as u32)),
            pg_sys::FLOAT8OID => f64::from_bits(datum.value() as u64),
            pg_sys::NUMERICOID => {
                let convert = pg_sys::numeric_float8_no_overflow;
                pgrx::direct_function_call(convert, &[Some(datum)]).unwrap_or(0.0)
            }
            _ => return false,
        };
        (1.0 / GREATEST..=GREATEST).contains(&number.abs())
    }
}

/// The node that stands for the distance in a copy.
unsafe fn place_holder() -> *mut pg_sys::Node {
    // SAFETY: the whole node is filled in.
    unsafe {
        let mut node =
            pgrx::PgBox::<pg_sys::CaseTestExpr>::alloc_node(pg_sys::NodeTag::T_CaseTestExpr);
        (node.typeId, node.typeMod, node.collation) = (pg_sys::INT4OID, -1, pg_sys::InvalidOid);
        node.into_pg().cast()
    }
}

/// Whether a condition holds for each distance from 0 to `most`, put in for the place-holder.
unsafe fn evaluated(condition: *mut pg_sys::Node, most: u32) -> Vec<bool> {
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

unsafe fn list_of(nodes: &[*mut pg_sys::Node]) -> *mut pg_sys::List {
    let mut list = PgList::<pg_sys::Node>::new();
    nodes.iter().for_each(|&node| list.push(node));
    list.into_pg()
}
