package openai

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestTurnSplice(t *testing.T) {
	const items = `{"role":"user","content":"a"},{"role":"assistant","content":"b"}`
	tests := []struct {
		name, body string
		keep       bool
		want       string
	}{
		{"text", `{"previous_response_id":"r","input":"c"}`, false,
			`{"input":[` + items + `,{"type":"message","role":"user","content":"c"}]}`},
		{"members behind the id", `{"previous_response_id":"r","a":1,"input":[],"z":0}`, false,
			`{"a":1,"input":[` + items + `],"z":0}`},
		{"white space around", " {\"input\":[],\"previous_response_id\":\"r\"} \n", false,
			" {\"input\":[" + items + "]} \n"},
		{"a list, the id last", `{"model": "m", "input": [ {"x":1} ] , "previous_response_id": "r" }`, false,
			`{"model": "m", "input": [` + items + `, {"x":1} ]  }`},
		{"an empty list", `{"input":[ ],"previous_response_id":"r","z":0}`, false, `{"input":[` + items + ` ],"z":0}`},
		{"null", `{"input":null,"previous_response_id":"r"}`, false, `{"input":[` + items + `]}`},
		{"no input", `{"a":1,"previous_response_id":"r"}`, false, `{"a":1,"input":[` + items + `]}`},
		{"no input, kept", `{"previous_response_id":"r","b":2}`, true,
			`{"input":[` + items + `],"previous_response_id":"r","b":2}`},
		{"kept", `{"previous_response_id":"r","input":[1]}`, true,
			`{"previous_response_id":"r","input":[` + items + `,1]}`},
		{"escaped keys", `{"previous_respons\u0065_id":"\u0072","inp\u0075t":""}`, false,
			`{"inp\u0075t":[` + items + `,{"type":"message","role":"user","content":""}]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var turn Turn
			if !turn.Scan([]byte(test.body)) || turn.Previous != "r" || !turn.Spliceable([]byte(test.body)) {
				t.Fatalf("scan: got %+v", turn)
			}
			prefix, end := turn.Splice(nil, []byte(test.body), []byte(items), test.keep)
			if got := string(prefix) + test.body[end:]; got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestTurnSpliceNothing: of a conversation without items the body says it all.
func TestTurnSpliceNothing(t *testing.T) {
	var turn Turn
	for body, want := range map[string]string{
		`{"input":"a","previous_response_id":"r"}`:    `{"input":"a"}`,
		`{"previous_response_id":"r", "input":["a"]}`: `{ "input":["a"]}`,
		`{"input":null,"previous_response_id":"r"}`:   `{"input":null}`,
		`{"previous_response_id":"r"}`:                `{"input":[]}`,
	} {
		if !turn.Scan([]byte(body)) || !turn.Spliceable([]byte(body)) {
			t.Fatalf("scan of %s: got %+v", body, turn)
		}
		prefix, end := turn.Splice(nil, []byte(body), nil, false)
		if got := string(prefix) + body[end:]; got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}

func TestTurnScan(t *testing.T) {
	type found struct {
		Previous                    string
		Unstored, Elsewhere, Twice  bool
		Sound, Spliceable, HasInput bool
	}
	tests := []struct {
		body string
		want found
	}{
		{`{}`, found{Sound: true, Spliceable: true}},
		{`{"input":"x","store":false}`, found{Sound: true, Spliceable: true, HasInput: true, Unstored: true}},
		{`{"input":"x","store":true,"conversation":null,"background":false,"previous_response_id":null}`,
			found{Sound: true, Spliceable: true, HasInput: true}},
		{`{"conversation":"conv_1"}`, found{Sound: true, Spliceable: true, Elsewhere: true}},
		{`{"background":true}`, found{Sound: true, Spliceable: true, Elsewhere: true}},
		{`{"input":{"a":1},"previous_response_id":7}`, found{Sound: true, HasInput: true, Previous: "?"}},
		{`{"conversation":"conv_1","conversation":null}`, found{Sound: true, Spliceable: true, Elsewhere: true}},
		{`{"background":true,"background":false}`, found{Sound: true, Spliceable: true, Elsewhere: true}},
		{`{"conversation":"conv_1","background":false}`, found{Sound: true, Spliceable: true, Elsewhere: true}},
		{`{"previous_response_id":""}`, found{Sound: true, Spliceable: true, Previous: "?"}},
		{`{"input":"x","input":"y"}`, found{Sound: true, HasInput: true, Twice: true}},
		{`{"previous_response_id":"a","previous_response_id":"b"}`, found{Sound: true, Twice: true, Previous: "b"}},
		{`{"previous_response_id":"a","previous_response_id":null}`, found{Sound: true, Twice: true, Previous: "?"}},
		{`{"previous_response_id":null,"previous_response_id":"a"}`, found{Sound: true, Twice: true, Previous: "a"}},
		{`{"input":"x"`, found{}}, {`{"input":"x"} x`, found{}}, {`[]`, found{}}, {``, found{}}, {`{"a":1,}`, found{}},
		{`[}`, found{}}, {`["input":"x"}`, found{}}, {`{"a":1]`, found{}},
	}
	var turn Turn
	for _, test := range tests {
		got := found{}
		if got.Sound = turn.Scan([]byte(test.body)); got.Sound {
			got = found{turn.Previous, turn.Unstored, turn.Elsewhere, turn.Twice, true,
				turn.Spliceable([]byte(test.body)), turn.Input.Len() > 0}
		}
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.body, got, test.want)
		}
	}
}

// TestTurnOfManyIDs: an id that is there many times takes no more memory than one.
func TestTurnOfManyIDs(t *testing.T) {
	body := []byte("{" + strings.Repeat(`"previous_response_id":"r\u0031",`, 1000) + `"input":"a"}`)
	var turn Turn
	if n := testing.AllocsPerRun(1, func() { turn.Scan(body) }); n > 2 || turn.Previous != "r1" || !turn.Twice {
		t.Errorf("got %v allocations, the id %q, twice %v, want at most 2, r1 and true", n, turn.Previous, turn.Twice)
	}
}

// randomValue is a value of any kind.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return float64(r.IntN(1e6)) / 8
	case n < 6 || depth == 0:
		return randomText(r)
	case n == 6:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(4) {
		object[randomText(r)] = randomValue(r, depth-1)
	}
	return object
}

func randomText(r *rand.Rand) string {
	const letters = "ab \"\\\n/{}[],:\u00e9\u4f60\U0001f600\u2028\x01"
	runes := []rune(letters)
	text := make([]rune, r.IntN(8))
	for i := range text {
		text[i] = runes[r.IntN(len(runes))]
	}
	return string(text)
}

// randomJSON writes a value with white space and escapes as they come.
func randomJSON(r *rand.Rand, v any) string {
	raw, _ := json.Marshal(v)
	if r.IntN(3) > 0 {
		return string(raw)
	}
	var indented bytes.Buffer
	_ = json.Indent(&indented, raw, " ", "\t")
	return indented.String()
}

type turnMember struct{ key, value string }

// write joins members as they are.
func write(r *rand.Rand, members []turnMember) string {
	spaces := [...]string{"", "", " ", "\n\t", " \r\n"}
	var b strings.Builder
	b.WriteString(spaces[r.IntN(5)] + "{" + spaces[r.IntN(5)])
	for i, m := range members {
		if i > 0 {
			b.WriteString("," + spaces[r.IntN(5)])
		}
		b.WriteString(randomJSON(r, m.key) + spaces[r.IntN(5)] + ":" + spaces[r.IntN(5)] + m.value + spaces[r.IntN(5)])
	}
	b.WriteString("}" + spaces[r.IntN(5)])
	return b.String()
}

// TestSpliceIsWhatOthersBuild has 100,000 random conversations spliced, and compares with what encoding/json makes of
// the same. The other members' values are the same bytes.
func TestSpliceIsWhatOthersBuild(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 10_000
	}
	r := rand.New(rand.NewPCG(16, 1))
	var turn Turn
	var prefix []byte
	for round := range rounds {
		body, items, id, keep := randomTurn(r)
		if !turn.Scan([]byte(body)) || turn.Previous != id || !turn.Spliceable([]byte(body)) {
			t.Fatalf("round %d: %s: got %+v, want id %q", round, body, turn, id)
		}
		var end int
		prefix, end = turn.Splice(prefix[:0], []byte(body), []byte(items), keep)
		var got, want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(string(prefix)+body[end:]), &got); err != nil {
			t.Fatalf("round %d: %s: %v\n%s%s", round, body, err, prefix, body[end:])
		}
		_ = json.Unmarshal([]byte(body), &want)
		rebuild(want, items, keep)
		got["input"] = dense(got["input"])
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: %s:\ngot  %v\nwant %v", round, body, got, want)
		}
	}
}

// rebuild does to a body what a splice is to do.
func rebuild(body map[string]json.RawMessage, items string, keep bool) {
	var list, input []json.RawMessage
	_ = json.Unmarshal([]byte("["+items+"]"), &list)
	if text := body["input"]; len(text) > 0 && text[0] == '"' {
		list = append(list, json.RawMessage(`{"type":"message","role":"user","content":`+string(text)+`}`))
	} else if len(text) > 0 {
		_ = json.Unmarshal(text, &input)
		list = append(list, input...)
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = string(list[i])
	}
	body["input"] = dense([]byte("[" + strings.Join(texts, ",") + "]"))
	if !keep {
		delete(body, "previous_response_id")
	}
}

// dense is a value without the white space between its parts.
func dense(value []byte) json.RawMessage {
	var b bytes.Buffer
	_ = json.Compact(&b, value)
	return b.Bytes()
}

func randomTurn(r *rand.Rand) (body, items, id string, keep bool) {
	history := make([]string, 1+r.IntN(4))
	for i := range history {
		history[i] = randomJSON(r, randomValue(r, 1))
	}
	id = "resp_" + strconv.Itoa(r.IntN(1000))
	members := []turnMember{{"previous_response_id", randomJSON(r, id)}}
	switch r.IntN(4) {
	case 0:
		members = append(members, turnMember{"input", randomJSON(r, randomText(r))})
	case 1:
		members = append(members, turnMember{"input", "null"})
	case 2:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, 1)
		}
		members = append(members, turnMember{"input", randomJSON(r, list)})
	}
	for i := range r.IntN(4) {
		members = append(members, turnMember{"key" + strconv.Itoa(i), randomJSON(r, randomValue(r, 1))})
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return write(r, members), strings.Join(history, ","), id, r.IntN(4) == 0
}

// FuzzTurn: what is sound for the scanner is so for encoding/json, and a spliced body is sound again.
func FuzzTurn(f *testing.F) {
	f.Add([]byte(`{"input":"a","previous_response_id":"b","store":false}`))
	f.Add([]byte(` {"previous_response_id" : "b" , "input": [1, {"a":[]}] } `))
	f.Add([]byte(`{"previous_response_id":"b"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var turn Turn
		if !turn.Scan(body) || turn.Previous == "" || !turn.Spliceable(body) || !json.Valid(body) {
			return
		}
		for _, keep := range []bool{true, false} {
			prefix, end := turn.Splice(nil, body, []byte(`{"a":1}`), keep)
			if whole := append(prefix, body[end:]...); !json.Valid(whole) {
				t.Errorf("%q: spliced to %q", body, whole)
			}
		}
	})
}
