package kvevents

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/address"
)

// source is where one rank publishes.
type source struct {
	// address is its publisher's, replay that of who sends old batches again; empty is nobody.
	address, replay string
}

// sourcesPath is where vLLM says where its ranks publish.
const sourcesPath = "/kv_event_sources"

// readSources reads vLLM's page: for each rank where it publishes. An engine that connects by itself is not among them.
func readSources(page []byte, endpoint netip.AddrPort) (map[int]source, error) {
	var said map[string]struct {
		Publisher string `json:"publisher"`
		Endpoint  string `json:"endpoint"`
		Replay    string `json:"replay_endpoint"`
	}
	if err := json.Unmarshal(page, &said); err != nil {
		return nil, fmt.Errorf("%s: is not what was expected: %w", sourcesPath, err)
	}
	all := map[int]source{}
	for name, s := range said {
		rank, err := strconv.Atoi(name)
		if err != nil || rank < 0 || rank >= maxRanks || s.Publisher != "zmq" {
			continue
		}
		address := dialable(s.Endpoint, endpoint, false)
		if address == "" {
			continue
		}
		all[rank] = source{address: address, replay: dialable(s.Replay, endpoint, true)}
	}
	return all, nil
}

// serverInfoPath is where SGLang says that, among much else.
const serverInfoPath = "/server_info"

// readServerInfo reads SGLang's page: its ranks publish, and are asked for old batches, at consecutive ports. Where it
// does not say the port for these, as older versions do not, it is replay; 0 is none. There are no ranks when it does
// not publish, or connects by itself.
func readServerInfo(page []byte, endpoint netip.AddrPort, replay int) map[int]source {
	var said struct {
		Events struct {
			Publisher string `json:"publisher"`
			Host      string `json:"endpoint_host"`
			Port      int    `json:"endpoint_port_base"`
			Replay    int    `json:"replay_endpoint_port_base"`
			Ranks     int    `json:"dp_size"`
		} `json:"kv_events"`
		Config json.RawMessage `json:"kv_events_config"`
	}
	if json.Unmarshal(page, &said) != nil {
		return nil
	}
	e := &said.Events
	if e.Publisher != "zmq" || e.Port <= 0 || !isBound(e.Host, said.Config) {
		return nil
	}
	if e.Replay == 0 {
		e.Replay = replay
	}
	all := map[int]source{}
	for rank := range min(e.Ranks, maxRanks) {
		if e.Port+rank > math.MaxUint16 {
			break
		}
		s := source{address: portAt(endpoint, e.Port+rank)}
		if e.Replay > 0 && e.Replay+rank <= math.MaxUint16 {
			s.replay = portAt(endpoint, e.Replay+rank)
		}
		all[rank] = s
	}
	return all
}

// isBound reports whether SGLang's ranks bind a host, as they do any address, and any other where its
// --kv-events-config, which is JSON in a text, asks for it. Else they connect to it.
func isBound(host string, config []byte) bool {
	switch strings.Trim(host, "[]") {
	case "*", "0.0.0.0", "::":
		return true
	}
	var text string
	var asked struct{ Bind bool }
	return json.Unmarshal(config, &text) == nil && json.Unmarshal([]byte(text), &asked) == nil && asked.Bind
}

// portAt is another port of an endpoint.
func portAt(endpoint netip.AddrPort, port int) string {
	return net.JoinHostPort(endpoint.Addr().String(), strconv.Itoa(port))
}

// modelsPath is where servers list what they serve. Adapters have a parent there, base models have none.
const modelsPath = "/v1/models"

// readModels returns the names of base models in a list.
func readModels(page []byte) (names []string) {
	var list struct {
		Data []struct {
			ID     string  `json:"id"`
			Parent *string `json:"parent"`
		} `json:"data"`
	}
	if json.Unmarshal(page, &list) != nil {
		return nil
	}
	for _, m := range list.Data {
		if m.ID != "" && (m.Parent == nil || *m.Parent == "") {
			names = append(names, m.ID)
		}
	}
	return names
}

// dialable is the address of a socket that an endpoint says it has bound, at the endpoint's own address: nobody has
// the sidecar connect to somewhere else. It is empty for one that is not bound: a publisher binds any address alone,
// and connects to others, while those for replays are always bound.
func dialable(zmq string, endpoint netip.AddrPort, bound bool) string {
	host, port, ok := address.Endpoint(zmq)
	if !ok || port == 0 || !bound && !strings.Contains(host, "*") && !strings.Contains(host, "::") {
		return ""
	}
	return portAt(endpoint, int(port))
}

// configured is where an endpoint publishes by the configuration, so much above the ports there.
func (c *Config) configured(offset int, endpoint netip.AddrPort) source {
	s := source{address: portAt(endpoint, c.SocketPort+offset)}
	if c.ReplaySocketPort != 0 {
		s.replay = portAt(endpoint, c.ReplaySocketPort+offset)
	}
	return s
}

// topicParts takes kv@ENDPOINT@MODEL apart. Other topics name neither.
func topicParts(topic string) (endpoint, model string) {
	parts := strings.Split(topic, "@")
	if len(parts) != 3 {
		return "", ""
	}
	return parts[1], parts[2]
}
