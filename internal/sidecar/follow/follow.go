// Package follow reads the journals of Envoys from outside: every decision, every outcome and every refusal, in their
// order, without being on a request's way.
//
// A Follower asks one Envoy at its ingest listener, again and again, for what is new, and passes it on to a Sink:
//
//	f := &follow.Follower{Ingest: ingest, Token: token, Interval: 250 * time.Millisecond, Sink: sink, Log: log}
//	f.Run(ctx)
//
// It goes on where it was when either side is started anew. What it could not read, because it came too late or because
// the log was damaged, it counts, and passes on as an event of the kind journal.Missed. When Envoy has been started
// anew, the instances of the former process are passed on as journal.Gone. Names are fetched before the first event
// that needs them.
//
// Events of other processes that an Envoy was told of are passed over: whoever follows those gets them there. With
// Others set they are passed on, with Relayed set.
//
// A Follower with Keep has Envoy keep the position that Keep returns, for the next process: the events before it come
// with Old set, those behind it are new. There is one such position in an Envoy; it is the sidecar's. Other followers
// leave Keep nil, and give From to go on somewhere.
package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
)

// Event is an event as a Sink gets it.
type Event struct {
	*journal.Event
	// Envoy is the name of the ingest listener that it came from, At where it stands in the log there.
	Envoy string
	At    journal.Position
	// Names has the names behind its hashes.
	Names *Names
	// Old is an event that a former process with the same Keep has counted.
	Old bool
}

// Sink takes events.
type Sink interface {
	// Take takes the next event of an Envoy. It is valid during the call.
	Take(e *Event)
	// Caught is told that all events before a position of an Envoy have been taken, after each answer that had any.
	Caught(envoy string, at journal.Position)
}

const (
	defaultInterval = 250 * time.Millisecond
	askTimeout      = 2 * time.Second
	firstBackoff    = 50 * time.Millisecond
	maxBackoff      = time.Second
	// refusedPause is the wait after an answer that asking again does not change, such as that of a filter which knows
	// no followers.
	refusedPause = 5 * time.Second
	// maxAnswerBytes bounds an answer. The longest is the one with the names and the topology.
	maxAnswerBytes = 16 << 20
)

// Follower follows one Envoy. What is exported is to be set before Run.
type Follower struct {
	Ingest config.Ingest
	// Token returns the bearer token of the ingest listener.
	Token func() string
	// Interval is how often it asks when there is little new; 0 is 250 ms.
	Interval time.Duration
	// Sample asks for the steps of this share of the decisions, 0 to 1; below 0 leaves that to others.
	Sample float64
	// Signs asks for events of the kind Alive, too.
	Signs bool
	// Others passes on events of other processes, too.
	Others bool
	// Keep returns the position to keep for the next process; nil keeps none.
	Keep func() journal.Position
	// From is where to begin, the zero value the oldest event that there is.
	From journal.Position
	Sink Sink
	// Full reports that Sink is to get no more for now: then nothing is asked, nor brought back along the way. nil is
	// never. What else Sink gets is the rest of an answer.
	Full func() bool
	Log  *slog.Logger
	// Overhearer is another one of the same Envoy that is to ask less: it gets each answer, before Sink.
	Overhearer *Follower

	// asking is held while the Envoy is asked; it guards what follows. asked is when it last was, zero before Run;
	// ridden says that it was by Ride. overheard is when it last got an answer of another follower.
	asking    sync.Mutex
	asked     time.Time
	ridden    bool
	overheard time.Time
	client    *http.Client
	answer    bytes.Buffer
	reader    journal.Follower
	names     uint32
	topology  uint64
	named     uint64           // the epoch of the log that they were fetched for
	kept      journal.Position // by the former process, or that was kept last
	instances Instances
	table     Names
	// refused says that the log has an answer since the last good one that asking again does not change.
	refused bool

	mu    sync.Mutex
	state State
}

// State is how a Follower and its Envoy stand.
type State struct {
	// Answered is when the Envoy last answered; zero before the first time.
	Answered time.Time
	journal.FollowerStats
	// At is where it stands in the log.
	At journal.Position
	// Failure is why the last question failed; empty after an answered one.
	Failure string
}

// Now returns how things stand.
func (f *Follower) Now() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Names returns what the hashes of this Envoy's events stand for. It may be asked at any time.
func (f *Follower) Names() *Names { return &f.table }

// Run follows until ctx ends, and then has the last position kept.
func (f *Follower) Run(ctx context.Context) {
	if f.Interval == 0 {
		f.Interval = defaultInterval
	}
	f.asking.Lock()
	f.instances = Instances{}
	f.reader.Signs = f.Signs
	f.reader.Resume(f.From)
	f.client = &http.Client{Transport: f.Ingest.Transport(), Timeout: askTimeout}
	defer f.client.CloseIdleConnections()
	f.asking.Unlock()
	failures := 0
	for ctx.Err() == nil {
		wait, more, err := f.askWhenDue(ctx)
		if ctx.Err() != nil {
			break
		}
		switch {
		case err == nil && more:
			failures = 0
		case err == nil:
			failures = 0
			pace.Sleep(ctx, wait)
		case errors.Is(err, errRefused):
			pace.Sleep(ctx, refusedPause)
		default:
			failures++
			pace.Sleep(ctx, pace.Jitter(pace.Backoff(firstBackoff, failures, maxBackoff)))
		}
	}
	if f.Keep != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout/4)
		defer cancel()
		f.asking.Lock()
		defer f.asking.Unlock()
		query, _ := f.question()
		_, _ = f.get(last, journalPath+query, &f.answer) // nobody is left to be told
	}
}

