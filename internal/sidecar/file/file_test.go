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

// TestOnce: a file that is read once is told of once, whatever becomes of it. One that cannot be read then, as it is
// just being replaced, is told of when it can: Envoys hear of no server before.
func TestOnce(t *testing.T) {
	const there, later, broken = "there", "there later", "broken"
	for _, test := range []struct {
		name  string
		first string // what the file holds at the start, empty for no file
		want  []string
	}{
		{"there", there, []string{there}},
		{"not there", "", []string{"fails", later}},
		{"broken", broken, []string{"fails", later}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "endpoints.yaml")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.first != "" {
				write(test.first)
			}
			synctest.Test(t, func(t *testing.T) {
				d := &Discovery{Path: path, Once: true, Parse: func(content []byte) (topology.Part, error) {
					if string(content) == broken {
						return topology.Part{}, errors.New("broken")
					}
					return topology.Part{Pools: []string{string(content)}}, nil
				}}
				var told []string
				go d.Run(t.Context(), func(part topology.Part, err error) {
					if err != nil {
						part.Pools = []string{"fails"}
					}
					told = append(told, part.Pools...)
				})
				synctest.Wait()
				for _, text := range []string{later, "changed"} {
					write(text)
					time.Sleep(10 * watchPeriod)
				}
				synctest.Wait()
				if !reflect.DeepEqual(told, test.want) {
					t.Errorf("told %q, want %q", told, test.want)
				}
			})
		})
	}
}
