//! The kernels of [`runtime::abi`] as generated code calls them: signatures and addresses.
//!
//! Calls go through absolute addresses, not through symbols: a program then has nothing to link. Machine code is never
//! stored or sent, so addresses stay true as long as the code lives.

use cranelift_codegen::ir::Type;
use cranelift_codegen::ir::types::{F64, I32, I64};

/// A kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Dense number, for the translator's table of signatures.
    pub number: usize,
    pub name: &'static str,
    pub params: &'static [Type],
    pub result: Option<Type>,
}

macro_rules! kernels {
    ($($constant:ident $name:literal ($($param:ident),*) $($result:ident)?;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($constant),* }
        $(pub(crate) const $constant: Kernel = Kernel {
            number: Number::$constant as usize,
            name: $name,
            params: &[$($param),*],
            result: kernels!(@ $($result)?),
        };)*
        /// All kernels.
        #[allow(clippy::borrow_interior_mutable_const)]
        pub(crate) const ALL: &[Kernel] = &[$($constant),*];
    };
    (@) => { None };
    (@ $result:ident) => { Some($result) };
}

kernels! {
    ROWS_GROW "rows_grow" (I64, I64) I64;
    GROUP_NEW "group_new" (I64, I64, I64) I64;
    GROUP_PREFETCH "group_prefetch" (I64, I64, I64);
    PROBE_BEGIN "probe_begin" (I64, I64);
    PROBE_NEXT "probe_next" (I64, I64) I64;
    PROBE_UNMATCHED "probe_unmatched" (I64) I64;
    RESULT_FLUSH "result_flush" (I64, I64) I32;
    SUM_ADD "sum_add" (I64, I64, F64) I32;
    SUM_ADD_ALL "sum_add_all" (I64, I64, I64, I64) I32;
    RAISE "raise" (I64, I64, I64, I64) I32;
    HASH_STR "hash_str" (I64, I64) I64;
    HASH_I128 "hash_i128" (I64, I64) I64;
    HASH_INTERVAL "hash_interval" (I64, I64) I64;
    HASH_F64 "hash_f64" (I64) I64;
    STR_EQUAL "str_equal" (I64, I64, I64, I64) I32;
    STR_COMPARE "str_compare" (I64, I64, I64, I64) I32;
    INTERVAL_COMPARE "interval_compare" (I64, I64, I64, I64) I32;
    I128_TO_F64 "i128_to_f64" (I64, I64) F64;
    F64_TO_I128 "f64_to_i128" (F64, I64) I32;
}

/// Where the kernel's code lies.
pub(crate) fn address(kernel: &Kernel) -> usize {
    static ADDRESSES: std::sync::LazyLock<Vec<usize>> = std::sync::LazyLock::new(|| {
        let kernels = runtime::abi::kernels();
        let find = |k: &Kernel| {
            let found = kernels.iter().find(|(name, _)| *name == k.name);
            found.unwrap_or_else(|| panic!("the runtime has no kernel {}", k.name)).1 as usize
        };
        ALL.iter().map(find).collect()
    });
    ADDRESSES[kernel.number]
}
