package openai

// messages reads an array of messages or, for the Responses API, of items.
func (s *scanner) messages(items bool) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	for more := s.firstElement(); more; more = s.nextElement() {
		if s.peek() != '[' || s.api != APIEmbeddings {
			s.listed(items)
			continue
		}
		for inner := s.firstElement(); inner; inner = s.nextElement() { // vLLM takes several chats at once
			s.listed(items)
		}
	}
}

// listed reads an element of a list of messages, which counts if it is an object.
func (s *scanner) listed(items bool) {
	if s.peek() == '{' {
		s.message(items)
		return
	}
	s.skip()
}

func (s *scanner) message(items bool) {
	start, first := s.pos, len(s.segments)
	s.used &^= messageSlots
	role, kind, isText := RoleNone, typeNone, false
	for k := s.firstKey(); k != keyEnd; k = s.nextKey() {
		switch {
		case k == keyRole:
			role = s.role()
		case k == keyType && items:
			kind = s.partType()
		case k == keyContent:
			isText = s.peek() == '"'
			s.begin(slotContent)
			s.text(RoleNone, slotPart)
			s.end(slotContent)
		case k == keyOutput && items:
			s.begin(slotOutput)
			s.text(RoleTool, slotPart)
			s.end(slotOutput)
		case k == keyToolCalls && !items:
			s.toolCalls(slotToolCalls)
		case k == keyFunctionCall && !items:
			s.toolCalls(slotFunctionCall)
		default:
			s.skip()
		}
	}
	if items {
		s.item(kind, start)
	} else {
		s.sum.messages++
	}
	for i := first; i < len(s.segments); i++ {
		if s.segments[i].Role == RoleNone {
			s.segments[i].Role = role
		}
	}
	if role == RoleSystem && (!items || isText) {
		s.unbill(first, s.api == APIMessages)
	}
}

func (s *scanner) toolCalls(id int) {
	s.begin(id)
	s.whole(SegmentToolCall, RoleNone)
	s.end(id)
}

// item settles what an item of the Responses API is, once its type is known.
func (s *scanner) item(kind partType, start int) {
	if kind == typeNone || kind == typeMessage {
		s.drop(slotOutput)
		s.sum.messages++
		return
	}
	s.drop(slotContent)
	if kind == typeCallOutput {
		return
	}
	s.drop(slotOutput)
	if kind == typeCall {
		s.addSegment(SegmentToolCall, RoleAssistant, start, s.pos, false)
	}
}

func (s *scanner) role() Role {
	if !s.optionalString().set {
		return RoleNone
	}
	return roleOf(s.word())
}

func (s *scanner) partType() partType {
	if !s.optionalString().set {
		return typeNone
	}
	return typeOf(s.word())
}

const (
	textKeys  = keyThinking - keyText + 1
	mediaKeys = keyFileID - keyImageURL + 1
)

// mediaTypes is what a part without a type is, by the key that holds its media.
var mediaTypes = [mediaKeys]partType{
	0:                           typeImage, // keyImageURL
	keyInputAudio - keyImageURL: typeAudio,
	keyAudioURL - keyImageURL:   typeAudio,
	keyVideoURL - keyImageURL:   typeVideo,
	keyInputVideo - keyImageURL: typeVideo,
	keySource - keyImageURL:     typeImage,
	keyFileID - keyImageURL:     typeOther,
}

// part reads a content part or block. Its type may come last, so text and media are held until its end; nested content
// goes into slot id and is taken back when the type turns out to have none. Of parts inside nested content, search
// results alone have nested content of their own: SGLang reads what tools have found.
func (s *scanner) part(role Role, id int) {
	members := span(s.pos+1, s.pos+1)
	s.used &^= 1 << id
	media := &s.media[id-slotPart]
	found := uint(0) // bit per media key
	var words [textKeys]text
	var uuid text
	var kind, source partType
	for k := s.firstKey(); k != keyEnd; k = s.nextKey() {
		switch k {
		case keyType:
			kind = s.partType()
		case keyText, keyRefusal, keyThinking:
			words[k-keyText] = s.optionalString()
		case keyImageURL, keyInputAudio, keyAudioURL, keyVideoURL, keyInputVideo, keySource, keyFileID:
			m := k - keyImageURL
			found &^= 1 << m
			inner := s.place(&media[m])
			if media[m].set {
				found |= 1 << m
			}
			if k == keySource {
				source = inner
			}
		case keyUUID:
			uuid = s.optionalString()
		case keyContent:
			s.nested(role, id)
		case keyCacheControl: // clients have it move on with each turn
			s.skip()
			continue
		default:
			s.skip()
		}
		members.End = uint32(s.pos)
	}
	last, guess := lastMedia(media, found)
	if kind == typeNone {
		kind = guess
	}
	if !last.set && kind >= typeImage && kind <= typeVideo {
		last = uuid // by which vLLM finds media that it got before
	}
	said := words[0]
	if kind == typeRefusal || kind == typeThinking {
		kind, said = typeText, words[kind-typeText]
	}
	s.settle(kind, role, id, members, &said, &last, source)
}

// lastMedia picks the media that stands last in the part.
func lastMedia(media *[mediaKeys]text, found uint) (last text, guess partType) {
	for m := range media {
		if found>>m&1 == 1 && media[m].start >= last.start {
			last, guess = media[m], mediaTypes[m]
		}
	}
	return last, guess
}

// nested reads the content of a part into its slot.
func (s *scanner) nested(role Role, id int) {
	if id == slotInnermostPart {
		s.skip()
		return
	}
	s.begin(id)
	s.text(role, id+1)
	s.end(id)
}

// settle adds what a part turned out to be.
func (s *scanner) settle(kind partType, role Role, id int, members Span, words, media *text, source partType) {
	if id != slotPart && kind != typeSearchResult {
		s.drop(id)
	}
	switch kind {
	case typeToolResult:
		s.assign(id, RoleTool)
		return
	case typeSearchResult:
		return
	case typeNone:
		if words.set {
			s.addText(role, words)
		}
		return
	}
	s.drop(id)
	switch kind {
	case typeText:
		if words.set {
			s.addText(role, words)
		}
	case typeDocument:
		if media.set && source == typeText {
			s.addText(role, media)
		}
	case typeToolUse:
		s.addSegment(SegmentToolCall, role, int(members.Start), int(members.End), false)
	case typeImage, typeAudio, typeVideo:
		s.addMedia(kind, role, media)
	}
}

// assign gives the segments of a slot a role.
func (s *scanner) assign(id int, role Role) {
	if s.used>>id&1 == 0 {
		return
	}
	for i := s.slots[id].lo; i < s.slots[id].hi; i++ {
		s.segments[i].Role = role
	}
}

// place reads where an image, audio or video is: a string, or an object with url, data or file_id, of which the last
// one counts. It returns the type that the object gives.
func (s *scanner) place(into *text) (kind partType) {
	if s.peek() != '{' {
		*into = s.optionalString()
		return typeNone
	}
	var url, data, file text
	for k := s.firstKey(); k != keyEnd; k = s.nextKey() {
		switch k {
		case keyURL:
			url = s.optionalString()
		case keyData:
			data = s.optionalString()
		case keyFileID:
			file = s.optionalString()
		case keyType:
			kind = s.partType()
		default:
			s.skip()
		}
	}
	*into = later(later(url, data), file)
	return kind
}

func later(a, b text) text {
	if b.start > a.start {
		return b
	}
	return a
}
