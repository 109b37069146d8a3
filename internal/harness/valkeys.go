package harness

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// StartValkeyCluster starts a Cluster of three servers that ends with the test.
func StartValkeyCluster(t testing.TB) (nodes []*Valkey) {
	t.Helper()
	const servers, slots = 3, 16384
	for i := range servers {
		v := StartValkey(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "yes")
		nodes = append(nodes, v)
		v.with(t, func(ctx context.Context, client *redis.Client) {
			if err := client.ClusterAddSlotsRange(ctx, slots*i/servers, slots*(i+1)/servers-1).Err(); err != nil {
				t.Fatal(err)
			}
			first := nodes[0]
			if err := client.Do(ctx, "cluster", "meet", "127.0.0.1", first.Port(), first.Bus).Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, v := range nodes {
		v.with(t, func(ctx context.Context, client *redis.Client) {
			WaitFor(t, 30*time.Second, "the cluster", func() (bool, string) {
				info, _ := client.ClusterInfo(ctx).Result()
				return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3"),
					info
			})
		})
	}
	return nodes
}

// Addresses are those of some servers.
func Addresses(all []*Valkey) (addresses []string) {
	for _, v := range all {
		addresses = append(addresses, v.Address)
	}
	return addresses
}

// StartSentinel starts a Sentinel that ends with the test. It calls the master main, and has one of the replicas take
// over from it when it is away for two seconds. The replicas are there already.
func StartSentinel(t testing.TB, master *Valkey, replicas int) *Valkey {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "sentinel monitor main 127.0.0.1 " + master.Port() + " 1\n" +
		"sentinel down-after-milliseconds main 2000\nsentinel failover-timeout main 5000\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := StartValkey(t, conf)
	client := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Address})
	defer client.Close()
	WaitFor(t, 30*time.Second, "the Sentinel to know the replicas", func() (bool, string) {
		found, err := client.Replicas(t.Context(), "main").Result()
		if err != nil {
			return false, err.Error()
		}
		for _, replica := range found {
			if replica["master-link-status"] != "ok" {
				return false, replica["master-link-status"]
			}
		}
		return len(found) == replicas, ""
	})
	return sentinel
}

// StartReplica starts a server that ends with the test and has what another has.
func StartReplica(t testing.TB, of *Valkey) *Valkey {
	t.Helper()
	v := StartValkey(t, "--replicaof", "127.0.0.1 "+of.Port(), "--repl-diskless-sync-delay", "0")
	v.with(t, func(ctx context.Context, client *redis.Client) {
		WaitFor(t, 30*time.Second, "the replica to have all", func() (bool, string) {
			info, _ := client.Info(ctx, "replication").Result()
			return strings.Contains(info, "master_link_status:up"), info
		})
	})
	return v
}

// with does something with a client.
func (v *Valkey) with(t testing.TB, do func(ctx context.Context, client *redis.Client)) {
	t.Helper()
	client := v.Client()
	defer client.Close()
	do(t.Context(), client)
}
