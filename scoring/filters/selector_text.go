package filters

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// readSelectorText reads a label selector in the text form of Kubernetes: requirements with commas between them, each
// of key, !key, key=value, key==value, key!=value, key in (a,b) and key notin (a,b).
func readSelectorText(o *strictjson.Object, key string) (requirements []requirement) {
	text := ""
	o.String(key, &text)
	for _, part := range splitSelector(text) {
		r, ok := parseRequirement(part)
		if !ok {
			o.Mistake(key, strconv.Quote(text)+" is no label selector; label=value is right, and several with commas "+
				"between them")
			return nil
		}
		requirements = append(requirements, r)
	}
	return requirements
}

// splitSelector cuts at commas outside of parentheses. An empty text has no parts.
func splitSelector(text string) (parts []string) {
	depth, start := 0, 0
	for i, c := range []byte(text) {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	if text == "" {
		return nil
	}
	return append(parts, text[start:])
}

func parseRequirement(text string) (r requirement, ok bool) {
	text = strings.TrimSpace(text)
	if key, absent := strings.CutPrefix(text, "!"); absent {
		return requirement{key: strings.TrimSpace(key), operator: "DoesNotExist"}, isLabelPart(strings.TrimSpace(key))
	}
	if fields := strings.Fields(strings.ReplaceAll(text, "(", " (")); len(fields) > 2 {
		if operator := map[string]string{"in": "In", "notin": "NotIn"}[fields[1]]; operator != "" {
			values, ok := parseValues(strings.Join(fields[2:], " "))
			return requirement{fields[0], operator, values}, ok && isLabelPart(fields[0])
		}
	}
	for _, sign := range []struct{ text, operator string }{{"!=", "NotIn"}, {"==", "In"}, {"=", "In"}} {
		if key, value, found := strings.Cut(text, sign.text); found {
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			ok := isLabelPart(key) && (value == "" || isLabelPart(value))
			return requirement{key, sign.operator, []string{value}}, ok
		}
	}
	return requirement{key: text, operator: "Exists"}, isLabelPart(text)
}

// parseValues reads (a,b).
func parseValues(text string) (values []string, ok bool) {
	inner, opened := strings.CutPrefix(text, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	for _, value := range strings.Split(inner, ",") {
		values = append(values, strings.TrimSpace(value))
	}
	return values, opened && closed && !slices.ContainsFunc(values, func(v string) bool { return !isLabelPart(v) })
}

// isLabelPart reports whether text can be a label's key or value.
func isLabelPart(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_./", c)
	})
}
