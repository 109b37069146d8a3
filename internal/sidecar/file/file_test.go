package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// A file that is being written looks different at every read. It counts once two reads in a row agree.
func TestHalfWrittenFilesAreNotReported(t *testing.T) {
	tests := []struct {
		name  string
		reads []string // the first at the start, then one for each tick; those that begin with ! are failures
		want  []string
	}{
		{"no change", []string{"a", "a", "a"}, []string{"a"}},
		{"a change", []string{"a", "b", "b"}, []string{"a", "b"}},
		{"half written", []string{"a", "", "b1", "b12", "b12", "b12"}, []string{"a", "b12"}},
		{"written and back", []string{"a", "b", "a", "a"}, []string{"a"}},
		{"gone for a moment", []string{"a", "!gone", "b", "b"}, []string{"a", "b"}},
		{"gone", []string{"a", "!gone", "!gone", "!gone", "a", "a"}, []string{"a", "!gone", "a"}},
		{"not there at the start", []string{"!gone", "a", "a"}, []string{"!gone", "a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ticks := make(chan time.Time)
			n := 0
			read := func() state {
				s := test.reads[n]
				n++
				if s[:min(1, len(s))] == "!" {
					return state{err: s}
				}
				return state{content: s}
			}
			var got []string
			done := make(chan struct{})
			go func() {
				defer close(done)
				watch(ctx, read, ticks, func(content []byte, err error) {
					if err != nil {
						content = []byte(err.Error())
					}
					got = append(got, string(content))
				})
			}()
			for range len(test.reads) - 1 {
				ticks <- time.Time{}
			}
			cancel()
			<-done
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoints.yaml")
	if err := os.WriteFile(path, []byte("good"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &Discovery{Path: path, Parse: func(content []byte) (topology.Part, error) {
		if string(content) != "good" {
			return topology.Part{}, errors.New("broken")
		}
		return topology.Part{Endpoints: []topology.Endpoint{{}}}, nil
	}}
	type told struct {
		endpoints int
		err       string
	}
	emitted := make(chan told, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx, func(part topology.Part, err error) {
			text := ""
			if err != nil {
				text = err.Error()
			}
			emitted <- told{len(part.Endpoints), text}
		})
	}()
	if got, want := <-emitted, (told{1, ""}); got != want {
		t.Errorf("at first: got %+v, want %+v", got, want)
	}
	if err := os.WriteFile(path, []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := <-emitted, (told{0, "broken"}); got != want {
		t.Errorf("after a change: got %+v, want %+v", got, want)
	}
	cancel()
	<-done
	if d.Name() != path {
		t.Errorf("name: got %q, want %q", d.Name(), path)
	}
}

// TestOnce: a file that is read once is told of once, whatever becomes of it, with why it cannot be read if it cannot.
func TestOnce(t *testing.T) {
	folder := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := filepath.Join(folder, "endpoints.yaml")
	write(there, "good")
	for _, test := range []struct {
		name, path string
		endpoints  int
		fails      bool
	}{
		{"there", there, len("good"), false},
		{"not there", filepath.Join(folder, "none.yaml"), 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &Discovery{Path: test.path, Once: true, Parse: func(content []byte) (topology.Part, error) {
					return topology.Part{Endpoints: make([]topology.Endpoint, len(content))}, nil
				}}
				told := 0
				go d.Run(t.Context(), func(part topology.Part, err error) {
					told++
					if len(part.Endpoints) != test.endpoints || (err != nil) != test.fails {
						t.Errorf("got %d endpoints, %v, want %d, and an error %v", len(part.Endpoints), err,
							test.endpoints, test.fails)
					}
				})
				synctest.Wait()
				write(test.path, "changed")
				time.Sleep(10 * watchPeriod)
				synctest.Wait()
				if told != 1 {
					t.Errorf("told %d times, want once", told)
				}
			})
		})
	}
}
