//! Expressions of the planner's, read by the type that each node's tag names.

use pgrx::pg_sys::NodeTag;
use pgrx::{PgList, pg_sys};

/// A node of an expression. It is not null, and nobody changes the expression while a copy is used.
#[derive(Clone, Copy)]
pub struct Expression(*mut pg_sys::Node);

impl Expression {
    /// `None` for null.
    ///
    /// # Safety
    /// `node` is null, or an expression that does not change while a copy of the result is used.
    pub unsafe fn new(node: *mut pg_sys::Node) -> Option<Self> {
        (!node.is_null()).then_some(Self(node))
    }

    pub fn as_ptr(self) -> *mut pg_sys::Node {
        self.0
    }

    pub fn tag(self) -> NodeTag {
        // SAFETY: every node begins with its tag.
        unsafe { (*self.0).type_ }
    }

    /// An operator clause.
    pub fn operator(&self) -> Option<&pg_sys::OpExpr> {
        // SAFETY: the tag's type.
        unsafe { self.of_tag(NodeTag::T_OpExpr) }
    }

    /// A call of a function.
    pub fn call(&self) -> Option<&pg_sys::FuncExpr> {
        // SAFETY: the tag's type.
        unsafe { self.of_tag(NodeTag::T_FuncExpr) }
    }

    /// A comparison with the elements of an array.
    pub fn array_operator(&self) -> Option<&pg_sys::ScalarArrayOpExpr> {
        // SAFETY: the tag's type.
        unsafe { self.of_tag(NodeTag::T_ScalarArrayOpExpr) }
    }

    pub fn null_test(&self) -> Option<&pg_sys::NullTest> {
        // SAFETY: the tag's type.
        unsafe { self.of_tag(NodeTag::T_NullTest) }
    }

    /// A constant that is not NULL.
    pub fn constant(&self) -> Option<&pg_sys::Const> {
        // SAFETY: the tag's type.
        let constant = unsafe { self.of_tag::<pg_sys::Const>(NodeTag::T_Const) };
        constant.filter(|constant| !constant.constisnull)
    }

    /// What a change of type without a function is applied to.
    pub fn under_relabelling(self) -> Option<Self> {
        // SAFETY: the tags' types; both have an argument that is an expression.
        unsafe {
            let relabelled = self.of_tag::<pg_sys::RelabelType>(NodeTag::T_RelabelType);
            let coerced = self.of_tag::<pg_sys::CoerceToDomain>(NodeTag::T_CoerceToDomain);
            let under = relabelled.map(|node| node.arg).or(coerced.map(|node| node.arg))?;
            Self::new(under.cast())
        }
    }

    /// An argument of an operator or a function, counted from 0.
    pub fn argument(&self, place: usize) -> Option<Self> {
        let of_operator = || self.operator().map(|node| node.args);
        let of_array = || self.array_operator().map(|node| node.args);
        let all = self.call().map(|node| node.args).or_else(of_operator).or_else(of_array)?;
        // SAFETY: the arguments of such a node are a list of expressions.
        let one = unsafe { PgList::<pg_sys::Node>::from_pg(all) }.get_ptr(place)?;
        (!one.is_null()).then_some(Self(one))
    }

    /// The node, if it has this tag.
    ///
    /// # Safety
    /// `T` is the type of nodes with this tag.
    unsafe fn of_tag<T>(&self, tag: NodeTag) -> Option<&T> {
        // SAFETY: the node has this tag, so it is of this type.
        (self.tag() == tag).then(|| unsafe { &*self.0.cast::<T>() })
    }
}
