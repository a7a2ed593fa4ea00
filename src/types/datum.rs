//! How the SQL types cross between PostgreSQL and Rust: one decoder and one encoder for each.

use pgrx::pg_sys;

/// A type whose values PostgreSQL hands over. This is the only decoder of the type's layout.
pub trait Decode: Sized {
    /// # Safety
    /// `datum` is a value of the type, not NULL. What is decoded may borrow from it, or from the
    /// current memory context.
    unsafe fn decode(datum: pg_sys::Datum) -> Self;
}

/// A type whose values PostgreSQL takes over. This is the only encoder of the type's layout.
pub trait Encode {
    /// The value, in the current memory context if it is passed by reference.
    fn encode(self) -> pg_sys::Datum;
}

/// Declares a type of this extension to pgrx. The catalogue in sql/ names the argument types
/// itself, so the name is only what pgrx would print.
macro_rules! sql_type {
    ($t:ty, $name:literal) => {
        // SAFETY: the name is the SQL type's; nothing is generated from it.
        unsafe impl ::pgrx::pgrx_sql_entity_graph::metadata::SqlTranslatable for $t {
            const TYPE_IDENT: &'static str = concat!("pg_simhash::", $name);
            const TYPE_ORIGIN: ::pgrx::pgrx_sql_entity_graph::metadata::TypeOrigin =
                ::pgrx::pgrx_sql_entity_graph::metadata::TypeOrigin::External;
            const ARGUMENT_SQL: Result<
                ::pgrx::pgrx_sql_entity_graph::metadata::SqlMappingRef,
                ::pgrx::pgrx_sql_entity_graph::metadata::ArgumentError,
            > = Ok(::pgrx::pgrx_sql_entity_graph::metadata::SqlMappingRef::literal($name));
            const RETURN_SQL: Result<
                ::pgrx::pgrx_sql_entity_graph::metadata::ReturnsRef,
                ::pgrx::pgrx_sql_entity_graph::metadata::ReturnsError,
            > = Ok(::pgrx::pgrx_sql_entity_graph::metadata::ReturnsRef::One(
                ::pgrx::pgrx_sql_entity_graph::metadata::SqlMappingRef::literal($name),
            ));
        }
    };
}

/// Lets a type that has [`Decode`] be an argument of a function.
macro_rules! argument {
    ($t:ty) => {
        impl ::pgrx::FromDatum for $t {
            unsafe fn from_polymorphic_datum(
                datum: ::pgrx::pg_sys::Datum,
                is_null: bool,
                _: ::pgrx::pg_sys::Oid,
            ) -> Option<Self> {
                // SAFETY: the caller passes a value of the type.
                (!is_null).then(|| unsafe { $crate::types::datum::Decode::decode(datum) })
            }
        }

        // SAFETY: the datum is read as its own SQL type, which the catalogue guarantees.
        unsafe impl<'fcx> ::pgrx::callconv::ArgAbi<'fcx> for $t {
            unsafe fn unbox_arg_unchecked(arg: ::pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: as above; the functions are STRICT, so the argument is not NULL.
                unsafe { arg.unbox_arg_using_from_datum() }.expect("a strict function's argument")
            }
            unsafe fn unbox_nullable_arg(
                arg: ::pgrx::callconv::Arg<'_, 'fcx>,
            ) -> ::pgrx::nullable::Nullable<Self> {
                // SAFETY: as above.
                unsafe { arg.unbox_arg_using_from_datum() }.into()
            }
        }
    };
}

/// Lets a type that has [`Encode`] be the result of a function.
macro_rules! result {
    ($t:ty) => {
        impl ::pgrx::IntoDatum for $t {
            fn into_datum(self) -> Option<::pgrx::pg_sys::Datum> {
                Some($crate::types::datum::Encode::encode(self))
            }
            /// Not asked for: nothing here builds arrays of the type through pgrx.
            fn type_oid() -> ::pgrx::pg_sys::Oid {
                ::pgrx::pg_sys::InvalidOid
            }
        }

        // SAFETY: encode makes a datum of the type's own SQL representation.
        unsafe impl ::pgrx::callconv::BoxRet for $t {
            unsafe fn box_into<'fcx>(
                self,
                fcinfo: &mut ::pgrx::callconv::FcInfo<'fcx>,
            ) -> ::pgrx::datum::Datum<'fcx> {
                // SAFETY: as above.
                unsafe { fcinfo.return_raw_datum($crate::types::datum::Encode::encode(self)) }
            }
        }
    };
}

pub(crate) use {argument, result, sql_type};
