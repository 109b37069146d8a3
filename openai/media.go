package openai

// mediaData reads what stands beside a prompt in SGLang's own API: an image, video or audio, a list of them, or a list
// of lists where there are several prompts.
func (s *scanner) mediaData(kind partType) {
	if s.peek() != '[' {
		s.medium(kind)
		return
	}
	for more := s.firstElement(); more; more = s.nextElement() {
		if s.peek() != '[' {
			s.medium(kind)
			continue
		}
		for inner := s.firstElement(); inner; inner = s.nextElement() {
			s.medium(kind)
		}
	}
}

// medium reads one of them; what is neither a string nor an object is none.
func (s *scanner) medium(kind partType) {
	first := s.peek()
	var at text
	s.place(&at)
	if first == '"' || first == '{' {
		s.addMedia(kind, RoleNone, &at)
	}
}

// addMedia counts an image, an audio or a video, and adds it where it says where it is.
func (s *scanner) addMedia(kind partType, role Role, t *text) {
	segment := SegmentImage
	switch kind {
	case typeImage:
		s.sum.images++
	case typeAudio:
		s.sum.audios++
		segment = SegmentAudio
	case typeVideo:
		s.sum.videos++
		segment = SegmentVideo
	}
	if t.set {
		s.addSegment(segment, role, t.start, t.end, t.escaped)
	}
}
