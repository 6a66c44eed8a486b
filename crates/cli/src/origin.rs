//! The program that a profile is of, in OpenTelemetry's words.

use hprof_profile::export::Origin;

/// The attribute with the name of the program.
pub const SERVICE: &str = "service.name";
/// OpenTelemetry's name for a Java program without a name.
pub const UNKNOWN_SERVICE: &str = "unknown_service:java";

/// Returns the origin of a profile about which nothing is known.
pub fn unknown() -> Origin {
    let mut origin = Origin::default();
    origin.set(SERVICE, UNKNOWN_SERVICE);
    origin
}
