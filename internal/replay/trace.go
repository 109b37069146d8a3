package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/recording"
)

// Trace is what was recorded, or what somebody published.
type Trace struct {
	// Format says what the file was.
	Format   string
	Requests []Request
	// Servers is the number of servers in a recording, 0 where the trace does not tell.
	Servers int
	// Endpoints are a recording's servers by name.
	Endpoints []string
	// Missed is how many events a recording lacks, Damaged how many places of it cannot be read, Unended how many
	// requests had not ended.
	Missed, Damaged, Unended int
	// Failed counts a recording's requests that were refused or failed, by reason. They are not among Requests.
	Failed map[string]int
	// Note is what the user should know of how it was read, empty for nothing.
	Note string
}

const (
	// traceModel is the model of traces that name none.
	traceModel = "model"
	// bytesPerToken is how long a token of such a trace is.
	bytesPerToken = 4
	// mooncakeBlock is the size of a block of Mooncake's traces, in tokens.
	mooncakeBlock = 512
	// mostTokens bounds a prompt or an answer.
	mostTokens = 1 << 24
)

// Read reads a trace, compressed by gzip or not, in the format that its beginning shows.
func Read(r io.Reader) (*Trace, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if start, _ := in.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	// Spreadsheets and some shells begin a text with a byte order mark.
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(len(mark))
	}
	start, err := in.Peek(len("PNTLREC") + 1)
	if len(start) == 0 && err != io.EOF {
		return nil, err
	}
	if len(start) == 0 {
		return nil, errors.New("is empty; want a recording, Mooncake's JSON lines, or Azure's CSV")
	}
	trace := &Trace{}
	switch {
	case recording.Is(start):
		trace, err = readRecording(in)
	case start[0] == '{':
		trace, err = readMooncake(in)
	case start[0] == 'T':
		trace, err = readAzure(in)
	default:
		err = errors.New("is no recording, no Mooncake trace (JSON lines) and no Azure trace (CSV that begins with " +
			"TIMESTAMP)")
	}
	if err != nil {
		return nil, err
	}
	if len(trace.Requests) == 0 {
		return nil, trace.nothing()
	}
	startAtZero(trace.Requests)
	return trace, nil
}

// nothing says why there is nothing to replay.
func (t *Trace) nothing() error {
	if lost := t.lost(); len(lost) > 0 {
		return errors.New("has no requests that were answered: " + strings.Join(lost, "; "))
	}
	return errors.New("has no requests")
}

// lost says what was recorded, or should have been, and is not among the requests.
func (t *Trace) lost() (lines []string) {
	for _, lost := range []struct {
		n    int
		what string
	}{
		{t.Missed, "events are missing in the recording"},
		{t.Damaged, "places of the recording cannot be read"},
		{t.Unended, "requests had not ended, and are left out"},
	} {
		if lost.n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s", lost.n, lost.what))
		}
	}
	if len(t.Failed) > 0 {
		lines = append(lines, "refused or failed when it was recorded, and left out: "+counts(t.Failed))
	}
	return lines
}

