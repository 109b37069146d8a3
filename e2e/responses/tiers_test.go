//go:build responses

package responses

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/pintle-dev/pintle/internal/harness"
)

const entryKey = "pintle:responses:"

// TestTiers: two gateways serve each other's conversations, from Redis and, when it no longer has them, from MongoDB.
func TestTiers(t *testing.T) {
	w := newWorld(t)
	a, b := w.start("5s"), w.start("5s")
	ctx := t.Context()
	for i, id := range []string{"r1", "r2", "r3"} {
		previous := []string{"", "r1", "r2"}[i]
		if status := []*gateway{a, b}[i%2].put(id, previous); status != 204 {
			t.Fatalf("%s: got %d, want 204", id, status)
		}
	}
	a.want(200, history("r1", "r2"), "GET", "history/r2")
	b.want(200, history("r1", "r2", "r3"), "GET", "history/r3")
	w.drained()
	if err := w.redis.FlushAll(ctx).Err(); err != nil { // as if their time were over
		t.Fatal(err)
	}
	a.want(200, history("r1", "r2", "r3"), "GET", "history/r3")
	if left := w.redis.PTTL(ctx, entryKey+"r3:").Val(); left <= 0 || left > time.Hour {
		t.Errorf("written back: got %v left, want some of an hour", left)
	}
	if status := a.page("status"); !strings.Contains(status, `{"name":"redis","hits":`) ||
		!strings.Contains(status, `{"name":"mongo","hits":1,`) {
		t.Errorf("the status does not tell of both tiers: %s", status)
	}
	a.metric(`pintle_store_lookups_total{result="hit",tier="mongo"}`, 1)
	a.metric(`pintle_store_bytes_total{direction="read",tier="mongo"}`, 1)
	a.metric(`pintle_store_duration_seconds_count{operation="get",tier="mongo"}`, 1)

	b.want(200, "", "DELETE", "responses/r1")
	a.want(404, "", "GET", "history/r1")
	w.drained()
	if d := w.document("r1"); d["deleted"] != true || d["data"] != nil {
		t.Errorf("deleted: got %v, want nothing but that", d)
	}
	w.redis.Del(ctx, entryKey+"r1:")
	a.want(404, "", "GET", "history/r1")
	b.want(200, history("r1", "r2"), "GET", "history/r2")

	// What MongoDB has not dropped yet has expired all the same.
	past := bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: time.Now().Add(-time.Second)}}}}
	if _, err := w.collection.UpdateByID(ctx, "r3:", past); err != nil {
		t.Fatal(err)
	}
	w.redis.Del(ctx, entryKey+"r3:")
	a.want(404, "", "GET", "history/r3")
	w.wantIndex()
}

// wantIndex wants the index by which MongoDB drops what has expired.
func (w *world) wantIndex() {
	w.t.Helper()
	cursor, err := w.collection.Indexes().List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var all []bson.M
	if err := cursor.All(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for _, index := range all {
		if seconds, ok := index["expireAfterSeconds"].(int32); ok && seconds == 0 && index["name"] == "expires_1" {
			return
		}
		if seconds, ok := index["expireAfterSeconds"].(int64); ok && seconds == 0 {
			return
		}
	}
	w.t.Errorf("got indexes %v, want one on expires", all)
}

// TestMongoAway: while MongoDB cannot be reached responses are stored and served, and get there when it can.
func TestMongoAway(t *testing.T) {
	w := newWorld(t)
	w.mongo.Cut()
	g := w.start("300ms")
	if status := g.put("r1", ""); status != 204 {
		t.Errorf("stored: got %d, want 204", status)
	}
	g.want(200, history("r1"), "GET", "history/r1")
	harness.WaitFor(t, 30*time.Second, "the trouble to be told", func() (bool, string) {
		return g.warned("they cannot be brought to mongo"), "no such warning"
	})
	w.mongo.Mend()
	w.drained()
	if w.document("r1") == nil {
		t.Error("MongoDB has not got what came while it was away")
	}
}

// warned tells whether the sidecar warns of something.
func (g *gateway) warned(text string) bool { return strings.Contains(g.page("healthz"), text) }

// page is what the sidecar answers at its admin address, empty if it does not.
func (g *gateway) page(name string) string {
	response, err := http.Get("http://" + g.admin + "/" + name)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}
