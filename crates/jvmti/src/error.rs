//! The errors of JVMTI functions.

use super::sys;

/// A failed call of a JVMTI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function} failed with {} ({code})", name(*.code))]
pub struct JvmtiError {
    /// The function's name in the JVMTI specification.
    pub function: &'static str,
    /// The code it returned.
    pub code: sys::jvmtiError,
}

impl JvmtiError {
    /// Returns `true` if the VM had no memory for the call.
    pub fn is_out_of_memory(self) -> bool {
        self.code == sys::JVMTI_ERROR_OUT_OF_MEMORY
    }
}

/// Returns the specification's name of a code, without its `JVMTI_ERROR_`.
fn name(code: sys::jvmtiError) -> &'static str {
    macro_rules! names {
        ($($constant:ident)*) => {
            match code {
                $(sys::$constant => stringify!($constant).trim_start_matches("JVMTI_ERROR_"),)*
                _ => "an unknown error",
            }
        };
    }
    names! {
        JVMTI_ERROR_INVALID_THREAD JVMTI_ERROR_INVALID_THREAD_GROUP JVMTI_ERROR_INVALID_PRIORITY
        JVMTI_ERROR_THREAD_NOT_SUSPENDED JVMTI_ERROR_THREAD_SUSPENDED JVMTI_ERROR_THREAD_NOT_ALIVE
        JVMTI_ERROR_INVALID_OBJECT JVMTI_ERROR_INVALID_CLASS JVMTI_ERROR_CLASS_NOT_PREPARED
        JVMTI_ERROR_INVALID_METHODID JVMTI_ERROR_INVALID_LOCATION JVMTI_ERROR_INVALID_FIELDID
        JVMTI_ERROR_NO_MORE_FRAMES JVMTI_ERROR_OPAQUE_FRAME JVMTI_ERROR_TYPE_MISMATCH
        JVMTI_ERROR_NOT_FOUND JVMTI_ERROR_INTERRUPT JVMTI_ERROR_MUST_POSSESS_CAPABILITY
        JVMTI_ERROR_NULL_POINTER JVMTI_ERROR_ABSENT_INFORMATION JVMTI_ERROR_INVALID_EVENT_TYPE
        JVMTI_ERROR_ILLEGAL_ARGUMENT JVMTI_ERROR_NATIVE_METHOD JVMTI_ERROR_OUT_OF_MEMORY
        JVMTI_ERROR_ACCESS_DENIED JVMTI_ERROR_WRONG_PHASE JVMTI_ERROR_INTERNAL
        JVMTI_ERROR_UNATTACHED_THREAD JVMTI_ERROR_INVALID_ENVIRONMENT JVMTI_ERROR_NOT_AVAILABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_function_and_the_reason() {
        let error = JvmtiError {
            function: "GetStackTrace",
            code: sys::JVMTI_ERROR_THREAD_NOT_ALIVE,
        };
        assert_eq!(
            error.to_string(),
            "GetStackTrace failed with THREAD_NOT_ALIVE (15)"
        );
        let unknown = JvmtiError {
            function: "GetTag",
            code: 9999,
        };
        assert_eq!(
            unknown.to_string(),
            "GetTag failed with an unknown error (9999)"
        );
    }
}
