//! OpenTelemetry's metrics (OTLP, `v1`): gauges, whose values belong to moments.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{self as proto, metric, number_data_point};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use super::{Origin, scope};

/// The attribute with the part that a value is of.
const PART: &str = "part";

/// A gauge.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// The name, as in `hprof.memory.resident`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub description: &'static str,
    /// The unit in UCUM, as in `By`.
    pub unit: &'static str,
    /// The values.
    pub points: Vec<GaugePoint>,
}

/// A value of a gauge.
#[derive(Clone, Debug)]
pub struct GaugePoint {
    /// The moment, in nanoseconds since 1970.
    pub time: u64,
    /// The part that the value is of; `None` for the whole.
    pub part: Option<String>,
    /// The value; what is larger than `i64::MAX` is sent as that.
    pub value: u64,
}

/// Returns an `ExportMetricsServiceRequest`, encoded.
#[must_use]
pub fn gauges(origin: Origin, gauges: Vec<Gauge>) -> Vec<u8> {
    let metrics = proto::ScopeMetrics {
        scope: Some(scope()),
        metrics: gauges.into_iter().map(encoded).collect(),
        ..proto::ScopeMetrics::default()
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![proto::ResourceMetrics {
            resource: Some(Resource {
                attributes: origin.0,
                ..Resource::default()
            }),
            scope_metrics: vec![metrics],
            ..proto::ResourceMetrics::default()
        }],
    };
    request.encode_to_vec()
}

fn encoded(gauge: Gauge) -> proto::Metric {
    let points = gauge.points.into_iter();
    let data = proto::Gauge {
        data_points: points.map(point).collect(),
    };
    proto::Metric {
        name: gauge.name.to_owned(),
        description: gauge.description.to_owned(),
        unit: gauge.unit.to_owned(),
        data: Some(metric::Data::Gauge(data)),
        ..proto::Metric::default()
    }
}

fn point(GaugePoint { time, part, value }: GaugePoint) -> proto::NumberDataPoint {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    let part = part.map(|part| KeyValue {
        key: PART.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(part)),
        }),
        ..KeyValue::default()
    });
    proto::NumberDataPoint {
        attributes: part.into_iter().collect(),
        time_unix_nano: time,
        value: Some(number_data_point::Value::AsInt(value)),
        ..proto::NumberDataPoint::default()
    }
}
