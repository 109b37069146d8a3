package redisclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/scoring"
)

// TestNew: a URL says what the configuration's other keys leave open.
func TestNew(t *testing.T) {
	const timeout = 70 * time.Millisecond
	type server struct {
		at, username, password string
		db                     int
		tls                    string // the name that its certificate is to have, empty for no TLS
	}
	own := Security{TLS: &tls.Config{ServerName: "own"}}
	for _, test := range []struct {
		name     string
		to       scoring.StoreRedis
		security Security
		want     server
	}{
		{"an address", scoring.StoreRedis{Addresses: []string{"h:1"}, Username: "u", Password: "p", DB: 4}, Security{},
			server{"h:1", "u", "p", 4, ""}},
		{"an address with TLS", scoring.StoreRedis{Addresses: []string{"h:1"}}, own, server{at: "h:1", tls: "own"}},
		{"a URL of all", scoring.StoreRedis{Address: "redis://u:p@h:1/3"}, Security{}, server{"h:1", "u", "p", 3, ""}},
		{"a URL of the host alone", scoring.StoreRedis{Address: "redis://h", Username: "u", Password: "p", DB: 4},
			Security{}, server{"h:6379", "u", "p", 4, ""}},
		{"keys beside a URL", scoring.StoreRedis{Address: "redis://u:p@h:1/3", Username: "v", Password: "q", DB: 4},
			Security{}, server{"h:1", "v", "q", 4, ""}},
		{"Valkey's URL", scoring.StoreRedis{Address: "valkey://valkey:1/2"}, Security{}, server{at: "valkey:1", db: 2}},
		{"a URL with TLS", scoring.StoreRedis{Address: "rediss://h:1"}, Security{}, server{at: "h:1", tls: "h"}},
		{"Valkey's with TLS", scoring.StoreRedis{Address: "valkeys://h:1"}, Security{}, server{at: "h:1", tls: "h"}},
		{"TLS beside a URL with it", scoring.StoreRedis{Address: "rediss://h:1"}, own, server{at: "h:1", tls: "own"}},
		{"TLS beside a URL without", scoring.StoreRedis{Address: "redis://h:1"}, own, server{at: "h:1", tls: "own"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, err := New(test.to, test.security, timeout)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			o := client.(*redis.Client).Options()
			got := server{at: o.Addr, username: o.Username, password: o.Password, db: o.DB}
			if o.TLSConfig != nil {
				got.tls = o.TLSConfig.ServerName
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if o.DialTimeout != timeout || o.ReadTimeout != timeout || o.WriteTimeout != timeout {
				t.Errorf("got %v to connect, %v to read and %v to write, want %v", o.DialTimeout, o.ReadTimeout,
					o.WriteTimeout, timeout)
			}
		})
	}
}

// TestOptions: a URL's options hold, but for times and tries, which are the sidecar's.
func TestOptions(t *testing.T) {
	const url = "redis://h?client_name=a&protocol=2&pool_size=7&pool_fifo=true&pool_timeout=3s&min_idle_conns=1" +
		"&max_idle_conns=2&max_active_conns=8&conn_max_idle_time=4s&conn_max_lifetime=5s&read_timeout=6s" +
		"&max_retries=9" +
		"&conn_max_lifetime_jitter=1s&max_concurrent_dials=3&pipeline_pool_size=4&pipeline_read_buffer_size=5000" +
		"&pipeline_write_buffer_size=6000"
	client, err := New(scoring.StoreRedis{Address: url}, Security{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	o := client.(*redis.Client).Options()
	got := fmt.Sprint(o.ClientName, o.Protocol, o.PoolSize, o.PoolFIFO, o.PoolTimeout, o.MinIdleConns, o.MaxIdleConns,
		o.MaxActiveConns, o.ConnMaxIdleTime, o.ConnMaxLifetime, o.ReadTimeout, o.MaxRetries,
		o.ConnMaxLifetimeJitter, o.MaxConcurrentDials, o.PipelinePoolSize, o.PipelineReadBufferSize,
		o.PipelineWriteBufferSize)
	if want := fmt.Sprint("a", 2, 7, true, 3*time.Second, 1, 2, 8, 4*time.Second, 5*time.Second, time.Second, 2,
		time.Second, 3, 4, 5000, 6000); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSeveral: several addresses are those of a Cluster, and with a master's name those of Sentinels.
func TestSeveral(t *testing.T) {
	addresses := []string{"h:1", "h:2"}
	cluster, err := New(scoring.StoreRedis{Addresses: addresses}, Security{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if _, ok := cluster.(*redis.ClusterClient); !ok {
		t.Errorf("got %T, want the client of a Cluster", cluster)
	}
	sentinels, err := New(scoring.StoreRedis{Addresses: addresses, MasterName: "m", DB: 2}, Security{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer sentinels.Close()
	one, ok := sentinels.(*redis.Client)
	if !ok || one.Options().DB != 2 {
		t.Errorf("got %T, want the client of one server, and its database 2", sentinels)
	}
}

// TestNoURL: what is no URL is a mistake that repeats nothing of it, as it may hold a password.
func TestNoURL(t *testing.T) {
	for _, address := range []string{"h:1", "http://u:secret@h:1", "redis://u:secret@h:1/x", "redis://u:secret@h:%zz",
		"://"} {
		client, err := New(scoring.StoreRedis{Address: address}, Security{}, time.Second)
		if !errors.Is(err, ErrAddress) || client != nil || err.Error() != "is not a URL such as redis://host:6379/0" {
			t.Errorf("%s: got %v, want %v", address, err, ErrAddress)
		}
	}
}
