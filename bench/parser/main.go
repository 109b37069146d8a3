package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/openai"
)

type options struct {
	bodies int
	seed   uint64
}

func main() { stack.Main("parser", parseFlags, run) }

func parseFlags(args []string) (o options, err error) {
	f := flag.NewFlagSet("parser", flag.ContinueOnError)
	f.IntVar(&o.bodies, "bodies", 2_000_000, "how many bodies to compare")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the bodies")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.bodies < 1 {
		return o, errors.New("want no arguments, and -bodies of 1 or more")
	}
	return o, nil
}

//go:embed reference.py
var script string

// mostDifferences ends the comparison, with the batch that it is reached in. No more are shown.
const mostDifferences = 10

func run(ctx context.Context, o options) error {
	began := time.Now()
	refused, differences, err := compare(ctx, o, os.Stdout)
	if err != nil {
		return err
	}
	fmt.Printf("%d bodies, seed %d: %d refused by both, %d differences, %v\n", o.bodies, o.seed, refused, differences,
		time.Since(began).Round(time.Second))
	if differences > 0 {
		return fmt.Errorf("%d bodies are read differently", differences)
	}
	return nil
}

// batch is how many bodies Python is sent before its answers are read.
const batch = 2000

// compare writes every difference to out.
func compare(ctx context.Context, o options, out io.Writer) (refused, differences int, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	python := exec.CommandContext(ctx, "python3", "-c", script)
	python.Stderr = os.Stderr
	in, err := python.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	answers, err := python.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := python.Start(); err != nil {
		return 0, 0, fmt.Errorf("python3: %w", err)
	}
	defer func() {
		if err != nil {
			end() // it may wait for somebody to read its answers
		}
		err = errors.Join(err, in.Close(), python.Wait())
	}()
	g := &generator{Rand: rand.New(rand.NewPCG(o.seed, 1))}
	lines := bufio.NewReaderSize(answers, 1<<20)
	var request openai.Request
	for done := 0; done < o.bodies && differences < mostDifferences; {
		bodies := g.bodies(min(batch, o.bodies-done))
		sent := make(chan error, 1)
		go func() { sent <- send(in, bodies) }()
		for _, body := range bodies {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return refused, differences, fmt.Errorf("python3: %w", err)
			}
			difference, both, err := judge(&request, body, line)
			if err != nil {
				return refused, differences, err
			}
			if both {
				refused++
			}
			if difference == "" {
				continue
			}
			if differences++; differences <= mostDifferences {
				fmt.Fprintf(out, "%s\n  %q\n", difference, body)
			}
		}
		if _, err := lines.ReadBytes('\n'); err != nil { // of the flush
			return refused, differences, fmt.Errorf("python3: %w", err)
		}
		if err := <-sent; err != nil {
			return refused, differences, err
		}
		done += len(bodies)
	}
	return refused, differences, nil
}

// bodies are the next n.
func (g *generator) bodies(n int) [][]byte {
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = g.next()
	}
	return bodies
}

// send writes bodies, and an empty one that has Python flush its answers.
func send(w io.Writer, bodies [][]byte) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	for _, body := range append(bodies[:len(bodies):len(bodies)], nil) {
		head := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
		_, _ = buffered.Write(head) // Flush tells
		_, _ = buffered.Write(body)
	}
	return buffered.Flush()
}

// reading is what Python read.
type reading struct {
	BadModel      bool
	Model, User   string
	Stream, Usage bool
	// Chat is characters, bytes and messages, Completion characters, bytes and token ids; nil where they are not
	// compared.
	Chat, Completion []int
}

// judge scans a body as each API and says how that differs from what Python answered. both tells that both refuse it.
func judge(r *openai.Request, body, line []byte) (difference string, both bool, err error) {
	var want *reading
	if err := json.Unmarshal(line, &want); err != nil {
		return "", false, fmt.Errorf("python3 answered %q: %w", line, err)
	}
	for _, api := range []openai.API{openai.APIChat, openai.APICompletions} {
		failure := r.Scan(api, body)
		badModel := errors.Is(failure, openai.ReasonModelType) || errors.Is(failure, openai.ReasonModelLong)
		switch {
		case want == nil && failure == nil:
			return fmt.Sprintf("%s: accepted; Python refuses", api), false, nil
		case want == nil:
			both = true
			continue
		case badModel && (want.BadModel || len(want.Model) > openai.MaxName):
			continue
		case failure != nil:
			return fmt.Sprintf("%s: %v; Python accepts", api, failure), false, nil
		case want.BadModel:
			return fmt.Sprintf("%s: took a model that is no string", api), false, nil
		}
		if d := want.differs(r); d != "" {
			return fmt.Sprintf("%s: %s", api, d), false, nil
		}
	}
	return "", both, nil
}

func (want *reading) differs(r *openai.Request) string {
	if r.Model != want.Model || r.Stream != want.Stream || r.StreamUsage != want.Usage ||
		len(want.User) <= openai.MaxName && r.User != want.User {
		return fmt.Sprintf("model %q, user %q, stream %v, usage %v; Python: %q, %q, %v, %v", r.Model, r.User, r.Stream,
			r.StreamUsage,
			want.Model, want.User, want.Stream, want.Usage)
	}
	if sizes := want.Chat; r.API == openai.APIChat && sizes != nil &&
		(r.Chars != sizes[0] || r.Bytes != sizes[1] || r.Messages != sizes[2]) {
		return fmt.Sprintf("%d characters, %d bytes, %d messages; Python: %v", r.Chars, r.Bytes, r.Messages, sizes)
	}
	sizes := want.Completion
	if r.API == openai.APICompletions && sizes != nil &&
		(r.Chars != sizes[0] || r.Bytes != sizes[1] || r.PromptTokens != sizes[2]) {
		return fmt.Sprintf("%d characters, %d bytes, %d token ids; Python: %v", r.Chars, r.Bytes, r.PromptTokens, sizes)
	}
	return ""
}
