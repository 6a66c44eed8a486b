module go.opentelemetry.io/collector/internal/statusutil

go 1.25.0

require (
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260706201446-f0a921348800
	google.golang.org/grpc v1.84.0
)
