package replicate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/harness/pki"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/scoring"
)

// wantFailure waits until the gateway says that the stream's server does not take it.
func (g *gateway) wantFailure() {
	g.t.Helper()
	harness.WaitFor(g.t, limit, g.name+" to say what is wrong", func() (bool, string) {
		s := g.member.Now(time.Now())
		return len(s.Failures) > 0, fmt.Sprint(s)
	})
}

// TestCluster has the stream in a Cluster, whose server of it ends and comes back.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := harness.StartValkeyCluster(t)
	all := scoring.StoreRedis{Addresses: harness.Addresses(nodes)}
	a, b := newGateway(t, "a", all), newGateway(t, "b", all)
	a.decide()
	b.wantOthers("d1")
	b.decide()
	a.wantOthers("d1")

	client := nodes[0].Client()
	defer client.Close()
	slot, err := client.ClusterKeySlot(t.Context(), stream).Result()
	if err != nil {
		t.Fatal(err)
	}
	owner := nodes[int(slot)*len(nodes)/16384]
	owner.Kill()
	a.decide()
	a.wantFailure()
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	b.wantOthers("d1", "d2")
	b.decide()
	a.wantOthers("d1", "d2")
}

// TestSentinel has a replica take over under gateways that find the master by a Sentinel with a password.
func TestSentinel(t *testing.T) {
	t.Parallel()
	master := harness.StartValkey(t)
	harness.StartReplica(t, master)
	sentinel := harness.StartSentinel(t, master, 1)
	known := sentinel.Client()
	defer known.Close()
	if err := known.ACLSetUser(t.Context(), "default", "resetpass", ">secret").Err(); err != nil {
		t.Fatal(err)
	}
	all := scoring.StoreRedis{Addresses: []string{sentinel.Address}, MasterName: "main"}
	stranger := newGateway(t, "stranger", all)
	stranger.decide()
	stranger.wantFailure()
	secret := func(r *config.Replicate) { r.SentinelPassword = "secret" }
	a, b := newGateway(t, "a", all, secret), newGateway(t, "b", all, secret)
	a.decide()
	b.wantOthers("d1")
	b.decide()
	a.wantOthers("d1")
	master.Kill()
	a.decide()
	watch := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Address, Password: "secret"})
	defer watch.Close()
	// A Sentinel that was kept from running trusts its clock no more, and does nothing for 30 s.
	harness.WaitFor(t, 4*limit, "the replica to take over", func() (bool, string) {
		at, err := watch.GetMasterAddrByName(t.Context(), "main").Result()
		return err == nil && at[1] != master.Port(), fmt.Sprint(at, err)
	})
	b.decide()
	b.wantOthers("d1", "d2")
	a.wantOthers("d1", "d2")
}

// TestTLS has the server be reached by TLS alone, by a user with a password.
func TestTLS(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	rules := []string{"on", ">secret", "~" + stream, "+xadd", "+xlen", "+xrange", "+xread", "+xrevrange"}
	if err := client.ACLSetUser(t.Context(), "pintle", rules...).Err(); err != nil {
		t.Fatal(err)
	}
	authority := pki.New(t)
	authority.Issue("server", &x509.Certificate{DNSNames: []string{"valkey.internal"}})
	authority.Issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	address := frontTLS(t, authority, v.Address)
	trust := func(r *config.Replicate) {
		r.Access = topology.Access{HTTPS: true, CA: authority.File("ca.pem"), ServerName: "valkey.internal",
			Certificate: authority.File("client.pem"), Key: authority.File("client.key")}
	}
	user := func(password string) scoring.StoreRedis {
		return scoring.StoreRedis{Address: "rediss://" + address, Username: "pintle", Password: password}
	}
	a := newGateway(t, "a", user("secret"), trust)
	b := newGateway(t, "b", scoring.StoreRedis{Addresses: []string{address}, Username: "pintle", Password: "secret"},
		trust)
	wrong, stranger := newGateway(t, "wrong", user("another"), trust), newGateway(t, "stranger", user("secret"))
	for _, g := range []*gateway{wrong, stranger} {
		g.decide()
		g.wantFailure()
	}
	a.decide()
	b.wantOthers("d1")
	b.decide()
	a.wantOthers("d1")
}

// frontTLS passes connections of clients with a certificate on to a server.
func frontTLS(t *testing.T, authority *pki.Authority, to string) (address string) {
	t.Helper()
	clients := x509.NewCertPool()
	clients.AddCert(authority.Cert)
	listener, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{authority.Pair("server")}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: clients})
	if err != nil {
		t.Fatal(err)
	}
	return harness.NewLinkAt(t, listener, to).Address
}

// restricted returns the address of a server for a user who may append only as long as mayAppend was last called with
// true.
func restricted(t *testing.T, v *harness.Valkey) (redis scoring.StoreRedis, mayAppend func(may bool)) {
	t.Helper()
	client := v.Client()
	t.Cleanup(func() { _ = client.Close() })
	set := func(rules ...string) {
		t.Helper()
		if err := client.ACLSetUser(t.Context(), "pintle", rules...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("on", ">secret", "~"+stream, "+xlen", "+xrange", "+xread", "+xrevrange", "+xadd")
	redis = addressOf(v)
	redis.Username, redis.Password = "pintle", "secret"
	return redis, func(may bool) {
		t.Helper()
		if may {
			set("+xadd")
		} else {
			set("-xadd")
		}
	}
}

// wantAppendFails expects that the gateway says so, and nothing else that fails.
func (g *gateway) wantAppendFails() {
	g.t.Helper()
	s := g.member.Now(time.Now())
	if len(s.Failures) != 1 || !strings.HasPrefix(s.Failures[0], "append: NOPERM") {
		g.t.Errorf("%s says that %q fails, want the append", g.name, s.Failures)
	}
}

// TestAppendFails has a server take nothing more and go on to answer who reads: the one does not hide the other.
func TestAppendFails(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	redis, mayAppend := restricted(t, v)
	a := newGateway(t, "a", redis)
	a.decide()
	a.wantRecent(1)
	mayAppend(false)
	a.member.publisher.beat()
	a.wantAppendFails()
	appendRaw(t, client, sealed(token, time.Now(), 3))
	a.wantOthers("d3")
	a.wantAppendFails()
}

// TestHearsWhatItCannotAnswer has a server take nothing from a gateway, which still gets what others say; what it has
// to say itself comes when it may again, once and in its order.
func TestHearsWhatItCannotAnswer(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	redis, mayAppend := restricted(t, v)
	a, b := newGateway(t, "a", redis), newGateway(t, "b", addressOf(v))
	a.decide()
	b.wantOthers("d1")
	mayAppend(false)
	a.decide()
	a.wantFailure()
	appendRaw(t, client, sealed(token, time.Now(), 11))
	a.wantOthers("d11")
	a.decide()
	appendRaw(t, client, sealed(token, time.Now(), 12))
	a.wantOthers("d11", "d12")
	a.wantAppendFails()
	a.stop()
	a.start() // a process that begins so hears, too
	appendRaw(t, client, sealed(token, time.Now(), 13))
	a.wantOthers("d11", "d12", "d13")
	a.wantAppendFails()
	mayAppend(true)
	b.wantOthers("d1", "d11", "d12", "d13", "d2", "d3")
	harness.WaitFor(t, limit, "all to be well", func() (bool, string) {
		s := a.member.Now(time.Now())
		return len(s.Failures) == 0, fmt.Sprint(s)
	})
}
