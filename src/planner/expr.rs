//! Expressions, such as those of the query that is planned, as handles that are read safely.

use std::ptr::NonNull;

use pgrx::{PgList, pg_sys};

use crate::catalog::cache::valid;

/// An expression.
///
/// Invariant: the node and all nodes below it are as PostgreSQL makes them: a node has the fields
/// that its tag says, and the arguments of a function or an operator have the types that it takes.
/// They exist, and nobody else changes them, until the hook or the support function returns for
/// which the handle was made, or its maker lets them go; no handle is used after that.
#[derive(Clone, Copy)]
pub struct Expr(NonNull<pg_sys::Node>);

/// A list of expressions, such as the arguments of a call. The same holds as for [`Expr`].
#[derive(Clone, Copy)]
pub struct Exprs(*mut pg_sys::List);

/// The value of a constant that is not NULL. Invariant: it is of this type.
#[derive(Clone, Copy)]
pub struct Constant {
    datum: pg_sys::Datum,
    type_oid: pg_sys::Oid,
}

impl Expr {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `node` is null, or the type's invariant holds for it.
    pub unsafe fn new(node: *mut pg_sys::Node) -> Option<Expr> {
        NonNull::new(node).map(Expr)
    }

    /// A node that PostgreSQL has just made.
    ///
    /// # Safety
    /// `node` is not null, and the type's invariant holds for it.
    pub unsafe fn made<T>(node: *mut T) -> Expr {
        // SAFETY: the caller's node is not null.
        Expr(unsafe { NonNull::new_unchecked(node.cast()) })
    }

    pub fn as_ptr(self) -> *mut pg_sys::Node {
        self.0.as_ptr()
    }

    /// The node as a `T`, for code that has looked at its tag.
    fn cast<T>(self) -> *mut T {
        self.as_ptr().cast()
    }

    pub fn tag(self) -> pg_sys::NodeTag {
        // SAFETY: every node begins with its tag.
        unsafe { (*self.as_ptr()).type_ }
    }

    pub fn type_oid(self) -> pg_sys::Oid {
        // SAFETY: an expression, which PostgreSQL reads by its tag.
        unsafe { pg_sys::exprType(self.as_ptr()) }
    }

    /// Whether two expressions are equal, node by node.
    pub fn equals(self, other: Expr) -> bool {
        // SAFETY: PostgreSQL reads both by their tags.
        unsafe { pg_sys::equal(self.cast(), other.cast()) }
    }

    pub fn is_volatile(self) -> bool {
        // SAFETY: an expression, which PostgreSQL reads by its tag.
        unsafe { pg_sys::contain_volatile_functions(self.as_ptr()) }
    }

    /// Whether it has columns of the query's own level.
    pub fn has_columns(self) -> bool {
        // SAFETY: an expression, which PostgreSQL reads by its tag.
        unsafe { pg_sys::contain_var_clause(self.as_ptr()) }
    }

    pub fn copy(self) -> Expr {
        // SAFETY: the copy of a node is a node like it.
        unsafe { Expr::made(pg_sys::copyObjectImpl(self.cast())) }
    }

    /// Where a call, an operator, or a comparison with an array has its arguments.
    fn arguments_at(self) -> Option<*mut *mut pg_sys::List> {
        // SAFETY: the node has the type that its tag says.
        unsafe {
            match self.tag() {
                pg_sys::NodeTag::T_FuncExpr => {
                    Some(&raw mut (*self.cast::<pg_sys::FuncExpr>()).args)
                }
                pg_sys::NodeTag::T_OpExpr => Some(&raw mut (*self.cast::<pg_sys::OpExpr>()).args),
                pg_sys::NodeTag::T_ScalarArrayOpExpr => {
                    Some(&raw mut (*self.cast::<pg_sys::ScalarArrayOpExpr>()).args)
                }
                _ => None,
            }
        }
    }

    /// The arguments of a call, of an operator, or of a comparison with an array.
    pub fn arguments(self) -> Option<Exprs> {
        // SAFETY: the field is of this node.
        self.arguments_at().map(|at| Exprs(unsafe { *at }))
    }

    /// One of these arguments, counted from 0.
    pub fn argument(self, place: usize) -> Option<Expr> {
        self.arguments()?.get(place)
    }

