package scrape

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// gpuReader asks the DCGM exporter of one endpoint from time to time how busy the GPUs are.
type gpuReader struct {
	*Scraper
	target *pool.Target
}

func (r *gpuReader) run(ctx context.Context) {
	address := r.target.Address
	if node := r.target.Node; r.GPU.Node {
		if node == "" {
			r.record(0, "its node's address is not known; only Kubernetes tells it")
			return
		}
		if _, err := netip.ParseAddr(node); err != nil { // older API servers take any from whoever runs pods
			r.record(0, fmt.Sprintf("its node's address %q is no IP address", node))
			return
		}
		address = net.JoinHostPort(node, strconv.Itoa(int(r.GPU.Port)))
	}
	f := newFetcher(ctx, address, &r.GPU.Access)
	defer f.close()
	f.aim(r.GPU.Path, r.GPU.Port)
	var page bytes.Buffer
	for ctx.Err() == nil {
		use, failure := r.read(ctx, f, &page)
		if ctx.Err() != nil {
			return
		}
		r.record(use, failure)
		pace.Sleep(ctx, pace.Jitter(r.GPU.Interval))
	}
}

// read returns the used part of the endpoint's busiest GPU, or why it is not known.
func (r *gpuReader) read(ctx context.Context, f *fetcher, page *bytes.Buffer) (use float64, failure string) {
	page.Reset()
	if _, err := f.fetch(ctx, time.Now().Add(max(r.Timeout, r.GPU.Interval)), page); err != nil {
		return 0, err.Error()
	}
	namespace, whole, pod := podsOf(r.target.Name)
	use, ok := engine.GPUUse(page.Bytes(), namespace, whole, pod)
	if !ok {
		return 0, fmt.Sprintf("%s has no DCGM_FI_DEV_GPU_UTIL of pod %s", f.url, pod)
	}
	return use, ""
}

// podsOf are the names that the pod may have that an endpoint is named after: namespace/pod, behind which its rank may
// stand, though the pod itself may be called so. Without a rank they are the same.
func podsOf(endpoint string) (namespace, whole, pod string) {
	namespace, whole, found := strings.Cut(endpoint, "/")
	if !found {
		namespace, whole = "", endpoint
	}
	if at := strings.LastIndex(whole, "-rank-"); at > 0 {
		if _, err := strconv.Atoi(whole[at+len("-rank-"):]); err == nil {
			return namespace, whole, whole[:at]
		}
	}
	return namespace, whole, whole
}

// record keeps what was read, and logs when that begins or ends to fail.
func (r *gpuReader) record(use float64, failure string) {
	before := r.target.Now().GPUFailure
	if r.target.Uses(use, failure) {
		r.Pool.Changed()
	}
	switch {
	case failure != "" && before == "":
		r.Log.Warn("the use of the endpoint's GPUs is not known", "endpoint", r.target.Name, "error", failure)
	case failure == "" && before != "":
		r.Log.Info("the use of the endpoint's GPUs is known", "endpoint", r.target.Name)
	}
}
