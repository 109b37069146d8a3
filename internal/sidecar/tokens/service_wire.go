package tokens

import (
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of llm-d's tokenizer service, of api/tokenizerpb/tokenizer.proto in github.com/llm-d/llm-d-kv-cache. The
// numbers are those of their fields.

func appendText(dst []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), text)
}

func appendPart(dst []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), message)
}

func appendBool(dst []byte, field protowire.Number, value bool) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), protowire.EncodeBool(value))
}

// appendLoad appends an InitializeTokenizerRequest.
func appendLoad(dst []byte, model string) []byte {
	return appendBool(appendText(dst, 1, model), 3, true) // add_generation_prompt, as llm-d has it
}

// appendCompletion appends a RenderCompletionRequest.
func appendCompletion(dst []byte, model, prompt string) []byte {
	return appendText(appendText(dst, 1, model), 2, prompt)
}

// chatQuestion is a RenderChatCompletionRequest.
type chatQuestion struct {
	model, template     string
	messages            []chatMessage
	tools, values       json.RawMessage
	addGeneration, goOn bool
}

func (c *chatQuestion) append(dst []byte) []byte {
	dst = appendText(dst, 1, c.model)
	for i := range c.messages {
		dst = appendPart(dst, 2, c.messages[i].append(nil))
	}
	if c.tools != nil {
		dst = appendPart(dst, 3, c.tools)
	}
	if c.template != "" {
		dst = appendText(dst, 4, c.template)
	}
	dst = appendBool(appendBool(dst, 5, c.addGeneration), 6, c.goOn)
	if c.values != nil {
		dst = appendPart(dst, 7, c.values)
	}
	return dst
}

func (m *chatMessage) append(dst []byte) []byte {
	dst = appendText(dst, 1, m.role)
	if m.content != nil {
		dst = appendText(dst, 2, *m.content)
	}
	for _, part := range m.parts {
		if part.text != nil {
			dst = appendPart(dst, 3, appendText(appendText(nil, 1, "text"), 2, *part.text))
		} else {
			dst = appendPart(dst, 3, appendPart(appendText(nil, 1, "image_url"), 3, appendText(nil, 1, part.image)))
		}
	}
	if m.calls != nil {
		dst = appendPart(dst, 4, m.calls)
	}
	return dst
}

var errService = errors.New("the answer of the tokenizer service cannot be read")

// wireField is a field of a message: a number, or bytes.
type wireField struct {
	number protowire.Number
	value  uint64
	bytes  []byte
}

// eachField calls take for each field of a message that is a number or bytes.
func eachField(message []byte, take func(f wireField) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errService
		}
		message = message[n:]
		f := wireField{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errService
		}
		message = message[n:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			if err := take(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLoaded reads an InitializeTokenizerResponse.
func readLoaded(message []byte) error {
	success, said := false, ""
	err := eachField(message, func(f wireField) error {
		switch f.number {
		case 1:
			success = f.value != 0
		case 2:
			said = string(f.bytes)
		}
		return nil
	})
	if err == nil && !success {
		err = errors.New(said)
	}
	return err
}

// errFailed leaves out what the service says of it, which may be the prompt's words.
var errFailed = errors.New("tokenizer service: it failed")

// readRendered reads a RenderChatCompletionResponse, or a RenderCompletionResponse.
func readRendered(message []byte, chat bool) (r rendered, err error) {
	media, succeeded := protowire.Number(3), protowire.Number(4)
	if !chat {
		media, succeeded = 0, 3
	}
	success := false
	err = eachField(message, func(f wireField) (err error) {
		switch f.number {
		case 2:
			r.Tokens, err = appendTokens(r.Tokens, f)
		case media:
			r.Features, err = readFeatures(f.bytes)
		case succeeded:
			success = f.value != 0
		}
		return err
	})
	if err == nil && !success {
		err = errFailed
	}
	return r, err
}

// appendTokens appends numbers, which may come one by one or packed.
func appendTokens(dst []uint32, f wireField) ([]uint32, error) {
	if f.bytes == nil {
		return append(dst, uint32(f.value)), nil
	}
	for packed := f.bytes; len(packed) > 0; {
		value, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return dst, errService
		}
		dst, packed = append(dst, uint32(value)), packed[n:]
	}
	return dst, nil
}

// readFeatures reads MultiModalFeatures: by kind of media the hashes, and their places among the tokens.
func readFeatures(message []byte) (*features, error) {
	r := &features{Hashes: map[string][]string{}, Places: map[string][]place{}}
	return r, eachField(message, func(entry wireField) error {
		kind, list := "", []byte(nil)
		err := eachField(entry.bytes, func(f wireField) error {
			switch f.number {
			case 1:
				kind = string(f.bytes)
			case 2:
				list = f.bytes
			}
			return nil
		})
		if err != nil {
			return err
		}
		return eachField(list, func(f wireField) error {
			switch {
			case f.number != 1:
			case entry.number == 1:
				r.Hashes[kind] = append(r.Hashes[kind], string(f.bytes))
			case entry.number == 2:
				p, err := readPlace(f.bytes)
				r.Places[kind] = append(r.Places[kind], p)
				return err
			}
			return nil
		})
	})
}

func readPlace(message []byte) (p place, err error) {
	err = eachField(message, func(f wireField) error {
		switch f.number {
		case 1:
			p.Offset = int(int32(f.value))
		case 2:
			p.Length = int(int32(f.value))
		}
		return nil
	})
	return p, err
}
