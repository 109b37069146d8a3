package openai

import (
	"bytes"
	"math"
)

// shape is how the value of a prompt key is read.
type shape uint8

const (
	shapeNone shape = iota
	shapeText
	shapeMessages
	shapeItems
	shapeTools
	shapeMedia
)

func shapeOf(api API, k key) shape {
	switch k {
	case keyMessages:
		if api == APIChat || api == APIMessages || api == APIEmbeddings || api == APIGenerate {
			return shapeMessages
		}
	case keyTools, keyFunctions:
		if api == APIChat || api == APIMessages || api == APIResponses || api == APIGenerate {
			return shapeTools
		}
	case keyInput:
		if api == APIResponses {
			return shapeItems
		}
		return textIn(api == APIEmbeddings || api == APIGenerate)
	case keyPrompt:
		return textIn(api == APICompletions || api == APIGenerate)
	case keyTextPrompt, keyInputIDs:
		return textIn(api == APIGenerate || api == APIEmbeddings)
	case keyTokenIDs, keyTextInput:
		return textIn(api == APIGenerate)
	case keyImageData, keyAudioData, keyVideoData:
		if api == APIGenerate || api == APIEmbeddings {
			return shapeMedia
		}
	case keyInstructions:
		return textIn(api == APIResponses)
	case keySystem:
		return textIn(api == APIMessages)
	case keyQuery, keyQueries, keyDocuments, keyItems, keyText1, keyText2, keyData1, keyData2:
		return textIn(api == APIRerank)
	}
	return shapeNone
}

func textIn(yes bool) shape {
	if yes {
		return shapeText
	}
	return shapeNone
}

// request reads the outermost object.
func (s *scanner) request(api API) {
	s.api = api
	for k := s.firstKey(); k != keyEnd; k = s.nextKey() {
		if k == keyText {
			k = keyTextPrompt
		}
		if sh := shapeOf(api, k); sh != shapeNone {
			s.prompt(k, sh)
			continue
		}
		if api == APIGenerate && (k == keySamplingParams || k == keyMaxNewTokens) {
			s.sampling(k)
			continue
		}
		s.setting(k)
	}
}

// sampling reads the engines' own limits on the answer: max_new_tokens, or the limits in sampling_params.
func (s *scanner) sampling(k key) {
	if k == keyMaxNewTokens {
		s.maxTokens[k-keyMaxTokens] = s.limit()
		return
	}
	s.maxTokens[limitSampling], s.maxTokens[limitSamplingNew] = limit{}, limit{}
	if s.peek() != '{' {
		s.skip()
		return
	}
	for k := s.firstKey(); k != keyEnd; k = s.nextKey() {
		switch k {
		case keyMaxTokens:
			s.maxTokens[limitSampling] = s.limit()
		case keyMaxNewTokens:
			s.maxTokens[limitSamplingNew] = s.limit()
		default:
			s.skip()
		}
	}
}

func (s *scanner) setting(k key) {
	switch k {
	case keyModel:
		s.modelAt = s.pos
		s.modelBad = s.peek() != '"' && s.peek() != 'n'
		s.model = s.optionalString()
	case keyUser:
		s.user = s.optionalString()
	case keyCacheSalt:
		s.peek()
		start := s.pos
		s.cacheSalt = s.optionalString()
		s.saltSpan = span(start, s.pos)
	case keyExtraKey:
		s.extraKey = s.otherString()
	case keyLoRAPath:
		s.loraPath = s.otherString()
	case keyPreviousResponseID:
		s.previousID = s.optionalString()
	case keyStream:
		s.stream = s.boolean()
	case keyStreamOptions:
		s.streamUsage = s.includeUsage()
	case keyMaxTokens, keyMaxCompletionTokens, keyMaxOutputTokens:
		s.maxTokens[k-keyMaxTokens] = s.limit()
	default:
		s.other()
	}
}

// optionalString returns the string at pos; any other value is skipped and nothing returned.
func (s *scanner) optionalString() text {
	if s.peek() != '"' {
		s.skip()
		return text{}
	}
	s.string()
	return s.last
}

// otherString is optionalString for a key that Want may name, too.
func (s *scanner) otherString() text {
	isString := s.peek() == '"'
	if s.other(); isString {
		return s.last
	}
	return text{}
}

// boolean is true only for the literal true.
func (s *scanner) boolean() bool {
	if s.peek() == 't' {
		return s.literal("true")
	}
	s.skip()
	return false
}

func (s *scanner) includeUsage() bool {
	if s.peek() != '{' {
		s.skip()
		return false
	}
	on := false
	for k := s.firstKey(); k != keyEnd; k = s.nextKey() {
		if k == keyIncludeUsage {
			on = s.boolean()
			continue
		}
		s.skip()
	}
	return on
}

// limit reads a positive number; value is 0 for anything else. A fraction is cut off, an exponent makes it unknown.
func (s *scanner) limit() limit {
	start := s.pos
	number := s.peek()-'0' < 10
	s.skip()
	if !number || bytes.ContainsAny(s.body[start:s.pos], "eE") {
		return limit{}
	}
	value := 0
	for _, c := range s.body[start:s.pos] {
		if c-'0' > 9 {
			break
		}
		if value > (math.MaxInt32-9)/10 {
			return limit{value: math.MaxInt32, at: start}
		}
		value = value*10 + int(c-'0')
	}
	return limit{value: value, at: start}
}

func (s *scanner) prompt(k key, sh shape) {
	id := int(k)
	s.begin(id)
	switch sh {
	case shapeTools:
		if s.whole(SegmentTools, RoleNone) {
			s.sum.tools++
		}
	case shapeMessages:
		s.messages(false)
	case shapeItems:
		if s.peek() != '"' {
			s.messages(true)
			break
		}
		s.string()
		s.addText(RoleUser, &s.last)
		s.sum.messages++
	case shapeText:
		s.promptText(k)
	case shapeMedia:
		s.mediaData(typeImage + partType(k-keyImageData))
	}
	s.end(id)
}

func (s *scanner) promptText(k key) {
	role, first := RoleNone, len(s.segments)
	if k == keySystem || k == keyInstructions {
		role = RoleSystem
	}
	blocks := s.peek() != '"'
	s.text(role, slotPart)
	if role == RoleSystem {
		s.unbill(first, blocks && k == keySystem)
	}
}

// whole skips the array or object at pos and keeps it as one segment unless it is empty.
func (s *scanner) whole(kind SegmentKind, role Role) bool {
	opening := s.peek()
	start := s.pos
	s.skip()
	if opening != '[' && opening != '{' {
		return false
	}
	for _, c := range s.body[start+1 : max(start+1, s.pos-1)] {
		if c > ' ' {
			s.addSegment(kind, role, start, s.pos, false)
			return true
		}
	}
	return false
}
