package kvevents

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/pintle-dev/pintle/internal/address"
)

// Config is kvEventsConfig of precise-prefix-cache-scorer.
type Config struct {
	// ZMQEndpoint, such as tcp://*:5557, is where engines connect to; empty is nowhere.
	ZMQEndpoint string
	// TopicFilter is what topics begin with. Default in documents "kv@"; vLLM's own default topic is empty.
	TopicFilter string
	// Concurrency is how many messages are worked on at a time. Default 4.
	Concurrency int
	// DiscoverPods has each endpoint's publisher connected to.
	DiscoverPods bool
	// PodNamespace restricts that to the endpoints of one namespace; empty is all.
	PodNamespace string
	// SocketPort and ReplaySocketPort are the ports of publishers that do not say theirs at /kv_event_sources or
	// /server_info; an endpoint NAME-rank-N has N more, unless others of that NAME are at other hosts. Default 5557,
	// and 0 for no replay.
	SocketPort, ReplaySocketPort int
}

// Defaults of Config.
const (
	DefaultTopicFilter = "kv@"
	DefaultConcurrency = 4
	DefaultSocketPort  = 5557
)

// Check returns what is wrong with the configuration, by its key.
func (c *Config) Check() error {
	for _, port := range []struct {
		key   string
		value int
		least int
	}{
		{"podDiscoveryConfig.socketPort", c.SocketPort, 1},
		{"podDiscoveryConfig.replaySocketPort", c.ReplaySocketPort, 0},
	} {
		if port.value < port.least || port.value > 65535 {
			return fmt.Errorf("%s: %d is no port; %d to 65535 is right", port.key, port.value, port.least)
		}
	}
	if c.Concurrency < 1 || c.Concurrency > 1024 {
		return fmt.Errorf("concurrency: %d is out of range; 1 to 1024 is right", c.Concurrency)
	}
	if c.ZMQEndpoint != "" {
		if _, err := listenAddress(c.ZMQEndpoint); err != nil {
			return err
		}
	}
	return nil
}

// listenAddress is where to listen for an endpoint of ZeroMQ. Engines are given the same text, so its host may be the
// name by which they find this machine: that is listened on at all addresses.
func listenAddress(endpoint string) (string, error) {
	host, port, ok := address.Endpoint(endpoint)
	if !ok {
		return "", fmt.Errorf("zmqEndpoint: %q is no endpoint; one such as tcp://*:5557 is right", endpoint)
	}
	if _, err := netip.ParseAddr(host); err != nil {
		host = ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port))), nil
}
