//! Conversion of the SQL types between PostgreSQL and Rust, with one decoder and one encoder per
//! type.

use pgrx::pg_sys;

/// A type that can be decoded from a datum. Its implementation is the only decoder of the layout.
pub trait Decode: Sized {
    /// # Safety
    /// `datum` is a value of the type and not NULL. The result may borrow from it, or from the
    /// current memory context.
    unsafe fn decode(datum: pg_sys::Datum) -> Self;
}

/// A type that can be encoded as a datum. Its implementation is the only encoder of the layout.
pub trait Encode {
    /// The value, allocated in the current memory context if it is passed by reference.
    fn encode(self) -> pg_sys::Datum;
}

/// Declares a type of this extension to pgrx. The catalogue in sql/ is written by hand, so pgrx
/// uses the name only in what it prints.
macro_rules! sql_type {
    ($t:ty, $name:literal) => {
        // SAFETY: the name is the SQL type's, and no SQL is generated from it.
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

/// Makes a type that implements [`Decode`] an argument type of functions.
macro_rules! argument {
    ($t:ty) => {
        impl ::pgrx::FromDatum for $t {
            unsafe fn from_polymorphic_datum(
                datum: ::pgrx::pg_sys::Datum,
                is_null: bool,
                _: ::pgrx::pg_sys::Oid,
            ) -> Option<Self> {
                // SAFETY: the caller passes a value of the type that is not NULL.
                (!is_null).then(|| unsafe { $crate::types::datum::Decode::decode(datum) })
            }
        }

        // SAFETY: the catalogue declares the argument with this SQL type, which `decode` reads.
        unsafe impl<'fcx> ::pgrx::callconv::ArgAbi<'fcx> for $t {
            unsafe fn unbox_arg_unchecked(arg: ::pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: the argument is of this type, and not NULL, because the functions are
                // STRICT.
                unsafe { arg.unbox_arg_using_from_datum() }.expect("a strict function's argument")
            }
            unsafe fn unbox_nullable_arg(
                arg: ::pgrx::callconv::Arg<'_, 'fcx>,
            ) -> ::pgrx::nullable::Nullable<Self> {
                // SAFETY: the argument is of this type.
                unsafe { arg.unbox_arg_using_from_datum() }.into()
            }
        }
    };
}

/// Makes a type that implements [`Encode`] a result type of functions.
macro_rules! result {
    ($t:ty) => {
        impl ::pgrx::IntoDatum for $t {
            fn into_datum(self) -> Option<::pgrx::pg_sys::Datum> {
                Some($crate::types::datum::Encode::encode(self))
            }
            /// Never called: this extension does not build arrays of the type through pgrx.
            fn type_oid() -> ::pgrx::pg_sys::Oid {
                ::pgrx::pg_sys::InvalidOid
            }
        }

        // SAFETY: `encode` makes a datum of this SQL type.
        unsafe impl ::pgrx::callconv::BoxRet for $t {
            unsafe fn box_into<'fcx>(
                self,
                fcinfo: &mut ::pgrx::callconv::FcInfo<'fcx>,
            ) -> ::pgrx::datum::Datum<'fcx> {
                // SAFETY: the function is declared to return this SQL type.
                unsafe { fcinfo.return_raw_datum($crate::types::datum::Encode::encode(self)) }
            }
        }
    };
}

pub(crate) use {argument, result, sql_type};