    /// The right operand of an operator clause. `None` for a comparison with an array, whose
    /// argument is of another type than the operator's.
    pub fn right_operand(self) -> Option<Expr> {
        if self.tag() == pg_sys::NodeTag::T_OpExpr { self.argument(1) } else { None }
    }

    /// A copy of a call, of an operator, or of a comparison with an array, with other arguments.
    ///
    /// # Safety
    /// They have the types that the function takes.
    pub unsafe fn with_arguments(self, arguments: &[Expr]) -> Expr {
        let copy = self.copy();
        if let Some(at) = copy.arguments_at() {
            // SAFETY: the field is of the copy, and the arguments are of its types.
            unsafe { *at = Exprs::of(arguments).as_ptr() };
        }
        copy
    }

    /// The fields of a node with this tag.
    ///
    /// # Safety
    /// Such nodes are of the type `T`.
    unsafe fn fields<T: Copy>(self, tag: pg_sys::NodeTag) -> Option<T> {
        // SAFETY: the node has the type that its tag says.
        (self.tag() == tag).then(|| unsafe { *self.cast::<T>() })
    }

    /// A call of a function, as its node.
    pub fn call(self) -> Option<pg_sys::FuncExpr> {
        // SAFETY: the tag is of this type.
        unsafe { self.fields(pg_sys::NodeTag::T_FuncExpr) }
    }

    /// The arguments, if it is a call of this function.
    pub fn arguments_of(self, function: pg_sys::Oid) -> Option<Exprs> {
        self.call().filter(|call| call.funcid == function).map(|call| Exprs(call.args))
    }

    /// The operator of a clause, or of a comparison with an array.
    pub fn operator(self) -> Option<pg_sys::Oid> {
        use pg_sys::{OpExpr, ScalarArrayOpExpr};
        // SAFETY: the tags are of these types.
        let (one, any) = unsafe {
            let any = self.fields::<ScalarArrayOpExpr>(pg_sys::NodeTag::T_ScalarArrayOpExpr);
            (self.fields::<OpExpr>(pg_sys::NodeTag::T_OpExpr), any)
        };
        one.map(|clause| clause.opno).or(any.map(|clause| clause.opno))
    }

    /// The function that a call or an operator executes.
    pub fn executes(self) -> Option<pg_sys::Oid> {
        // SAFETY: the tag is of this type, and a catalogue look-up in a transaction.
        let of_operator = unsafe {
            let clause: Option<pg_sys::OpExpr> = self.fields(pg_sys::NodeTag::T_OpExpr);
            clause.map(|of| valid(of.opfuncid).unwrap_or_else(|| pg_sys::get_opcode(of.opno)))
        };
        of_operator.or_else(|| self.call().map(|call| call.funcid))
    }

    /// The arms of AND, OR or NOT, and which of them it is.
    pub fn arms(self) -> Option<(pg_sys::BoolExprType::Type, Exprs)> {
        // SAFETY: the tag is of this type.
        let expression: pg_sys::BoolExpr = unsafe { self.fields(pg_sys::NodeTag::T_BoolExpr)? };
        Some((expression.boolop, Exprs(expression.args)))
    }

    /// Which test IS NULL or IS NOT NULL it is.
    pub fn null_test(self) -> Option<pg_sys::NullTestType::Type> {
        // SAFETY: the tag is of this type.
        let test: pg_sys::NullTest = unsafe { self.fields(pg_sys::NodeTag::T_NullTest)? };
        Some(test.nulltesttype)
    }

    /// Whether it is a constant, or NULL.
    pub fn is_constant(self) -> bool {
        self.tag() == pg_sys::NodeTag::T_Const
    }

    /// The value of a constant that is not NULL.
    pub fn constant(self) -> Option<Constant> {
        // SAFETY: the tag is of this type.
        let constant: pg_sys::Const = unsafe { self.fields(pg_sys::NodeTag::T_Const)? };
        let (datum, type_oid) = (constant.constvalue, constant.consttype);
        (!constant.constisnull).then_some(Constant { datum, type_oid })
    }

    /// A column of a relation, as its node.
    pub fn column(self) -> Option<pg_sys::Var> {
        // SAFETY: the tag is of this type.
        unsafe { self.fields(pg_sys::NodeTag::T_Var) }
    }

