package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestUnaskedAnswersAreNotLogged: that a server sent more than it was asked for is logged, what it sent is not; and all
// else is as it was.
func TestUnaskedAnswersAreNotLogged(t *testing.T) {
	var out harness.Log
	before := log.Writer()
	log.SetOutput(unquoted{&out})
	defer log.SetOutput(before)
	read, end := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		<-read
		_, _ = io.WriteString(connection, "unspeakable")
		<-end
	}))
	defer server.Close()
	defer close(end)
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	close(read)
	harness.WaitFor(t, time.Minute, "the log to say it", func() (bool, string) {
		return strings.Contains(out.String(), "Unsolicited response"), out.String()
	})
	log.Print("plain")
	if got := out.String(); strings.Contains(got, "unspeakable") || strings.Count(got, "\n") != 2 ||
		!strings.HasSuffix(got, " plain\n") {
		t.Errorf("logged is %q", got)
	}
}
