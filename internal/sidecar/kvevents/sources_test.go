package kvevents

import (
	"net"
	"net/netip"
	"testing"
)

// FuzzSources: whatever an engine says of where it publishes, the sidecar is sent to no other host.
func FuzzSources(f *testing.F) {
	for _, page := range []string{
		`{"0": {"publisher": "zmq", "endpoint": "tcp://*:5557", "replay_endpoint": "tcp://*:5558"}}`,
		`{"1": {"publisher": "zmq", "endpoint": "tcp://[::]:1", "replay_endpoint": "tcp://10.0.0.9:2"}}`,
		`{"-1": {"publisher": "zmq", "endpoint": "tcp://*:5557"}, "9999999": {"publisher": "zmq"}, "x": {}}`,
		`{"0": {"publisher": "zmq", "endpoint": "tcp://evil.example:80"}}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(page))
	}
	endpoint := netip.MustParseAddrPort("10.1.2.3:8000")
	f.Fuzz(func(t *testing.T, page []byte) {
		all, err := readSources(page, endpoint)
		if err != nil {
			return
		}
		for rank, s := range all {
			if rank < 0 || rank >= maxRanks {
				t.Errorf("rank %d of %q", rank, page)
			}
			for _, address := range []string{s.address, s.replay} {
				host, port, err := net.SplitHostPort(address)
				if address != "" && (err != nil || host != "10.1.2.3" || port == "0") {
					t.Errorf("rank %d of %q is read at %q, want 10.1.2.3", rank, page, address)
				}
			}
		}
	})
}
