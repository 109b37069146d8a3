package responses

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/dns/dnstest"
	"github.com/pintle-dev/pintle/scoring"
)

// dialDNS is how this process reaches DNS, nil for as any does. MongoDB's driver takes no other way than the process's.
var dialDNS atomic.Pointer[func(ctx context.Context) (net.Conn, error)]

func init() {
	net.DefaultResolver = &net.Resolver{PreferGo: true,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if dial := dialDNS.Load(); dial != nil {
				return (*dial)(ctx)
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}
}

// TestLookups: a store whose MongoDB is looked up in DNS starts while that fails, says so, without passwords, and finds
// MongoDB once DNS is back. What another try does not mend ends the start.
func TestLookups(t *testing.T) {
	const (
		name  = "mongo.pintle.test."
		said  = "DNS does not tell where mongo is"
		again = "DNS tells where mongo is"
	)
	there := &dnsmessage.SRVResource{Port: 1, Target: dnsmessage.MustNewName("a.pintle.test.")}
	for _, test := range []struct {
		name                     string
		uri                      string
		fails, silent            bool
		server, text             dnsmessage.ResourceBody
		failure, meanwhile, told string
	}{
		{name: "it is not looked up", uri: "mongodb://u:hunter2@127.0.0.1:1", fails: true},
		{name: "it is found", server: there},
		{name: "DNS fails", fails: true, meanwhile: "DNS does not tell where it is: ", told: "server misbehaving"},
		{name: "DNS does not know the name yet", meanwhile: "DNS does not tell where it is: ", told: "no such host"},
		{name: "DNS is silent", silent: true, server: there, meanwhile: "DNS does not tell where it is: ",
			told: "no answer yet"},
		{name: "an option in DNS that may not be there", server: there,
			text:    &dnsmessage.TXTResource{TXT: []string{"ssl=false"}},
			failure: "tieredConfig.mongo.uri: cannot be read by MongoDB's driver"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, heard := dnstest.New(t), make(chan struct{})
			dial := func(ctx context.Context) (net.Conn, error) {
				select {
				case <-heard:
				case <-ctx.Done():
				}
				return (&net.Dialer{}).DialContext(ctx, "udp", s.Address)
			}
			dialDNS.Store(&dial)
			defer dialDNS.Store(nil)
			set := func(fails bool, server, text dnsmessage.ResourceBody) {
				s.Set("a.pintle.test.", fails, dnstest.A("127.0.0.1"))
				records := map[string]dnsmessage.ResourceBody{"_mongodb._tcp." + name: server, name: text}
				for of, record := range records {
					if record != nil {
						s.Set(of, fails, record)
					}
				}
			}
			set(test.fails, test.server, test.text)
			defer func(wait time.Duration) { lookupWait = wait }(lookupWait)
			if lookupWait = 30 * time.Second; test.silent { // on a busy machine nothing is quick
				lookupWait = time.Millisecond
			} else {
				close(heard)
			}
			config := tieredOf(scoring.StoreRedis{Address: "redis://127.0.0.1:1"})
			config.Tiered.Mongo = &scoring.StoreMongo{TTL: time.Hour, Timeout: 100 * time.Millisecond,
				URI: "mongodb+srv://u:hunter2@" + strings.TrimSuffix(name, ".")}
			if test.uri != "" {
				config.Tiered.Mongo.URI = test.uri
			}
			var log harness.Log
			service, err := New(config, func() string { return "" }, slog.New(slog.NewTextHandler(&log, nil)))
			if test.failure != "" {
				if err == nil || err.Error() != test.failure {
					t.Errorf("got %v, want %s", err, test.failure)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer service.backend.Close()
			second := service.backend.(*tiered).second
			failure := func() string {
				_, get := second.Get(t.Context(), "k")
				_, keep := second.Keep(t.Context(), []record{{key: "k"}})
				if get == nil || keep == nil {
					t.Fatalf("got %v and %v, want failures: nobody listens there", get, keep)
				}
				return get.Error() + "\n" + keep.Error()
			}
			if got := failure(); strings.Count(got, "DNS does not tell") != 2 && test.told != "" ||
				!strings.HasPrefix(got, test.meanwhile) {
				t.Errorf("meanwhile: got %s, want %s... twice", got, test.meanwhile)
			}
			text := log.String()
			if strings.Contains(text, said) != (test.told != "") || !strings.Contains(text, test.told) ||
				strings.Contains(text, again) || strings.Contains(text, "hunter2") {
				t.Errorf("got the log %q, want %s: %v, %q, and nothing yet of its end", text, said, test.told != "",
					test.told)
			}
			if test.told == "" {
				return
			}
			set(false, there, nil)
			if test.silent {
				close(heard)
			}
			harness.WaitFor(t, time.Minute, again, func() (bool, string) {
				return strings.Contains(log.String(), again), log.String()
			})
			if got := failure(); strings.Contains(got, "DNS does not tell") {
				t.Errorf("got %s once it was found, want that nobody listens there", got)
			}
		})
	}
}
