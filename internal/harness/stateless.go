package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// stateless is a model server without memory. It answers with the items that it got, and refuses previous_response_id,
// as engines do that have not given the response themselves. A stream after "break off" breaks off in its last event.
type stateless struct {
	name  string
	count *atomic.Int64
}

// StartStateless starts model servers without memory, which end with the test. Their responses' metadata are "seen",
// the input that the server got, and "server", its name.
func StartStateless(t testing.TB, names ...string) (all []Endpoint) {
	t.Helper()
	count := &atomic.Int64{}
	for _, name := range names {
		server := httptest.NewServer(stateless{name, count})
		t.Cleanup(server.Close)
		all = append(all, Endpoint{Name: name, Address: server.Listener.Addr().String()})
	}
	return all
}

func (s stateless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Input        json.RawMessage
		Instructions *string
		Stream       bool
		Previous     *string `json:"previous_response_id"`
		Tools        []any
	}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &request); err != nil || request.Previous != nil {
		http.Error(w, `{"error":{"message":"Response not found.","code":404}}`, http.StatusNotFound)
		return
	}
	w.Header().Set("X-Sim-Server", s.name)
	n := s.count.Add(1)
	text := map[string]any{"type": "output_text", "text": fmt.Sprintf("answer %d", n), "annotations": []any{},
		"logprobs": nil}
	output := map[string]any{"type": "message", "id": fmt.Sprintf("msg_%d", n), "role": "assistant",
		"status": "completed", "content": []any{text}}
	if len(request.Tools) > 0 && !strings.Contains(string(request.Input), "function_call_output") {
		output = map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d", n),
			"call_id": fmt.Sprintf("call_%d", n), "name": "weather", "arguments": "{}", "status": "completed"}
	}
	answer := map[string]any{
		"id": fmt.Sprintf("resp_%s_%d", s.name, n), "object": "response", "created_at": 1, "model": "m",
		"status": "completed", "instructions": request.Instructions, "previous_response_id": nil,
		"parallel_tool_calls": true, "tools": []any{}, "tool_choice": "auto", "output": []any{output},
		"metadata": map[string]string{"seen": string(request.Input), "server": s.name},
	}
	if !request.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	s.stream(w, answer, string(request.Input) == `"break off"`)
}

func (s stateless) stream(w http.ResponseWriter, answer map[string]any, breakOff bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i, kind := range []string{"response.created", "response.in_progress", "response.completed"} {
		text, _ := json.Marshal(map[string]any{"type": kind, "sequence_number": i, "response": answer})
		event := fmt.Sprintf("event: %s\ndata: %s\n\n", kind, text)
		if breakOff && i == 2 {
			event = event[:len(event)-3]
		}
		_, _ = io.WriteString(w, event)
		_ = http.NewResponseController(w).Flush()
	}
	if breakOff {
		panic(http.ErrAbortHandler)
	}
}
