//! The answers of an OpenTelemetry collector.

use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceResponse;
use prost::Message;

/// The body of a refusal (`google.rpc.Status`).
#[derive(Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
}

/// Returns the number of rejected profiles of a request that was accepted, and the reason; `None` if all were accepted. The
/// answer to metrics has the same fields, for rejected values.
#[must_use]
pub fn rejected(answer: &[u8]) -> Option<(i64, String)> {
    let answer = ExportProfilesServiceResponse::decode(answer).ok()?;
    let partial = answer.partial_success?;
    (partial.rejected_profiles > 0).then_some((partial.rejected_profiles, partial.error_message))
}

/// Returns the explanation of a refusal: its message, or any other text that was sent.
#[must_use]
pub fn explanation(answer: &[u8]) -> String {
    match Status::decode(answer) {
        Ok(status) if !status.message.is_empty() => status.message,
        _ => String::from_utf8_lossy(answer).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_from_a_text() {
        let message = b"\x08\x03\x12\x03why";
        assert_eq!(explanation(message), "why");
        assert_eq!(explanation(b"404 page not found"), "404 page not found");
        assert_eq!(explanation(b""), "");
    }

    #[test]
    fn only_rejected_profiles_are_a_fault() {
        assert_eq!(rejected(b""), None);
        // A warning without rejections.
        assert_eq!(rejected(b"\x0a\x05\x12\x03why"), None);
        let two = b"\x0a\x07\x08\x02\x12\x03why";
        assert_eq!(rejected(two), Some((2, "why".to_owned())));
    }
}
