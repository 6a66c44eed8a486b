// Package statusutil stands in for a package of the collector's own that the Go proxy does not give out.
package statusutil

import (
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NewStatusFromMsgAndHTTPCode tells requests that can be repeated from those that cannot.
func NewStatusFromMsgAndHTTPCode(message string, code int) *status.Status {
	if code == http.StatusTooManyRequests || code >= http.StatusBadGateway {
		return status.New(codes.Unavailable, message)
	}
	return status.New(codes.InvalidArgument, message)
}

// GetRetryInfo knows of no pause that the other side asks for.
func GetRetryInfo(*status.Status) *errdetails.RetryInfo {
	return nil
}
