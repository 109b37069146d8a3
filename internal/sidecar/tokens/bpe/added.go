package bpe

import "sort"

// added are tokens that stand for themselves wherever they are in a text: of those that begin at the first place, the
// longest.
type added struct {
	byFirst [256][]addedText // the longest first
	any     bool
}

type addedText struct {
	text string
	id   uint32
}

func (a *added) add(text string, id uint32) {
	list := append(a.byFirst[text[0]], addedText{text, id})
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].text) > len(list[j].text) })
	a.byFirst[text[0]], a.any = list, true
}

// cut tells the tokens and what is between them, in order.
func (a *added) cut(text string, tell func(part string, token uint32, isToken bool)) {
	start := 0
	for i := 0; a.any && i < len(text); {
		found := false
		for _, t := range a.byFirst[text[i]] {
			if len(text)-i < len(t.text) || text[i:i+len(t.text)] != t.text {
				continue
			}
			if i > start {
				tell(text[start:i], 0, false)
			}
			tell("", t.id, true)
			i += len(t.text)
			start, found = i, true
			break
		}
		if !found {
			i++
		}
	}
	if start < len(text) {
		tell(text[start:], 0, false)
	}
}
