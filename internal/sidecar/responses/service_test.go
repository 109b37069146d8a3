package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// memoryOf is a backend in memory.
func memoryOf(entries, bytes int) scoring.StoreBackend {
	return scoring.StoreBackend{
		Memory: scoring.StoreMemory{TTL: time.Hour, MaxEntries: entries, MaxEntryBytes: bytes},
	}
}

// client asks a service as the filter does.
type client struct {
	t      *testing.T
	s      *Service
	tenant string
}

func open(t *testing.T, config scoring.StoreBackend) *client {
	t.Helper()
	s, err := New(config, func() string { return "token" }, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s.grace = 0
	return &client{t: t, s: s}
}

func (c *client) do(method, path, body string, headers ...string) (int, string) {
	r := httptest.NewRequest(method, "/pintle/v1/"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer token")
	if c.tenant != "" {
		r.Header.Set("X-Pintle-Tenant", c.tenant)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func (c *client) store(previous, input, answer string) int {
	headers := []string{"X-Pintle-Input", strconv.Itoa(len(input))}
	if previous != "" {
		headers = append(headers, "X-Pintle-Previous", previous)
	}
	status, _ := c.do("POST", "turns", input+answer, headers...)
	return status
}

// wantHistory wants a conversation that is the same JSON.
func (c *client) wantHistory(id string, want ...string) {
	c.t.Helper()
	status, got := c.do("GET", "history/"+id, "")
	var gotItems, wantItems any
	err := json.Unmarshal([]byte("["+got+"]"), &gotItems)
	_ = json.Unmarshal([]byte("["+strings.Join(want, ",")+"]"), &wantItems)
	if status != 200 || err != nil || !reflect.DeepEqual(gotItems, wantItems) {
		c.t.Errorf("history of %s: got %d %s, want %v", id, status, got, want)
	}
}

func (c *client) want(status int, method, path string) string {
	c.t.Helper()
	got, body := c.do(method, path, "")
	if got != status {
		c.t.Errorf("%s %s: got %d %s, want %d", method, path, got, body, status)
	}
	return body
}

func answer(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"status":"completed","previous_response_id":null,"output":[%s],"error":null}`, id,
		said(text))
}

func said(text string) string {
	return `{"type":"message","role":"assistant","content":"` + text + `"}`
}

func asked(text string) string {
	return `{"type":"message","role":"user","content":"` + text + `"}`
}

func TestConversation(t *testing.T) {
	c := open(t, memoryOf(100, 1<<20))
	call := `{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`
	result := `{"type":"function_call_output","call_id":"1","output":"7"}`
	event := `{"type":"response.completed","response":{"id":"r2","status":"completed","output":[` + call + `]},"n":1}`
	for _, turn := range []struct{ previous, input, answer string }{
		{"", `"a"`, answer("r1", "b")},
		{"r1", ` [ ` + asked("c") + ` ] `, event},
		{"r2", `[` + result + `]`, answer("r3", "d")},
		{"r1", `"other"`, answer("r4", "branch")},
		{"r3", ``, answer("r5", "e")},
	} {
		if status := c.store(turn.previous, turn.input, turn.answer); status != 204 {
			t.Fatalf("%v: got %d", turn, status)
		}
	}
	first := []string{asked("a"), said("b")}
	third := append(first[:2:2], asked("c"), call, result, said("d"))
	c.wantHistory("r1", first...)
	c.wantHistory("r3", third...)
	c.wantHistory("r4", append(first[:2:2], asked("other"), said("branch"))...)
	c.wantHistory("r5", append(third[:6:6], said("e"))...)
	c.want(200, "DELETE", "responses/r2")
	c.want(404, "GET", "history/r2")
	c.want(404, "DELETE", "responses/r2")
	c.wantHistory("r3", third...)
	if got, want := c.want(200, "GET", "responses/r4"), strings.Replace(answer("r4", "branch"), "null", `"r1"`, 1); got != want {
		t.Errorf("response: got %s, want %s", got, want)
	}
	if got := c.store("r9", `"x"`, answer("r6", "y")); got != 409 {
		t.Errorf("a turn after one that never was: got %d, want 409", got)
	}
	c.want(200, "DELETE", "responses/r1") // while a turn goes on with it
	if got := c.store("r1", `"x"`, answer("r7", "y")); got != 204 {
		t.Errorf("a turn after one that was deleted meanwhile: got %d, want 204", got)
	}
	c.wantHistory("r7", append(first[:2:2], asked("x"), said("y"))...)
}

func TestRefusedTurns(t *testing.T) {
	c := open(t, memoryOf(100, 400))
	tests := []struct {
		name, input, answer string
		status              int
	}{
		{"in progress", `"a"`, strings.Replace(answer("r", "b"), "completed", "in_progress", 1), 400},
		{"failed", `"a"`, strings.Replace(answer("r", "b"), "completed", "failed", 1), 400},
		{"incomplete", `"a"`, strings.Replace(answer("r", "b"), "completed", "incomplete", 1), 204},
		{"cut", `"a"`, answer("r", "b")[:40], 400},
		{"an error", `"a"`, `{"error":{"message":"no"}}`, 400},
		{"without an id", `"a"`, answer("", "b"), 400},
		{"with an id that fits no path", `"a"`, answer("a/b", "b"), 400},
		{"input cut", `["a"`, answer("r", "b"), 400},
		{"oversized", `"` + strings.Repeat("a", 400) + `"`, answer("r", "b"), 413},
		{"far too large", `"` + strings.Repeat("a", 2<<20) + `"`, answer("r", "b"), 413},
	}
	for _, test := range tests {
		if got := c.store("", test.input, test.answer); got != test.status {
			t.Errorf("%s: got %d, want %d", test.name, got, test.status)
		}
	}
	if got, _ := c.do("POST", "turns", "{}", "X-Pintle-Input", "9"); got != 400 {
		t.Errorf("a length beyond the body: got %d, want 400", got)
	}
	if got, _ := c.do("GET", "history/r", "", "Authorization", "Bearer tokem"); got != 401 {
		t.Errorf("another token: got %d, want 401", got)
	}
}

func TestTenants(t *testing.T) {
	c := open(t, memoryOf(100, 1<<20))
	c.tenant = "a"
	c.store("", `"x"`, answer("r1", "y"))
	c.tenant = "b"
	c.want(404, "GET", "responses/r1")
	c.want(404, "DELETE", "responses/r1")
	c.tenant = "a"
	c.want(200, "GET", "responses/r1")
}

func TestLimits(t *testing.T) {
	c := open(t, memoryOf(3, 1<<20))
	m := c.s.backend.(*memory)
	clock := time.Now()
	m.now = func() time.Time { return clock }
	for i := 1; i <= 3; i++ {
		c.store("", `"x"`, answer("r"+strconv.Itoa(i), "y"))
	}
	c.want(200, "GET", "responses/r1")
	c.store("", `"x"`, answer("r4", "y"))
	c.want(404, "GET", "responses/r2")
	c.want(200, "GET", "responses/r1")
	clock = clock.Add(2 * time.Hour)
	m.sweep()
	if entries, bytes := m.size(); entries != 0 || bytes != 0 {
		t.Errorf("after the ttl: got %d entries of %d bytes, want none", entries, bytes)
	}
	c.want(404, "GET", "responses/r1")
}

// TestPieces: an entry in memory is what it was, whatever its length.
func TestPieces(t *testing.T) {
	for _, length := range []int{0, 1, 511, 512, 513, 1023, 16383, 16384, 16385, 40_000} {
		for _, input := range []int{0, length / 3, length} {
			e := &Entry{ID: "r:x", Tenant: "t", Previous: "p", Expires: time.UnixMilli(5),
				Before: bytes.Repeat([]byte("b"), length-input), Input: bytes.Repeat([]byte("i"), input),
				Response: bytes.Repeat([]byte("r"), length)}
			n := newNode(e, nil)
			if got := n.whole(); !bytes.Equal(got.encode(nil), e.encode(nil)) || n.bytes() != int64(e.Size()) {
				t.Errorf("%d and %d bytes: got %+v, want %+v", length, input, got, e)
			}
			for _, piece := range n.pieces {
				if cap(piece) > len(piece) {
					t.Errorf("%d bytes: a piece of %d has room for %d", length, len(piece), cap(piece))
				}
			}
		}
	}
}

// A client's next turn may come before the last one is stored.
func TestLateTurn(t *testing.T) {
	c := open(t, memoryOf(3, 1<<20))
	c.s.grace = time.Minute
	asking := make(chan struct{})
	go func() {
		<-asking
		c.store("", `"a"`, answer("r1", "b"))
	}()
	close(asking)
	c.wantHistory("r1", asked("a"), said("b"))
}

func TestInputItems(t *testing.T) {
	c := open(t, memoryOf(100, 1<<20))
	c.store("", `"a"`, answer("r1", "b"))
	c.store("r1", `[{"role":"user","content":[{"type":"input_text","text":"c"}]},{"type":"item_reference","id":"m"}]`,
		answer("r2", "d"))
	const path = "responses/r2/input_items"
	var list struct {
		Object, First_id, Last_id string
		Has_more                  bool
		Data                      []struct {
			ID, Type, Role string
			Content        []struct{ Type, Text string }
		}
	}
	read := func(query string) string {
		list.Data = nil
		if err := json.Unmarshal([]byte(c.want(200, "GET", path+query)), &list); err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, item := range list.Data {
			text += item.Type + "/" + item.Role
			for _, part := range item.Content {
				text += "/" + part.Type + "=" + part.Text
			}
			text += " "
		}
		return text + strconv.FormatBool(list.Has_more)
	}
	const a, b, last = "message/user/input_text=a ", "message/assistant/output_text=b ", "message/user/input_text=c "
	if got, want := read("?order=asc"), a+b+last+"item_reference/ false"; got != want {
		t.Errorf("in order: got %q, want %q", got, want)
	}
	if got, want := read(""), "item_reference/ "+last+b+a+"false"; got != want {
		t.Errorf("by default: got %q, want %q", got, want)
	}
	if got, want := read("?order=asc&limit=2"), a+b+"true"; got != want {
		t.Errorf("a page: got %q, want %q", got, want)
	}
	if got, want := read("?order=asc&limit=2&after="+list.Last_id), last+"item_reference/ false"; got != want {
		t.Errorf("the next page: got %q, want %q", got, want)
	}
	if got, want := read("?order=asc&limit=4"), a+b+last+"item_reference/ false"; got != want {
		t.Errorf("a page of all: got %q, want %q", got, want)
	}
	const none = `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`
	if got := c.want(200, "GET", path+"?order=asc&limit=100&after="+list.Last_id); got != none {
		t.Errorf("behind the last: got %s, want %s", got, none)
	}
	c.want(404, "GET", "responses/r9/input_items")
	c.store("", `[{}]`, answer("r3", "b"))
	const bare = `"data":[{"id":"item_r3_0"}]`
	if got := c.want(200, "GET", "responses/r3/input_items"); !strings.Contains(got, bare) {
		t.Errorf("an item without members: got %s, want %s", got, bare)
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=x", "?order=up", "?after=nobody"} {
		c.want(400, "GET", path+query)
	}
}

func TestFileSurvives(t *testing.T) {
	config := memoryOf(100, 1<<20)
	config.Memory.File = filepath.Join(t.TempDir(), "responses")
	c := open(t, config)
	c.store("", `"a"`, answer("r1", "b"))
	c.store("r1", `"c"`, answer("r2", "d"))
	c.store("r2", `"e"`, answer("r3", "f"))
	c.want(200, "DELETE", "responses/r1")
	c.store("", `"g"`, answer("r4", "h"))
	history := []string{asked("a"), said("b"), asked("c"), said("d"), asked("e"), said("f")}
	for round := range 3 { // killed: nothing is closed
		c = open(t, config)
		c.wantHistory("r3", history...)
		c.wantHistory("r2", history[:4]...)
		c.wantHistory("r4", asked("g"), said("h"))
		c.want(404, "GET", "responses/r1")
		if round == 1 {
			m := c.s.backend.(*memory)
			m.mu.Lock()
			if err := m.journal.rewrite(m); err != nil {
				t.Error(err)
			}
			_, err := m.journal.file.Write([]byte("torn"))
			m.mu.Unlock()
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	e := &Entry{ID: "r", Tenant: "t", Previous: "p", Expires: time.UnixMilli(5), Before: []byte("1"),
		Input: []byte("2"), Response: []byte("{}")}
	f.Add(e.encode(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(e.encode(nil))
		if err != nil || again.Key() != e.Key() || !bytes.Equal(again.Items(), e.Items()) ||
			!again.Expires.Equal(e.Expires) {
			t.Errorf("%x: got %+v, %v, want %+v", b, again, err, e)
		}
	})
}

// FuzzTurn: whatever comes as a turn, what is stored of it is JSON.
func FuzzTurn(f *testing.F) {
	f.Add([]byte(`"a"`), []byte(answer("r", "b")), "p")
	f.Add([]byte(`[]`),
		[]byte(`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`), "")
	f.Fuzz(func(t *testing.T, input, body []byte, previous string) {
		if !isID(previous) {
			previous = ""
		}
		e, err := newEntry(input, body, previous)
		if err != nil {
			return
		}
		if !json.Valid(e.Response) || !json.Valid([]byte("["+string(e.Input)+"]")) && e.Input != nil &&
			json.Valid(input) && json.Valid(body) {
			t.Errorf("%q and %q: got %q and %q", input, body, e.Input, e.Response)
		}
	})
}

var _ http.Handler = (*Service)(nil)
