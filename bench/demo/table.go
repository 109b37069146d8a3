package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// screen writes a table again and again: over the last one on a terminal, one below the other elsewhere.
type screen struct {
	out      io.Writer
	terminal bool
	colors   bool
	lines    int // of the last table
}

// The terminal's escape sequences, ECMA-48.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// paint colours a text whose width is settled already.
func (s *screen) paint(color, text string) string {
	if !s.colors {
		return text
	}
	return color + text + plain
}

// draw shows a table.
func (s *screen) draw(lines []string) {
	var b strings.Builder
	if s.terminal && s.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.lines)
	}
	for _, line := range lines {
		b.WriteString(line)
		if s.terminal {
			b.WriteString("\x1b[K") // what was longer before
		}
		b.WriteByte('\n')
	}
	s.lines = len(lines)
	_, _ = io.WriteString(s.out, b.String()) // nobody is left to tell
}

const (
	columns  = " wait  run   KV  sent    p50    p99"
	sidesGap = "  "
)

// table lays both sides out beside each other, in less than 80 columns: the last one is not kept by all terminals.
func (s *screen) table(left, right *side, elapsed, duration time.Duration) []string {
	l, r := left.rows(), right.rows()
	lines := []string{
		s.paint(dim, progress(elapsed, duration, 78)),
		"       " + s.paint(bold+green, title(left.name)) + sidesGap + s.paint(bold, title(right.name)),
		s.paint(dim, "server "+columns+sidesGap+columns),
	}
	for i := range l {
		lines = append(lines, fmt.Sprintf("%-7s", l[i].name)+s.half(l[i])+sidesGap+s.half(r[i]))
	}
	return append(lines, fmt.Sprintf("%-7s", "all")+s.half(left.total(l))+sidesGap+s.half(right.total(r)), "")
}

func title(name string) string {
	const unit = " TTFT, ms"
	return " " + name + " " + strings.Repeat("─", len(columns)-len(unit)-len(name)-3) + unit + " "
}

func (s *screen) half(r row) string {
	waiting := fmt.Sprintf("%5d", r.waiting)
	if r.waiting > 0 {
		waiting = s.paint(yellow, waiting)
	}
	return waiting + fmt.Sprintf(" %4d %3.0f%% %5d %6s %6s", r.running, 100*r.kv, r.sent, millis(r.p50), millis(r.p99))
}

func millis(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%d", d.Round(time.Millisecond).Milliseconds())
}

// progress is a bar, and the time on its right.
func progress(elapsed, duration time.Duration, width int) string {
	text := fmt.Sprintf(" %2.0f s of %.0f s", min(elapsed, duration).Seconds(), duration.Seconds())
	bar := width - len(text)
	done := min(int(float64(bar)*elapsed.Seconds()/duration.Seconds()), bar)
	return strings.Repeat("━", done) + strings.Repeat("╌", bar-done) + text
}
