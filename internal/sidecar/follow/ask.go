package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
)

// notRead says what an answer is that is not one of a journal as it is read here.
func notRead(text []byte) string {
	if len(text) > 3 && string(text[:3]) == "PNF" {
		return fmt.Sprintf("the filter tells its journal in version %d of the format, which this pintle does not "+
			"read: use one of the filter's release", text[3])
	}
	return fmt.Sprintf("the answer of %d bytes is none of a journal", len(text))
}

// question is the query to ask by, and the position that is kept once it is answered: a question without an answer may
// not have been heard.
func (f *Follower) question() (query string, kept journal.Position) {
	query, kept = "?at="+positionText(f.reader.At()), f.kept
	if f.keeps() {
		kept = f.Keep()
		query += "&keep=" + positionText(kept)
	}
	if f.Sample >= 0 {
		query += "&sample=" + strconv.Itoa(int(f.Sample*1e6+0.5))
	}
	return query, kept
}

func positionText(p journal.Position) string {
	return fmt.Sprintf("%d.%d.%d.%d", p.Epoch, p.Page, p.Seq, p.Offset)
}

// errRefused is an answer that asking again does not change.
var errRefused = errors.New("refused")

// get asks the ingest listener for a path beside that of snapshots. The answer lies in buffer.
func (f *Follower) get(ctx context.Context, path string, buffer *bytes.Buffer) ([]byte, error) {
	request, err := f.Ingest.Request(ctx, http.MethodGet, path, f.Token(), nil)
	if err != nil {
		return nil, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	buffer.Reset()
	_, err = buffer.ReadFrom(io.LimitReader(response.Body, maxAnswerBytes))
	text := buffer.Bytes()
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil,
			fmt.Errorf("the ingest listener answered 404: it lacks the plug-in with this port or socket as its "+
				"ingest, or its filter is of a version that cannot be followed: %w", errRefused)
	case response.StatusCode >= 500:
		return nil, fmt.Errorf("the ingest listener answered %s", response.Status)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the ingest listener answered %s: %s: %w", response.Status, pool.OneLine(string(text)),
			errRefused)
	}
	return text, nil
}
