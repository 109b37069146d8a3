package openai

import "strconv"

// Reason says why a body was refused. It is an error itself, so errors.Is(err, ReasonModelType) works on what Scan
// returns.
type Reason uint8

// The reasons, in the order in which a scan can meet them.
const (
	reasonNone Reason = iota
	ReasonTooLarge
	ReasonBOM
	ReasonNotObject
	ReasonEnd
	ReasonByte
	ReasonLiteral
	ReasonNumber
	ReasonControl
	ReasonEscape
	ReasonUTF8
	ReasonDepth
	ReasonTrailing
	ReasonModelType
	ReasonModelLong
)

var reasonTexts = [...]string{
	reasonNone:      "no error",
	ReasonTooLarge:  "body larger than 1 GiB",
	ReasonBOM:       "byte order mark before the JSON object",
	ReasonNotObject: "body is not a JSON object",
	ReasonEnd:       "unexpected end of JSON",
	ReasonByte:      "unexpected character",
	ReasonLiteral:   "invalid literal, want true, false or null",
	ReasonNumber:    "invalid number",
	ReasonControl:   "control character in string, want an escape",
	ReasonEscape:    "invalid escape in string",
	ReasonUTF8:      "invalid UTF-8 in string",
	ReasonDepth:     "nested deeper than 512 levels",
	ReasonTrailing:  "data after the JSON object",
	ReasonModelType: "model is not a string",
	ReasonModelLong: "model is longer than 1024 bytes",
}

func (r Reason) Error() string {
	if int(r) >= len(reasonTexts) {
		return "unknown reason"
	}
	return reasonTexts[r]
}

// Error is what Scan returns. It lives in the Request and is overwritten by the next Scan, which keeps errors free of
// allocation; copy the value to keep it.
type Error struct {
	Offset uint32 // byte offset in the body at which the reason was seen
	Reason Reason
}

func (e *Error) Error() string {
	return e.Reason.Error() + " at byte " + strconv.FormatUint(uint64(e.Offset), 10)
}

// Unwrap lets errors.Is compare the reason.
func (e *Error) Unwrap() error { return e.Reason }