// askWhenDue asks, unless Ride has done so since. It returns how long to wait then.
func (f *Follower) askWhenDue(ctx context.Context) (wait time.Duration, more bool, err error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	if wait = time.Until(f.due()); wait > 0 {
		return wait, false, nil
	}
	if f.full() {
		return f.Interval, false, nil
	}
	f.asked, f.ridden = time.Now(), false
	query, kept := f.question()
	text, err := f.get(ctx, journalPath+query, &f.answer)
	if err == nil {
		f.kept = kept
		more, err = f.pass(ctx, text)
	}
	if ctx.Err() == nil {
		f.note(err)
	}
	wait = time.Until(f.due())
	if more || err != nil {
		f.asked = time.Time{} // the next time is due, whenever that is
	}
	return wait, more, err
}

// Ride has something else that is sent to the ingest listener bring back what is new in the journal, so that Run asks
// less: send is given the query to send it with, and returns what an Envoy answers to it at the path of journals, nil
// for nothing. Ride returns the error of send; ctx is that of Run.
func (f *Follower) Ride(ctx context.Context, send func(query string) (answer []byte, err error)) error {
	f.asking.Lock()
	defer f.asking.Unlock()
	if f.client == nil || f.full() { // Run has yet to begin, or there is no room for an answer
		_, err := send("")
		return err
	}
	began := time.Now()
	query, kept := f.question()
	text, err := send(query)
	if err != nil || len(text) == 0 {
		return err
	}
	f.asked, f.ridden, f.kept = began, true, kept
	_, err = f.pass(ctx, text)
	if ctx.Err() == nil {
		f.note(err)
	}
	return nil
}

func (f *Follower) full() bool { return f.Full != nil && f.Full() }

// pass passes on what is new in an answer. more says that there is more to be had at once.
func (f *Follower) pass(ctx context.Context, text []byte) (more bool, err error) {
	a, ok := journal.ParseAnswer(text)
	if !ok {
		return false, fmt.Errorf("%s: %w", notRead(text), errRefused)
	}
	before := f.reader.At()
	if f.Overhearer != nil {
		f.Overhearer.overhear(ctx, text, before)
	}
	// A process that has just begun has no log yet, and may have none for long.
	if a.Names != f.names || a.Topology != f.topology || a.Epoch != f.named {
		if err := f.fetchNames(ctx); err != nil {
			return false, err
		}
		f.names, f.topology, f.named = a.Names, a.Topology, a.Epoch
	}
	if before.Epoch != a.Epoch {
		f.leave(before)
	}
	if f.kept.Epoch != a.Epoch {
		f.kept = a.Kept
	}
	if f.Keep != nil {
		f.reader.Since(f.kept)
	}
	event := Event{Envoy: f.Ingest.Name, Names: &f.table}
	f.reader.Read(&a, func(e *journal.Event, at journal.Position) {
		if e.Relayed && !f.Others {
			return
		}
		event.Event, event.At = e, at
		event.Old = f.Keep != nil && at.Epoch == f.kept.Epoch && at.Seq < f.kept.Seq
		if e.Kind == journal.Decision && !e.Relayed {
			f.instances.Note(e.Instance)
		}
		f.Sink.Take(&event)
	})
	after := f.reader.At()
	if after != before {
		f.Sink.Caught(f.Ingest.Name, after)
	}
	return a.More && after != before, nil
}

// leave passes on that the instances of the former process are gone.
func (f *Follower) leave(at journal.Position) {
	for instance := range f.instances {
		gone := journal.Event{Kind: journal.Gone, Time: time.Now().UnixNano(), Instance: instance}
		f.Sink.Take(&Event{Event: &gone, Envoy: f.Ingest.Name, At: at, Names: &f.table})
	}
	clear(f.instances)
}

const (
	journalPath = "/journal"
	namesPath   = "/names"
)

// note keeps what became of a question, and logs when that changes: an Envoy that is not there yet may come to refuse,
// for which there is something to do.
func (f *Follower) note(err error) {
	f.mu.Lock()
	was := f.state.Failure
	f.state.FollowerStats, f.state.At, f.state.Failure = f.reader.Stats(), f.reader.At(), ""
	if err == nil {
		f.state.Answered = time.Now()
	} else {
		f.state.Failure = pool.OneLine(err.Error())
	}
	failure := f.state.Failure
	f.mu.Unlock()
	refuses := errors.Is(err, errRefused)
	begins := refuses && !f.refused
	f.refused = refuses || f.refused && err != nil
	switch {
	case failure != "" && was == "" || begins:
		f.Log.Warn("the journal cannot be followed", "target", f.Ingest.Name, "error", failure)
	case failure == "" && was != "":
		f.Log.Info("the journal is followed again", "target", f.Ingest.Name)
	}
}
