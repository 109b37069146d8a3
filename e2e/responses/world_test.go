//go:build responses

package responses

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/stack"
)

// world is what sidecars keep conversations in.
type world struct {
	t          *testing.T
	valkey     *harness.Valkey
	redis      *redis.Client
	mongo      *harness.Link // to the stand-in
	collection *mongo.Collection
}

const (
	streamKey = "sync"
	groupName = "mongo-sync"
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, valkey: harness.StartValkey(t)}
	w.redis = w.valkey.Client()
	t.Cleanup(func() { _ = w.redis.Close() })
	address := startMongo(t)
	w.mongo = harness.NewLink(t, address)
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	w.collection = client.Database("heimdall").Collection("responses")
	return w
}

// startMongo starts the stand-in, and returns where it listens.
func startMongo(t *testing.T) string {
	t.Helper()
	home := filepath.Join(harness.Root(), "build", ".cache", "mongo")
	address := freeAddress(t)
	classes := filepath.Join(home, "lib", "*") + ":" + filepath.Join(home, "classes")
	p, err := harness.StartChild("mongo", home, "java", nil, "-Xmx256m", "-cp", classes, "Server",
		address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	harness.WaitFor(t, time.Minute, "the stand-in for MongoDB", func() (bool, string) {
		err := client.Ping(t.Context(), nil)
		return err == nil, fmt.Sprint(err, p.Log())
	})
	return address
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return stack.Address(ports[0])
}

// gateway is a sidecar that keeps conversations.
type gateway struct {
	*harness.Sidecar
	t              *testing.T
	address, admin string
	store          string
}

// start starts a sidecar with both tiers, of which it gives the second one so long for an operation. What is read and
// not acknowledged others claim soon.
func (w *world) start(timeout string) *gateway {
	return startGateway(w.t, "{redis: {address: 'redis://"+w.valkey.Address+"', ttl: 1h}, mongo: {uri: 'mongodb://"+
		w.mongo.Address+"', ttl: 2h, timeout: "+timeout+"}, stream: {key: "+streamKey+
		", blockTimeout: 50ms, claimAge: 200ms}}")
}

// startGateway starts a sidecar with a tieredConfig.
func startGateway(t *testing.T, tiers string) *gateway {
	return startGatewayWith(t, "{tieredConfig: "+tiers+"}")
}

func startGatewayWith(t *testing.T, store string) *gateway {
	g := &gateway{t: t, address: freeAddress(t), admin: freeAddress(t), store: store}
	g.restart()
	return g
}

// restart starts it, and waits until it answers.
func (g *gateway) restart() {
	g.t.Helper()
	g.Sidecar = harness.StartSidecarWith(g.t, fmt.Sprintf("envoy: {ingest: 'http://127.0.0.1:1', token: '%s'}\n"+
		"admin: {address: '%s'}\ndiscovery: {static: []}\n"+
		"responses: {address: '%s', storeConfig: %s}\n", harness.Token, g.admin, g.address, g.store))
	harness.WaitFor(g.t, 30*time.Second, "the store to listen", func() (bool, string) {
		status, text := g.ask("GET", "history/nobody", "")
		return status != 0, text + g.Log()
	})
}

// ask asks the store as the filter does. It returns 0 for no answer.
func (g *gateway) ask(method, path, body string, headers ...string) (int, string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+g.address+"/pintle/v1/"+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+harness.Token)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// put stores a turn, whose input and output are its id, and returns the status.
func (g *gateway) put(id, previous string) int {
	input := `"` + id + `"`
	headers := []string{"X-Pintle-Input", strconv.Itoa(len(input))}
	if previous != "" {
		headers = append(headers, "X-Pintle-Previous", previous)
	}
	status, _ := g.ask("POST", "turns", input+`{"id":"`+id+`","status":"completed","output":[`+said(id)+`]}`, headers...)
	return status
}

func said(text string) string {
	return `{"type":"message","role":"assistant","content":"` + text + `"}`
}

// history is the conversation that put makes of the ids.
func history(ids ...string) string {
	var items []string
	for _, id := range ids {
		items = append(items, `{"type":"message","role":"user","content":"`+id+`"}`, said(id))
	}
	return strings.Join(items, ",")
}

// want wants an answer; "" is any body.
func (g *gateway) want(status int, body, method, path string) {
	g.t.Helper()
	if got, text := g.ask(method, path, ""); got != status || body != "" && text != body {
		g.t.Errorf("%s %s: got %d %s, want %d %s", method, path, got, text, status, body)
	}
}

// metric waits until the sidecar's metrics have a line, whose value is at least so much.
func (g *gateway) metric(name string, least float64) {
	g.t.Helper()
	harness.WaitFor(g.t, 20*time.Second, name, func() (bool, string) {
		response, err := http.Get("http://" + g.admin + "/metrics")
		if err != nil {
			return false, err.Error()
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
				n, err := strconv.ParseFloat(value, 64)
				return err == nil && n >= least, line
			}
		}
		return false, fmt.Sprint("no such line ", err)
	})
}

// drained waits until nothing waits for the second tier.
func (w *world) drained() {
	w.t.Helper()
	harness.WaitFor(w.t, time.Minute, "the stream to be empty", func() (bool, string) {
		n, err := w.redis.XLen(w.t.Context(), streamKey).Result()
		return err == nil && n == 0, fmt.Sprint(n, " messages ", err)
	})
}

// documents are the ids that the second tier has responses of.
func (w *world) documents() map[string]bool {
	w.t.Helper()
	filter := bson.D{{Key: "deleted", Value: bson.D{{Key: "$exists", Value: false}}}}
	only := options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}})
	cursor, err := w.collection.Find(w.t.Context(), filter, only)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []struct {
		ID string `bson:"_id"`
	}
	if err := cursor.All(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, d := range all {
		ids[strings.TrimSuffix(d.ID, ":")] = true
	}
	return ids
}

// document is what the second tier has of an id.
func (w *world) document(id string) bson.M {
	w.t.Helper()
	var d bson.M
	err := w.collection.FindOne(w.t.Context(), bson.D{{Key: "_id", Value: id + ":"}}).Decode(&d)
	if err != nil && err != mongo.ErrNoDocuments {
		w.t.Fatal(err)
	}
	return d
}
