package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The oracle reads the same things as the scanner from a decoded body, slowly: every level is split by encoding/json
// into keys and raw values, the last of equal keys is kept at its own place, and only then interpreted.

type member struct {
	key string
	raw json.RawMessage
}

func fieldsOf(raw json.RawMessage) []member {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return nil
		}
		for i := range all {
			if all[i].key == t.(string) {
				all = append(all[:i], all[i+1:]...)
				break
			}
		}
		all = append(all, member{t.(string), bytes.TrimSpace(v)})
	}
	return all
}

func lookup(fields []member, key string) json.RawMessage {
	for _, f := range fields {
		if f.key == key {
			return f.raw
		}
	}
	return nil
}

func elementsOf(raw json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

func stringOf(raw json.RawMessage) (string, bool) {
	var v string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	return v, true
}

type piece struct {
	kind SegmentKind
	role Role
	text string
}

type result struct {
	model, user, salt, extra, lora, previous     string
	hasModel, badModel, stream, usage            bool
	chars, bytes, tokens, messages, max          int
	hasImage, hasAudio, hasVideo, hasTools, more bool
	pieces                                       []piece
	batches                                      bool // whether lists may have lists of objects in them
	pairs                                        bool // whether texts may stand in lists within lists
}

func (o *result) addText(role Role, text string) {
	o.chars += utf8.RuneCountInString(text)
	o.bytes += len(text)
	o.pieces = append(o.pieces, piece{SegmentText, role, text})
}

func cut(s string) string {
	if len(s) <= MaxName {
		return s
	}
	n := MaxName
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func oracle(api API, body []byte) *result {
	o := &result{batches: api == APIEmbeddings,
		pairs: api == APIEmbeddings || api == APIRerank || api == APIGenerate}
	fields := fieldsOf(body)
	replaced := limitOf(lookup(fields, "max_completion_tokens")) > 0
	for _, f := range fields {
		if f.key != "max_tokens" || !replaced {
			o.setting(f)
		}
		if api == APIGenerate {
			o.sampling(f)
		}
		o.prompt(api, f)
	}
	return o
}

func (o *result) setting(f member) {
	text, isString := stringOf(f.raw)
	switch f.key {
	case "model":
		o.model, o.hasModel = text, isString
		o.badModel = !isString && string(f.raw) != "null"
	case "user":
		o.user = cut(text)
	case "cache_salt":
		o.salt = cut(text)
	case "extra_key":
		o.extra = cut(text)
	case "lora_path":
		o.lora = cut(text)
	case "previous_response_id":
		o.previous = cut(text)
	case "stream":
		o.stream = string(f.raw) == "true"
	case "stream_options":
		o.usage = string(lookup(fieldsOf(f.raw), "include_usage")) == "true"
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		o.limit(f.raw)
	}
}

// limit takes a limit on the answer, if it is one.
func (o *result) limit(raw json.RawMessage) {
	if n := limitOf(raw); n > 0 {
		o.max = n
	}
}

func limitOf(raw json.RawMessage) int {
	v, err := strconv.ParseFloat(string(raw), 64)
	if (err == nil || math.IsInf(v, 1)) && v >= 1 && !strings.ContainsAny(string(raw), "eE") {
		return int(min(math.Floor(v), math.MaxInt32))
	}
	return 0
}

func (o *result) sampling(f member) {
	if f.key == "max_new_tokens" {
		o.limit(f.raw)
	}
	if f.key != "sampling_params" {
		return
	}
	for _, p := range fieldsOf(f.raw) {
		if p.key == "max_tokens" || p.key == "max_new_tokens" {
			o.limit(p.raw)
		}
	}
}

func (o *result) prompt(api API, f member) {
	in := func(apis ...API) bool {
		for _, a := range apis {
			if a == api {
				return true
			}
		}
		return false
	}
	switch {
	case f.key == "messages" && in(APIChat, APIMessages, APIEmbeddings, APIGenerate):
		o.messageList(api, f.raw, false)
	case (f.key == "tools" || f.key == "functions") && in(APIChat, APIMessages, APIResponses, APIGenerate):
		o.hasTools = o.whole(SegmentTools, RoleNone, f.raw) || o.hasTools
	case f.key == "input" && in(APIResponses):
		if text, ok := stringOf(f.raw); ok {
			o.addText(RoleUser, text)
			o.messages++
			return
		}
		o.messageList(api, f.raw, true)
	case (f.key == "input" || f.key == "text" || f.key == "input_ids") && in(APIEmbeddings),
		f.key == "prompt" && in(APICompletions, APIGenerate):
		o.text(RoleNone, f.raw, 0)
	case f.key == "instructions" && in(APIResponses):
		first := len(o.pieces)
		o.text(RoleSystem, f.raw, 0)
		o.unbill(first, false)
	case f.key == "system" && in(APIMessages):
		first := len(o.pieces)
		o.text(RoleSystem, f.raw, 0)
		o.unbill(first, f.raw[0] != '"')
	case (f.key == "image_data" || f.key == "audio_data" || f.key == "video_data") && in(APIGenerate, APIEmbeddings):
		o.mediaData(f)
	case in(APIGenerate):
		switch f.key {
		case "text", "text_input", "input_ids", "token_ids", "input":
			o.text(RoleNone, f.raw, 0)
		}
	case in(APIRerank):
		switch f.key {
		case "query", "queries", "documents", "items", "text_1", "text_2", "data_1", "data_2":
			o.text(RoleNone, f.raw, 0)
		}
	}
}

// mediaData reads media that stand beside a prompt: one, a list, or a list of lists.
func (o *result) mediaData(f member) {
	kind, has := SegmentImage, &o.hasImage
	switch f.key {
	case "audio_data":
		kind, has = SegmentAudio, &o.hasAudio
	case "video_data":
		kind, has = SegmentVideo, &o.hasVideo
	}
	flat := func(raw json.RawMessage) []json.RawMessage {
		if raw[0] == '[' {
			return elementsOf(raw)
		}
		return []json.RawMessage{raw}
	}
	for _, list := range flat(f.raw) {
		for _, e := range flat(list) {
			if e[0] != '"' && e[0] != '{' {
				continue
			}
			*has = true
			if text, ok := place(e); ok {
				o.pieces = append(o.pieces, piece{kind, RoleNone, text})
			}
		}
	}
}

func (o *result) whole(kind SegmentKind, role Role, raw json.RawMessage) bool {
	if len(fieldsOf(raw)) == 0 && len(elementsOf(raw)) == 0 {
		return false
	}
	o.pieces = append(o.pieces, piece{kind, role, string(raw)})
	return true
}

func (o *result) text(role Role, raw json.RawMessage, inside int) {
	switch raw[0] {
	case '"':
		text, _ := stringOf(raw)
		o.addText(role, text)
	case '{':
		o.part(role, raw, inside)
	case '[':
		o.elements(role, elementsOf(raw), inside)
	}
}

// elements reads an array; numbers that no text, part or array stands between make one piece.
func (o *result) elements(role Role, list []json.RawMessage, inside int) {
	var run []string
	flush := func() {
		if len(run) > 0 {
			o.pieces = append(o.pieces, piece{SegmentTokens, role, strings.Join(run, " ")})
		}
		run = nil
	}
	for _, e := range list {
		switch c := e[0]; {
		case c == '"' || c == '{':
			flush()
			o.text(role, e, inside)
		case c == '[':
			flush()
			var inner []json.RawMessage
			for _, n := range elementsOf(e) {
				if c := n[0]; c == '-' || c >= '0' && c <= '9' || (c == '{' || c == '"') && o.pairs {
					inner = append(inner, n)
				}
			}
			o.elements(role, inner, inside)
		case c == '-' || c >= '0' && c <= '9':
			o.tokens++
			run = append(run, string(e))
		}
	}
	flush()
}

func (o *result) part(role Role, raw json.RawMessage, inside int) {
	fields := fieldsOf(raw)
	kind, typed := stringOf(lookup(fields, "type"))
	guess, media, found := "", "", false
	for _, f := range fields {
		switch f.key {
		case "image_url", "input_audio", "audio_url", "video_url", "input_video", "source", "file_id":
			if text, ok := place(f.raw); ok {
				guess, media, found = f.key, text, true
			}
		}
	}
	if !typed {
		kind = map[string]string{"": "", "source": "image", "file_id": "file"}[guess]
		if guess != "" && kind == "" {
			kind = guess
		}
	}
	nested := func(role Role, deepest int) {
		if raw := lookup(fields, "content"); raw != nil && inside <= deepest {
			o.text(role, raw, inside+1)
		}
	}
	add := func(k SegmentKind, has *bool) {
		*has = true
		if !found {
			media, found = stringOf(lookup(fields, "uuid"))
		}
		if found {
			o.pieces = append(o.pieces, piece{k, role, media})
		}
	}
	words, hasWords := stringOf(lookup(fields, "text"))
	switch kind {
	case "":
		if typed {
			return
		}
		nested(role, 0)
		fallthrough
	case "text", "input_text", "output_text":
		if hasWords {
			o.addText(role, words)
		}
	case "refusal", "thinking":
		if said, ok := stringOf(lookup(fields, kind)); ok {
			o.addText(role, said)
		}
	case "tool_result":
		nested(RoleTool, 0)
	case "search_result":
		nested(role, 1)
	case "document":
		if source, _ := stringOf(lookup(fieldsOf(lookup(fields, "source")), "type")); found &&
			typeOf(source) == typeText {
			o.addText(role, media)
		}
	case "tool_use", "server_tool_use":
		o.pieces = append(o.pieces, piece{SegmentToolCall, role, membersOf(raw)})
	case "image_url", "input_image", "image":
		add(SegmentImage, &o.hasImage)
	case "input_audio", "audio_url":
		add(SegmentAudio, &o.hasAudio)
	case "video_url", "input_video":
		add(SegmentVideo, &o.hasVideo)
	}
}

// membersOf is what stands between the braces of an object, up to the last member that is not cache_control.
func membersOf(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token()
	end := dec.InputOffset()
	for dec.More() {
		key, _ := dec.Token()
		var v json.RawMessage
		_ = dec.Decode(&v)
		if key != "cache_control" {
			end = dec.InputOffset()
		}
	}
	return string(raw[1:end])
}

func place(raw json.RawMessage) (text string, ok bool) {
	if text, ok := stringOf(raw); ok {
		return text, true
	}
	for _, f := range fieldsOf(raw) {
		if f.key == "url" || f.key == "data" || f.key == "file_id" {
			if t, isString := stringOf(f.raw); isString {
				text, ok = t, true
			}
		}
	}
	return text, ok
}

func (o *result) messageList(api API, raw json.RawMessage, items bool) {
	for _, m := range elementsOf(raw) {
		switch {
		case m[0] == '{':
			o.message(api, m, items)
		case m[0] == '[' && o.batches:
			for _, m := range elementsOf(m) {
				if m[0] == '{' {
					o.message(api, m, items)
				}
			}
		}
	}
}

func (o *result) message(api API, raw json.RawMessage, items bool) {
	fields := fieldsOf(raw)
	role := RoleNone
	if r, ok := stringOf(lookup(fields, "role")); ok {
		role = roleOf(r)
	}
	kind, typed := stringOf(lookup(fields, "type"))
	isMessage := !items || !typed || kind == "message"
	if isMessage {
		o.messages++
	}
	first := len(o.pieces)
	for _, f := range fields {
		switch {
		case f.key == "content" && isMessage:
			o.text(RoleNone, f.raw, 0)
		case (f.key == "tool_calls" || f.key == "function_call") && !items:
			o.whole(SegmentToolCall, RoleNone, f.raw)
		case f.key == "output" && items && (kind == "function_call_output" || kind == "custom_tool_call_output"):
			o.text(RoleTool, f.raw, 0)
		}
	}
	if items && (kind == "function_call" || kind == "custom_tool_call") {
		o.pieces = append(o.pieces, piece{SegmentToolCall, RoleAssistant, string(raw)})
	}
	for i := first; i < len(o.pieces); i++ {
		if o.pieces[i].role == RoleNone {
			o.pieces[i].role = role
		}
	}
	if _, isText := stringOf(lookup(fields, "content")); role == RoleSystem && (!items || isText) {
		o.unbill(first, api == APIMessages)
	}
}
