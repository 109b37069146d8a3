package bpe

import (
	"slices"
	"sort"
	"strings"
	"unicode"
)

// added are tokens that stand for themselves wherever they are in a text: of those that begin at the first place, the
// longest. Models have thousands that begin alike, so a search never looks at all of them.
type added struct {
	sorted []addedText
	before [257]int // by byte, how many begin with a lower one
	first  string   // their first bytes, each once
}

type addedText struct {
	text string
	id   uint32
	// left and right have it take the whitespace before and behind it.
	left, right bool
}

func (a *added) add(token addedToken) {
	text := token.Content
	at := sort.Search(len(a.sorted), func(i int) bool { return a.sorted[i].text >= text })
	if at < len(a.sorted) && a.sorted[at].text == text {
		return // the first one counts
	}
	a.sorted = slices.Insert(a.sorted, at, addedText{text, token.ID, token.Left, token.Right})
	for c := int(text[0]) + 1; c < len(a.before); c++ {
		a.before[c]++
	}
	if strings.IndexByte(a.first, text[0]) < 0 {
		a.first += text[:1]
	}
}

// longest returns the longest token that text, which is not empty, begins with; nil for none.
func (a *added) longest(text string) (found *addedText) {
	// Those from one place to the other begin as text does, up to depth; the shortest comes first.
	from, to := a.before[text[0]], a.before[int(text[0])+1]
	for depth := 1; from < to; depth++ {
		if len(a.sorted[from].text) == depth {
			found = &a.sorted[from]
			from++
		}
		if depth == len(text) {
			break
		}
		list, c := a.sorted[from:to], text[depth]
		to = from + sort.Search(len(list), func(i int) bool { return list[i].text[depth] > c })
		from += sort.Search(len(list), func(i int) bool { return list[i].text[depth] >= c })
	}
	return found
}

// cut tells the tokens and what is between them, in order. atStart is whether a part begins where the text does.
func (a *added) cut(text string, tell func(part string, atStart bool, token uint32, isToken bool)) {
	start := 0
	for i := 0; a.first != "" && i < len(text); {
		if len(a.first) == 1 { // as it is with many models
			next := strings.IndexByte(text[i:], a.first[0])
			if next < 0 {
				break
			}
			i += next
		}
		t := a.longest(text[i:])
		if t == nil {
			i++
			continue
		}
		before := text[min(start, i):i]
		if t.left {
			before = strings.TrimRightFunc(before, unicode.IsSpace)
		}
		if before != "" {
			tell(before, start == 0, 0, false)
		}
		i += len(t.text)
		end := i
		if t.right { // the whitespace that it takes may be tokens all the same
			end = len(text) - len(strings.TrimLeftFunc(text[i:], unicode.IsSpace))
		}
		if !t.left || start < end {
			tell("", false, t.id, true)
		}
		start = end
	}
	if start < len(text) {
		tell(text[start:], start == 0, 0, false)
	}
}