// startAtZero sorts requests by their times and moves them so that the first one comes at the beginning. They need not
// stand in a file in their order: a worker's event may stand in the journal behind one of another's that is a bit
// later. And a piece of a trace begins at any time.
func startAtZero(requests []Request) {
	slices.SortStableFunc(requests, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
	for i := len(requests) - 1; i >= 0; i-- {
		requests[i].At -= requests[0].At
	}
}

// readMooncake reads one JSON object a line: https://github.com/kvcache-ai/Mooncake, "FAST25-release". timestamp is in
// milliseconds; a hash_id stands for the prompt up to the end of its block of 512 tokens.
func readMooncake(in *bufio.Reader) (*Trace, error) {
	t := &Trace{Format: "Mooncake"}
	moments := map[float64]bool{}
	decoder := json.NewDecoder(in)
	for line := 1; ; line++ {
		var row struct {
			Timestamp    *float64 `json:"timestamp"`
			InputLength  *int     `json:"input_length"`
			OutputLength int      `json:"output_length"`
			HashIDs      []uint64 `json:"hash_ids"`
		}
		if err := decoder.Decode(&row); err == io.EOF {
			t.Note = crowded(len(t.Requests), len(moments))
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("request %d: %w", line, err)
		}
		if row.Timestamp == nil || *row.Timestamp < 0 {
			return nil, fmt.Errorf("request %d: timestamp is missing or below 0; want milliseconds", line)
		}
		if row.InputLength == nil {
			return nil, fmt.Errorf("request %d: input_length is missing; want the tokens of the prompt", line)
		}
		input := *row.InputLength
		if err := checkTokens(line, input, row.OutputLength); err != nil {
			return nil, err
		}
		moments[*row.Timestamp] = true
		most := (input + mooncakeBlock - 1) / mooncakeBlock
		if len(row.HashIDs) > 2*max(most, 1) { // of other traces with the same keys, which have times in seconds
			return nil, fmt.Errorf("request %d: hash_ids has %d blocks for %d tokens; want one for each %d", line,
				len(row.HashIDs), input, mooncakeBlock)
		}
		blocks := row.HashIDs[:min(len(row.HashIDs), most)]
		t.Requests = append(t.Requests, Request{
			At: *row.Timestamp / 1000, Model: traceModel, Input: input, Output: row.OutputLength,
			Stream: true,
			Prompt: Prompt{Bytes: input * bytesPerToken, UnitBytes: mooncakeBlock * bytesPerToken,
				Blocks: blocks},
		})
	}
}

// crowded is what to know of a trace whose times are rounded so coarsely that most requests share theirs.
func crowded(requests, moments int) string {
	if 2*moments > requests {
		return ""
	}
	return fmt.Sprintf("its %d requests came at %d moments; those of one moment are decided in the trace's order, "+
		"which decides much of how long they wait", requests, moments)
}

func checkTokens(line, input, output int) error {
	if input < 0 || input > mostTokens || output < 0 || output > mostTokens {
		return fmt.Errorf("request %d: %d tokens in and %d out; want 0 to %d", line, input, output, mostTokens)
	}
	return nil
}

// readAzure reads CSV with the columns TIMESTAMP, ContextTokens and GeneratedTokens:
// https://github.com/Azure/AzurePublicDataset, LLM inference traces. It tells nothing of what prompts have in common.
func readAzure(in *bufio.Reader) (*Trace, error) {
	t := &Trace{Format: "Azure",
		Note: "an Azure trace does not tell what prompts have in common: no prompt is like another"}
	rows := csv.NewReader(in)
	rows.ReuseRecord, rows.FieldsPerRecord = true, 3
	var began time.Time
	for line := 1; ; line++ {
		row, err := rows.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if line == 1 {
			if row[0] != "TIMESTAMP" || row[1] != "ContextTokens" || row[2] != "GeneratedTokens" {
				return nil, fmt.Errorf("line 1: %q; want the columns TIMESTAMP, ContextTokens, GeneratedTokens", row)
			}
			continue
		}
		at, err := azureTime(row[0])
		input, err1 := strconv.Atoi(row[1])
		output, err2 := strconv.Atoi(row[2])
		if err := errors.Join(err, err1, err2, checkTokens(line-1, input, output)); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if began.IsZero() {
			began = at
		}
		t.Requests = append(t.Requests, Request{
			At: at.Sub(began).Seconds(), Model: traceModel, Input: input, Output: output, Stream: true,
			Prompt: uniquePrompt(uint64(line), input),
		})
	}
}

// azureTime reads a time, which traces of 2023 write without a zone and those of 2024 with one.
func azureTime(text string) (time.Time, error) {
	if at, err := time.Parse("2006-01-02 15:04:05Z07:00", text); err == nil {
		return at, nil
	}
	return time.Parse("2006-01-02 15:04:05", text)
}

// uniquePrompt is a prompt of which no other has any part.
func uniquePrompt(seed uint64, tokens int) Prompt {
	p := Prompt{Bytes: tokens * bytesPerToken, UnitBytes: mooncakeBlock * bytesPerToken}
	for i := range (tokens + mooncakeBlock - 1) / mooncakeBlock {
		p.Blocks = append(p.Blocks, mix(seed<<20+uint64(i)))
	}
	return p
}
