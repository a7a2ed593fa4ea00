//! A call of a function by PostgreSQL, and the data that its call site keeps from row to row.

use std::marker::PhantomData;

use pgrx::callconv::{Arg, ArgAbi};
use pgrx::pgrx_sql_entity_graph::metadata::{
    ArgumentError, ReturnsError, ReturnsRef, SqlMappingRef, SqlTranslatable, TypeOrigin,
};
use pgrx::{PgMemoryContexts, pg_sys};

/// A call of a function by PostgreSQL. Functions of SQL take it as a further argument, which SQL
/// does not have.
pub struct Call<'c> {
    info: pg_sys::FunctionCallInfo,
    during: PhantomData<&'c pg_sys::FunctionCallInfoBaseData>,
}

// SAFETY: the value does not come from an argument, and lives as long as the call.
unsafe impl<'fcx> ArgAbi<'fcx> for Call<'fcx> {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: the caller's contract is the same. PostgreSQL passes the call.
        unsafe { Call::new(pg_sys::FunctionCallInfo::unbox_arg_unchecked(arg)) }
    }

    fn is_virtual_arg() -> bool {
        true
    }
}

// SAFETY: there is no such SQL type, and no SQL is generated.
unsafe impl SqlTranslatable for Call<'_> {
    const TYPE_IDENT: &'static str = "pg_simhash::call";
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> = Ok(SqlMappingRef::Skip);
    const RETURN_SQL: Result<ReturnsRef, ReturnsError> = Ok(ReturnsRef::One(SqlMappingRef::Skip));
}

impl<'c> Call<'c> {
    /// # Safety
    /// PostgreSQL passes the call, which lasts for `'c`.
    pub unsafe fn new(info: pg_sys::FunctionCallInfo) -> Self {
        Self { info, during: PhantomData }
    }

    pub fn as_ptr(&self) -> pg_sys::FunctionCallInfo {
        self.info
    }

    /// The description of the called function. PostgreSQL describes none if C code calls it
    /// directly.
    pub fn function(&self) -> Option<&pg_sys::FmgrInfo> {
        // SAFETY: the call lasts, and with it the description.
        unsafe { (*self.info).flinfo.as_ref() }
    }

    /// The data of a trigger call; `None` if the function was not called as a trigger.
    pub fn trigger_data(&self) -> Option<&'c pg_sys::TriggerData> {
        // SAFETY: the call lasts, and with it its context; one with this tag is a TriggerData.
        unsafe {
            let context = (*self.info).context;
            let is_one = context.as_ref()?.type_ == pg_sys::NodeTag::T_TriggerData;
            is_one.then(|| &*context.cast())
        }
    }

    /// The call site's data. It is made at the first row, and again if `serves` returns false: it
    /// was made for another key. A call site must always use the same types.
    pub fn keep<K, T>(
        &mut self,
        serves: impl FnOnce(&K) -> bool,
        make: impl FnOnce(&Self) -> (K, T),
    ) -> &mut T {
        // SAFETY: the call lasts.
        let flinfo = unsafe { (*self.info).flinfo };
        if flinfo.is_null() {
            let made = make(self);
            let made = PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(made);
            // SAFETY: the context keeps it, and nobody else has it.
            return unsafe { &mut (*made).1 };
        }
        // SAFETY: the call's function is described, with the context that keeps fn_extra.
        let (mut site, context) =
            unsafe { ((*flinfo).fn_extra.cast::<(K, T)>(), (*flinfo).fn_mcxt) };
        // SAFETY: only this module uses fn_extra, which points into fn_mcxt and so outlives the
        // call.
        let serves = |site: *mut (K, T)| serves(unsafe { &(*site).0 });
        if site.is_null() {
            site = PgMemoryContexts::For(context).leak_and_drop_on_delete(make(self));
            // SAFETY: the call's function is described.
            unsafe { (*flinfo).fn_extra = site.cast() };
        } else if !serves(site) {
            let made = make(self);
            // SAFETY: the call site's data is of these types, and nobody refers to it now.
            unsafe { *site = made };
        }
        // SAFETY: the data is of these types. There is only one reference: it borrows the call, and
        // a function does not call itself.
        unsafe { &mut (*site).1 }
    }

    /// As [`Call::keep`], but from the second call on; the first call makes nothing. PostgreSQL
    /// calls some functions with a call site that is used once (index_recheck_constraint).
    pub fn keep_later<K, T>(
        &mut self,
        serves: impl FnOnce(&K) -> bool,
        make: impl FnOnce(&Self) -> (K, T),
    ) -> Option<&mut T> {
        static CALLED: u8 = 0;
        let called: *mut std::ffi::c_void = (&raw const CALLED).cast_mut().cast();
        // The mark is only compared; palloc never returns its address.
        // SAFETY: the call lasts. Nobody else uses the description meanwhile.
        let flinfo = unsafe { (*self.info).flinfo.as_mut() }?;
        if flinfo.fn_extra.is_null() {
            flinfo.fn_extra = called;
            return None;
        }
        if flinfo.fn_extra == called {
            flinfo.fn_extra = std::ptr::null_mut();
        }
        Some(self.keep(serves, make))
    }
}
