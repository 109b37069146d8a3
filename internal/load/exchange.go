package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// Sample is what became of one request.
type Sample struct {
	// Class is the request's.
	Class string
	// Start is when the request was due, counted from the start of the run.
	Start time.Duration
	// TTFT is the time to the first event with content, or to the whole answer when it is not a stream. 0 if none came.
	TTFT time.Duration
	// TPOT is the time per output token after the first. 0 when there was at most one.
	TPOT time.Duration
	// Latency is the time to the end of the answer.
	Latency time.Duration
	// Status is the HTTP status, 0 if there was none.
	Status int
	// Server is the answer's x-sim-server header.
	Server string
	// PromptTokens, CachedTokens and OutputTokens are the answer's usage. Without one, OutputTokens counts events with
	// content.
	PromptTokens, CachedTokens, OutputTokens int
	// Err is why the exchange failed, or empty. A status other than 200 is a failure.
	Err string
}

// OK reports whether the answer came whole.
func (s *Sample) OK() bool { return s.Err == "" }

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 16<<10) }}

// exchange sends a request and reads its answer, of which the stream's events may be chat completions or completions.
func (r *run) exchange(ctx context.Context, q *Request, due time.Time) Sample {
	s := Sample{Class: q.Class, Start: due.Sub(r.start)}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.target, bytes.NewReader(q.Body))
	if err != nil {
		s.Err = err.Error()
		return s
	}
	request.Header.Set("Content-Type", "application/json")
	for _, header := range []http.Header{r.config.Header, q.Header} {
		for name, values := range header {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	response, err := r.client.Do(request)
	if err != nil {
		s.fail(err)
		s.Latency = time.Since(due)
		return s
	}
	defer response.Body.Close()
	s.Status, s.Server = response.StatusCode, response.Header.Get("X-Sim-Server")
	switch {
	case s.Status != http.StatusOK:
		_, _ = io.Copy(io.Discard, response.Body)
		s.Err = response.Status
	case strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream"):
		s.readStream(response.Body, due)
	default:
		s.readWhole(response.Body, due)
	}
	s.Latency = time.Since(due)
	return s
}

// fail keeps the innermost error: what wraps it names addresses and would make every error its own.
func (s *Sample) fail(err error) {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	s.Err = err.Error()
}

func (s *Sample) readWhole(body io.Reader, due time.Time) {
	b, err := io.ReadAll(body)
	if err != nil {
		s.fail(err)
		return
	}
	s.TTFT = time.Since(due)
	s.readUsage(b)
}

var (
	dataPrefix  = []byte("data: ")
	contentKey  = []byte(`"content":"`)
	toolKey     = []byte(`"tool_calls":[{`)
	textKey     = []byte(`"text":"`)
	usageObject = []byte(`"usage":{`)
	doneEvent   = []byte("[DONE]")
	errorKey    = []byte(`{"error":`)
)

// readStream looks for a few byte strings instead of parsing each event: the client shares the machine with what it
// measures.
func (s *Sample) readStream(body io.Reader, due time.Time) {
	reader := readers.Get().(*bufio.Reader)
	reader.Reset(body)
	defer func() {
		reader.Reset(nil)
		readers.Put(reader)
	}()
	var last time.Time
	done := false
	for {
		line, err := readLine(reader)
		if err == io.EOF {
			break
		}
		if err != nil {
			s.fail(err)
			return
		}
		event, ok := bytes.CutPrefix(line, dataPrefix)
		switch {
		case !ok:
		case bytes.HasPrefix(event, doneEvent):
			done = true
		case bytes.HasPrefix(event, errorKey) && gjson.GetBytes(event, "error").Type != gjson.Null:
			s.Err = "stream has an error event" // behind which vLLM sends [DONE] all the same
		case bytes.Contains(event, usageObject):
			s.readUsage(event)
		case hasContent(event):
			last = time.Now()
			if s.TTFT == 0 {
				s.TTFT = last.Sub(due)
			}
			s.OutputTokens++
		}
	}
	switch {
	case s.Err != "":
	case !done:
		s.Err = "stream ended without [DONE]"
	case s.OutputTokens > 1:
		s.TPOT = (last.Sub(due) - s.TTFT) / time.Duration(s.OutputTokens-1)
	}
}

// readLine returns a line that is valid until the next call; a line longer than the buffer is joined.
func readLine(reader *bufio.Reader) ([]byte, error) {
	line, err := reader.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	joined := bytes.Clone(line)
	rest, err := reader.ReadBytes('\n')
	return append(joined, rest...), err
}

// hasContent reports whether an event carries some of the answer, not only a role or an end.
func hasContent(event []byte) bool {
	for _, key := range [][]byte{contentKey, textKey} {
		if _, value, ok := bytes.Cut(event, key); ok && len(value) > 0 && value[0] != '"' {
			return true
		}
	}
	return bytes.Contains(event, toolKey)
}

func (s *Sample) readUsage(b []byte) {
	usage := gjson.GetBytes(b, "usage")
	s.PromptTokens = int(usage.Get("prompt_tokens").Int())
	s.OutputTokens = int(usage.Get("completion_tokens").Int())
	s.CachedTokens = int(usage.Get("prompt_tokens_details.cached_tokens").Int())
}
