package main

import (
	"container/heap"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// vocabularySize is that of Llama 3's tokenizer.
const vocabularySize = 128_000

// language makes texts of words that are as unequally frequent as those of people.
type language struct {
	words []string
	// until are the sums of the words' frequencies.
	until []float64
}

// newLanguage makes up words of syllables, the frequent ones short.
func newLanguage(random *rand.Rand, words int) *language {
	heads := strings.Fields("b c d f g h l m n p r s t v w st tr pr ch sh th br cl gr pl qu")
	cores := strings.Fields("a e i o u a e i o ea ou ai io ee")
	tails := []string{"", "", "", "n", "r", "s", "t", "l", "m", "d", "ng", "nt", "st", "ck"}
	l, known := &language{}, map[string]bool{}
	sum := 0.0
	for len(l.words) < words {
		var b strings.Builder
		for range 1 + random.IntN(1+min(4, 1+len(l.words)/500)) {
			b.WriteString(heads[random.IntN(len(heads))])
			b.WriteString(cores[random.IntN(len(cores))])
			b.WriteString(tails[random.IntN(len(tails))])
		}
		if known[b.String()] {
			continue
		}
		known[b.String()] = true
		l.words = append(l.words, b.String())
		sum += 1 / (float64(len(l.words)) + 2.7)
		l.until = append(l.until, sum)
	}
	return l
}

// text makes up so many bytes: sentences, numbers, names that nobody has seen.
func (l *language) text(random *rand.Rand, bytes int) string {
	var b strings.Builder
	for capital := true; b.Len() < bytes; {
		at, _ := slices.BinarySearch(l.until, random.Float64()*l.until[len(l.until)-1])
		word := l.words[min(at, len(l.words)-1)]
		if capital {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		capital = false
		b.WriteString(word)
		switch n := random.IntN(100); {
		case n < 7:
			b.WriteString(". ")
			capital = true
		case n < 8:
			b.WriteString(".\n\n")
			capital = true
		case n < 15:
			b.WriteString(", ")
		case n < 17:
			b.WriteString(" " + strings.Repeat(string(rune('0'+random.IntN(10))), 1+random.IntN(6)) + " ")
		case n < 19:
			b.WriteString(" ")
			for range 4 + random.IntN(10) {
				b.WriteByte(byte('a' + random.IntN(26)))
			}
			b.WriteString(" ")
		default:
			b.WriteString(" ")
		}
	}
	return b.String()[:bytes]
}

// trainer learns the merges of byte-pair encoding from words and how often each is.
type trainer struct {
	tokens []string
	words  [][]int32
	counts []int
	pairs  map[[2]int32]int
	where  map[[2]int32][]int32
	queue  pairs
	merges [][2]string
}

type counted struct {
	pair  [2]int32
	count int
}

// pairs is a heap, the most frequent one first.
type pairs []counted

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	if p[i].count != p[j].count {
		return p[i].count > p[j].count
	}
	return slices.Compare(p[i].pair[:], p[j].pair[:]) < 0
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(counted)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// train learns until the vocabulary has a size, or every word is a token.
func (l *language) train(size int) *trainer {
	t := &trainer{pairs: map[[2]int32]int{}, where: map[[2]int32][]int32{}}
	for b := range 256 {
		t.tokens = append(t.tokens, byteCharacter(byte(b)))
	}
	for i, word := range l.words {
		count := int(1e9 / float64(i+3))
		t.learn(" "+word, count)
		t.learn(strings.ToUpper(word[:1])+word[1:], max(count/10, 1))
	}
	for pair, count := range t.pairs {
		t.queue = append(t.queue, counted{pair, count})
	}
	heap.Init(&t.queue)
	for len(t.tokens) < size && len(t.queue) > 0 {
		top := heap.Pop(&t.queue).(counted)
		if now := t.pairs[top.pair]; now != top.count {
			if now > 0 {
				heap.Push(&t.queue, counted{top.pair, now})
			}
			continue
		}
		t.merge(top.pair)
	}
	return t
}

func (t *trainer) learn(word string, count int) {
	symbols := make([]int32, len(word))
	for i := range len(word) {
		symbols[i] = int32(word[i])
	}
	t.words, t.counts = append(t.words, symbols), append(t.counts, count)
	for i := range len(symbols) - 1 {
		pair := [2]int32{symbols[i], symbols[i+1]}
		t.pairs[pair] += count
		t.where[pair] = append(t.where[pair], int32(len(t.words)-1))
	}
}

// merge makes one token of two wherever they follow each other.
func (t *trainer) merge(pair [2]int32) {
	token := int32(len(t.tokens))
	t.merges = append(t.merges, [2]string{t.tokens[pair[0]], t.tokens[pair[1]]})
	t.tokens = append(t.tokens, t.tokens[pair[0]]+t.tokens[pair[1]])
	fresh := map[[2]int32]bool{}
	for _, w := range t.where[pair] {
		before := t.words[w]
		var after []int32
		for i := 0; i < len(before); i++ {
			if i+1 < len(before) && before[i] == pair[0] && before[i+1] == pair[1] {
				after = append(after, token)
				i++
			} else {
				after = append(after, before[i])
			}
		}
		if len(after) == len(before) {
			continue // the word had it twice
		}
		t.words[w] = after
		for i := range len(before) - 1 {
			t.pairs[[2]int32{before[i], before[i+1]}] -= t.counts[w]
		}
		for i := range len(after) - 1 {
			p := [2]int32{after[i], after[i+1]}
			t.pairs[p] += t.counts[w]
			if p[0] == token || p[1] == token {
				t.where[p] = append(t.where[p], w)
				fresh[p] = true
			}
		}
	}
	delete(t.pairs, pair)
	delete(t.where, pair)
	for p := range fresh {
		heap.Push(&t.queue, counted{p, t.pairs[p]})
	}
}

// byteCharacter is how a tokenizer.json writes a byte: printable ones as they are, the others from U+0100 on.
func byteCharacter(b byte) string {
	printable := func(b byte) bool { return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae }
	if printable(b) {
		return string(rune(b))
	}
	n := rune(0x100)
	for other := range b {
		if !printable(other) {
			n++
		}
	}
	return string(n)
}

// template is a chat template with roles and a beginning for the answer.
const template = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// write writes tokenizer.json, with the pattern of Llama 3, and a template beside it. It returns the file's path.
func (t *trainer) write(dir string) (string, error) {
	vocabulary := map[string]int{}
	for i, token := range t.tokens {
		vocabulary[token] = i
	}
	var added []map[string]any
	for i, name := range []string{"<|im_start|>", "<|im_end|>"} {
		added = append(added, map[string]any{"id": len(t.tokens) + i, "content": name, "special": true,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	const pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	file := map[string]any{"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer": nil, "post_processor": nil,
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "behavior": "Isolated", "invert": false,
				"pattern": map[string]any{"Regex": pattern}},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
		}},
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "byte_fallback": false,
			"ignore_merges": false, "vocab": vocabulary, "merges": t.merges}}
	for name, content := range map[string]any{"tokenizer.json": file,
		"tokenizer_config.json": map[string]any{"chat_template": template}} {
		text, err := json.Marshal(content)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "tokenizer.json"), nil
}
