package bpe

import (
	"sort"
	"strings"
	"unicode"
)

// added are tokens that stand for themselves wherever they are in a text: of those that begin at the first place, the
// longest.
type added struct {
	byFirst [256][]addedText // the longest first
	first   string           // their first bytes, each once
}

type addedText struct {
	text string
	id   uint32
	// left and right have it take the whitespace before and behind it.
	left, right bool
}

func (a *added) add(token addedToken) {
	text := token.Content
	list := append(a.byFirst[text[0]], addedText{text, token.ID, token.Left, token.Right})
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].text) > len(list[j].text) })
	if a.byFirst[text[0]] = list; len(list) == 1 {
		a.first += text[:1]
	}
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
		found := false
		for _, t := range a.byFirst[text[i]] {
			if len(text)-i < len(t.text) || text[i:i+len(t.text)] != t.text {
				continue
			}
			before := text[start:i]
			if t.left {
				before = strings.TrimRightFunc(before, unicode.IsSpace)
			}
			if before != "" {
				tell(before, start == 0, 0, false)
			}
			tell("", false, t.id, true)
			if i += len(t.text); t.right {
				i = len(text) - len(strings.TrimLeftFunc(text[i:], unicode.IsSpace))
			}
			start, found = i, true
			break
		}
		if !found {
			i++
		}
	}
	if start < len(text) {
		tell(text[start:], start == 0, 0, false)
	}
}
