// Package rendezvous puts endpoints into an order for each key, without memory: an endpoint that comes or goes moves
// only the keys that it has (Thaler, Ravishankar, 1998).
package rendezvous

// Weight is that of an endpoint for a key, by the hashes of both: the endpoint with the largest one comes first.
func Weight(key, endpoint uint64) uint64 { return spread(key ^ endpoint) }

// spread is the finalizer of MurmurHash3 (Appleby), by which all bits of x count.
func spread(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
