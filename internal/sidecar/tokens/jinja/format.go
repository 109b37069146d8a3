package jinja

import (
	"strconv"
	"strings"
	"time"
)

// percent is s % v, for what templates use of it: %s, %d and %f, with a number of digits for the last.
func percent(s string, v any) any {
	values, ok := v.(Tuple)
	if !ok {
		values = Tuple{v}
		if _, isDict := v.(*Dict); isDict {
			fail("%% with a dict is not known here")
		}
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := 6
		if i+2 < len(s) && s[i] == '.' && s[i+1] >= '0' && s[i+1] <= '9' {
			digits = int(s[i+1] - '0')
			if i += 2; s[i] != 'f' {
				fail("%%.%d%c is not known here", digits, s[i])
			}
		}
		if i < len(s) && s[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if i >= len(s) || len(values) == 0 {
			fail("%% lacks a value or a letter")
		}
		value := values[0]
		values = values[1:]
		n, isNumber := numeric(value)
		switch {
		case s[i] == 's':
			b.WriteString(text(value))
		case s[i] == 'd' && isNumber && !n.isFloat:
			b.WriteString(n.n.String())
		case s[i] == 'f' && isNumber:
			b.WriteString(strconv.FormatFloat(n.float(), 'f', digits, 64))
		default:
			fail("%%%c of %s is not known here", s[i], typeName(value))
		}
	}
	if len(values) > 0 {
		fail("%% has values that are not used")
	}
	return b.String()
}

// format is s.format(...), without formats of the values.
func format(s string, g *given) string {
	var b strings.Builder
	auto := 0
	g.used = len(g.args.list) + len(g.args.named)
	for i := 0; i < len(s); i++ {
		switch {
		case (s[i] == '{' || s[i] == '}') && i+1 < len(s) && s[i+1] == s[i]:
			i++
			b.WriteByte(s[i])
		case s[i] == '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				fail("format: { has no end")
			}
			field := s[i+1 : i+end]
			i += end
			if field == "" {
				field = strconv.Itoa(auto)
				auto++
			}
			if at, err := strconv.Atoi(field); err == nil {
				if at < 0 || at >= len(g.args.list) {
					fail("format lacks a value")
				}
				b.WriteString(text(g.args.list[at]))
				continue
			}
			v, ok := g.named(field)
			if g.used = len(g.args.list) + len(g.args.named); !ok {
				fail("format: {%s} is not known here", field)
			}
			b.WriteString(text(v))
		case s[i] == '}':
			fail("format: } has no beginning")
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// layouts are Go's for what strftime has.
var layouts = map[string]string{"d": "02", "b": "Jan", "B": "January", "Y": "2006", "y": "06", "m": "01", "A": "Monday",
	"a": "Mon", "H": "15", "I": "03", "M": "04", "S": "05", "p": "PM", "j": "002", "-d": "2", "-m": "1",
	"F": "2006-01-02", "T": "15:04:05"}

func strftime(t time.Time, layout string) string {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			b.WriteByte(layout[i])
			continue
		}
		size := 1
		if i+1 < len(layout) && layout[i+1] == '-' {
			size = 2
		}
		field := layout[i+1 : min(i+1+size, len(layout))]
		i += size
		known, ok := layouts[field]
		switch {
		case field == "%":
			b.WriteByte('%')
		case ok:
			b.WriteString(t.Format(known))
		default:
			fail("strftime_now: %%%s is not known here", field)
		}
	}
	return b.String()
}
