//! On Windows no thread is interrupted; what is known of methods is for the frames that the VM shows.

mod method;

pub(crate) use method::ClassMethod;
pub(in crate::hotspot) use method::MethodLayout;
