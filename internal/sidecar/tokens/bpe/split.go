package bpe

import (
	"unicode"
	"unicode/utf8"
)

// splitter cuts the first piece off a text that is not empty, and returns its length. It looks at no more than the
// whitespace behind a piece, and 8 bytes.
type splitter func(text string) int

// The patterns by which texts are cut before bytes are merged, as the files of tokenizers have them. They are matched
// by hand: Go's regexp has no lookahead, and libraries that do are slower than the merging itself.
const (
	patternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternGPT4 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` +
		`|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen2 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*` +
		`|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternO200K = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// splitters are those of the patterns.
var splitters = map[string]splitter{
	patternGPT2:  splitGPT2,
	patternGPT4:  func(text string) int { return splitGPT4(text, 3) },
	patternQwen2: func(text string) int { return splitGPT4(text, 1) },
	patternO200K: splitO200K,
}

// class is what the patterns tell characters apart by.
type class uint8

const (
	other class = iota
	letter
	number
	space
)

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return ascii[r]
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

var ascii = func() (table [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		switch {
		case unicode.IsLetter(r):
			table[r] = letter
		case unicode.IsNumber(r):
			table[r] = number
		case unicode.IsSpace(r):
			table[r] = space
		}
	}
	return table
}()

// at returns the character at a place, 0 bytes at the end.
func at(text string, i int) (r rune, size int) {
	if i >= len(text) {
		return 0, 0
	}
	if text[i] < utf8.RuneSelf {
		return rune(text[i]), 1
	}
	return utf8.DecodeRuneInString(text[i:])
}

// run returns the end of the characters of a class from i on, at most that many.
func run(text string, i int, c class, most int) int {
	for ; most > 0; most-- {
		for most > 1 && i < len(text) && text[i] < utf8.RuneSelf && ascii[text[i]] == c {
			i++
			most--
		}
		r, size := at(text, i)
		if size == 0 || classOf(r) != c {
			break
		}
		i += size
	}
	return i
}

const all = int(^uint(0) >> 1)

// contraction returns the length of an English contraction such as 's at the beginning of text.
func contraction(text string, anyCase bool) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	low := func(i int) byte {
		if i >= len(text) {
			return 0
		}
		if c := text[i]; anyCase && c >= 'A' && c <= 'Z' {
			return c | 0x20
		}
		return text[i]
	}
	switch a, b := low(1), low(2); {
	case a == 's' || a == 't' || a == 'm' || a == 'd':
		return 2
	case a == 'r' && b == 'e', a == 'v' && b == 'e', a == 'l' && b == 'l':
		return 3
	case anyCase && len(text) >= 3 && text[1:3] == "ſ": // it folds to s
		return 3
	}
	return 0
}

// blanks cuts whitespace: but for the last character when something follows.
func blanks(text string) int {
	end, last := 0, 0
	for {
		r, size := at(text, end)
		if size == 0 {
			return end
		}
		if classOf(r) != space {
			break
		}
		end, last = end+size, size
	}
	if end > last {
		return end - last
	}
	return end
}

func splitGPT2(text string) int {
	if n := contraction(text, false); n > 0 {
		return n
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	r, size := at(text, start)
	if size > 0 {
		if c := classOf(r); c != space {
			return run(text, start, c, all)
		}
	}
	return blanks(text)
}

func isBreak(r rune) bool { return r == '\r' || r == '\n' }

// splitGPT4 cuts numbers into groups of so many digits.
func splitGPT4(text string, digits int) int {
	if n := contraction(text, true); n > 0 {
		return n
	}
	first, size := at(text, 0)
	c := classOf(first)
	switch {
	case c == letter:
		return run(text, 0, letter, all)
	case !isBreak(first) && c != number:
		if r, n := at(text, size); n > 0 && classOf(r) == letter {
			return run(text, size, letter, all)
		}
	case c == number:
		return run(text, 0, number, digits)
	}
	return signs(text, "\r\n")
}

// signs cuts what is neither letter nor number: signs with a space before them and some characters behind, or
// whitespace.
func signs(text, behind string) int {
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	if end := run(text, start, other, all); end > start {
		for end < len(text) && (text[end] == behind[0] || text[end] == behind[1] ||
			len(behind) > 2 && text[end] == behind[2]) {
			end++
		}
		return end
	}
	// \s*[\r\n]+ goes to the last line break of the whitespace.
	end := run(text, 0, space, all)
	for i := end - 1; i >= 0; i-- {
		if isBreak(rune(text[i])) {
			return i + 1
		}
	}
	return blanks(text)
}

func isUpper(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}

func isLower(r rune) bool { return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M) }

// while returns the end of the characters from i on for which is holds.
func while(text string, i int, is func(rune) bool) int {
	for {
		r, size := at(text, i)
		if size == 0 || !is(r) {
			return i
		}
		i += size
	}
}

func splitO200K(text string) int {
	first, size := at(text, 0)
	c := classOf(first)
	// A character may stand before a word.
	before := !isBreak(first) && c != letter && c != number
	end := 0
	if before {
		end = lowered(text, size)
	}
	if end == 0 {
		end = lowered(text, 0)
	}
	if end == 0 && before {
		if end = while(text, size, isUpper); end == size {
			end = 0
		}
	}
	if end == 0 {
		end = while(text, 0, isUpper)
	}
	switch {
	case end > 0:
		return end + contraction(text[end:], true)
	case c == number:
		return run(text, 0, number, 3)
	}
	return signs(text, "\r\n/")
}

// lowered returns the end of a word from i on that has lower case at its end, or what is of neither case; 0 for none.
func lowered(text string, i int) int {
	upper := while(text, i, isUpper)
	if lower := while(text, upper, isLower); lower > upper {
		return lower
	}
	for end := upper; end > i; {
		r, size := utf8.DecodeLastRuneInString(text[:end])
		if isLower(r) {
			return end
		}
		end -= size
	}
	return 0
}
