package e2e

import (
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// callGRPC makes a call of gRPC with an empty message.
func (f *fixture) callGRPC(t *testing.T, method string) harness.Answer {
	t.Helper()
	request := harness.Request(t, http.MethodPost, f.URL("requests", method), "\x00\x00\x00\x00\x00", false)
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	return harness.Send(t, harness.Client(t, true), request)
}

// TestGRPC: calls of gRPC reach a server, but those that manage it are refused as the same is by HTTP.
func TestGRPC(t *testing.T) {
	const triton, vllm = "/inference.GRPCInferenceService/", "/vllm.grpc.engine.VllmEngine/"
	inCells(t, func(t *testing.T, f *fixture) {
		for _, method := range []string{triton + "ModelInfer", triton + "ServerReady", vllm + "Generate"} {
			wantAnyServer(t, f.callGRPC(t, method))
		}
		f.forget(t)
		for _, method := range []string{triton + "RepositoryModelLoad", triton + "RepositoryModelUnload",
			triton + "SystemSharedMemoryRegister", triton + "TraceSetting", vllm + "Abort",
			"/sglang.grpc.scheduler.SglangScheduler/Abort", triton + "%52epositoryIndex"} {
			got := f.callGRPC(t, method)
			if status, reason := got.Header.Get("Grpc-Status"), got.Header.Get("X-Pintle-Reason"); status != "7" ||
				reason != "management_path" {
				t.Errorf("%s: got the gRPC status %q and %q, want 7 and management_path", method, status, reason)
			}
		}
		if got := f.received(""); len(got) != 0 {
			t.Errorf("servers received %d requests, want none", len(got))
		}
	})
}