    /// The expression under a change of type that leaves its bits alone, and the new type.
    pub fn relabelled(self) -> Option<(Expr, pg_sys::Oid)> {
        // SAFETY: the tag is of this type, and such a node has an expression under it.
        unsafe {
            let relabel: pg_sys::RelabelType = self.fields(pg_sys::NodeTag::T_RelabelType)?;
            Some((Expr::new(relabel.arg.cast())?, relabel.resulttype))
        }
    }

    /// The expression under a change of type without a function, also one to a domain.
    pub fn of_other_type(self) -> Option<Expr> {
        // SAFETY: the tag is of this type, and such a node has an expression under it.
        let coerced = || unsafe {
            let coerced: pg_sys::CoerceToDomain = self.fields(pg_sys::NodeTag::T_CoerceToDomain)?;
            Expr::new(coerced.arg.cast())
        };
        self.relabelled().map(|(under, _)| under).or_else(coerced)
    }

    /// The expression under a change of type from a domain to its base type. PostgreSQL ignores it
    /// as well when it matches clauses with indexes.
    pub fn without_domain(self) -> Expr {
        let Some((under, base)) = self.relabelled() else { return self };
        // SAFETY: a catalogue look-up in a transaction, by an expression's type.
        let is_base = unsafe { pg_sys::getBaseType(under.type_oid()) } == base;
        if is_base { under } else { self }
    }
}

impl Exprs {
    /// # Safety
    /// `list` is NIL, or the invariant of [`Expr`] holds for it and its members.
    pub unsafe fn new(list: *mut pg_sys::List) -> Exprs {
        Exprs(list)
    }

    /// A new list.
    pub fn of(members: &[Expr]) -> Exprs {
        let mut list = PgList::<pg_sys::Node>::new();
        members.iter().for_each(|member| list.push(member.as_ptr()));
        Exprs(list.into_pg())
    }

    pub fn as_ptr(self) -> *mut pg_sys::List {
        self.0
    }

    fn list(self) -> PgList<pg_sys::Node> {
        // SAFETY: a list of nodes, or NIL. It is not freed with the result.
        unsafe { PgList::from_pg(self.0) }
    }

    pub fn len(self) -> usize {
        self.list().len()
    }

    pub fn get(self, i: usize) -> Option<Expr> {
        // SAFETY: the members are expressions, or null.
        unsafe { Expr::new(self.list().get_ptr(i)?) }
    }

    pub fn iter(self) -> impl Iterator<Item = Expr> {
        (0..self.len()).filter_map(move |i| self.get(i))
    }

    /// The first members. `None` if the list is shorter.
    pub fn first<const N: usize>(self) -> Option<[Expr; N]> {
        let first: Vec<Expr> = self.iter().take(N).collect();
        first.try_into().ok()
    }

    /// The members of a list of this length.
    pub fn exactly<const N: usize>(self) -> Option<[Expr; N]> {
        self.first().filter(|_| self.len() == N)
    }

    /// Whether an equal expression is among the members.
    pub fn contains(self, member: Expr) -> bool {
        self.iter().any(|other| other.equals(member))
    }

    /// Replaces a member in place.
    ///
    /// # Safety
    /// The list has this member, and `member` has its type.
    pub unsafe fn replace(self, i: usize, member: Expr) {
        // SAFETY: the caller's list is as long.
        unsafe { self.list().replace_ptr(i, member.as_ptr()) };
    }

    /// Adds a member in place.
    ///
    /// # Safety
    /// The list has members already, and what it is for allows one of this type.
    pub unsafe fn push(self, member: Expr) {
        // A list that is not NIL stays where it is when it grows.
        self.list().push(member.as_ptr());
    }
}

impl Constant {
    pub fn datum(self) -> pg_sys::Datum {
        self.datum
    }

    pub fn type_oid(self) -> pg_sys::Oid {
        self.type_oid
    }

    /// The value, if it is of an integer type.
    pub fn integer(self) -> Option<i64> {
        match self.type_oid {
            pg_sys::INT2OID => Some(i64::from(self.datum.value() as i16)),
            pg_sys::INT4OID => Some(i64::from(self.datum.value() as i32)),
            pg_sys::INT8OID => Some(self.datum.value() as i64),
            _ => None,
        }
    }

    /// The bits of a value that is passed by value, read as a double precision.
    pub fn double(self) -> f64 {
        f64::from_bits(self.datum.value() as u64)
    }
}
