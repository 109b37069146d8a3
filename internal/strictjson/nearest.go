package strictjson

import "strings"

// Nearest returns the name that a mistyped one most likely stands for, empty when none is near: one letter, or a
// quarter of them up to three, is wrong, missing, too many or exchanged with its neighbour. Case does not matter.
func Nearest(mistyped string, names []string) string {
	if len(mistyped) < 3 {
		return ""
	}
	best, least := "", max(min(len(mistyped)/4, 3), 1)+1
	for _, name := range names {
		if d := distance(strings.ToLower(mistyped), strings.ToLower(name), least); d < least {
			best, least = name, d
		}
	}
	return best
}

// Hint is the end of a mistake about a name that is none: which one could be meant, and all of them, led in by known.
func Hint(mistyped string, names []string, known string) string {
	text := "; "
	if name := Nearest(mistyped, names); name != "" {
		text += "did you mean " + name + "? "
	}
	return text + known + " " + strings.Join(names, ", ")
}

// distance is how many letters have to be changed, added, removed or exchanged with their neighbour, limit when they
// are as many or more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
