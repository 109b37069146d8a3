package openai

import "unsafe"

// maxWord is longer than every key, role and type that has a meaning here.
const maxWord = 32

// key is an object key that the scanner knows. Those below promptKeys hold text or media of prompts in some API; each
// has a slot of its own.
type key uint8

const (
	keyMessages key = iota
	keyPrompt
	keyInput
	keyInstructions
	keySystem
	keyTools
	keyFunctions
	keyQuery
	keyQueries
	keyDocuments
	keyItems
	keyText1
	keyText2
	keyData1
	keyData2
	keyTextPrompt // the key text in the outermost object
	keyInputIDs
	keyTokenIDs
	keyTextInput
	keyImageData
	keyAudioData
	keyVideoData
	promptKeys

	keyModel key = iota
	keyUser
	keyStream
	keyStreamOptions
	keyIncludeUsage
	keyMaxTokens
	keyMaxCompletionTokens
	keyMaxOutputTokens
	keyMaxNewTokens
	keyCacheSalt
	keyExtraKey
	keyLoRAPath
	keyPreviousResponseID
	keySamplingParams

	keyRole
	keyContent
	keyType
	keyToolCalls
	keyFunctionCall
	keyOutput
	keyURL
	keyData
	keyCacheControl
	keyUUID

	// Those up to keyThinking hold the text of a part.
	keyText
	keyRefusal
	keyThinking

	// Those up to keyFileID hold the media of a part.
	keyImageURL
	keyInputAudio
	keyAudioURL
	keyVideoURL
	keyInputVideo
	keySource
	keyFileID

	keyOther
	keyEnd
)

// word returns the decoded string read last, valid until the next call, or nothing where it is longer than any known
// word.
func (s *scanner) word() string {
	t := &s.last
	if t.bytes > maxWord {
		return ""
	}
	raw := s.body[t.start:t.end]
	if t.escaped {
		raw = AppendUnescaped(s.buffer[:0], raw, maxWord)
	}
	return view(raw)
}

// view returns b as a string that shares its memory. TinyGo copies in string(b) even for a comparison.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// keyOf switches on the length first: TinyGo compares the cases of a string switch one by one.
func keyOf(w string) key {
	switch len(w) {
	case 3, 4:
		return shortKey(w)
	case 5, 6:
		return mediumKey(w)
	case 7, 8, 9:
		return longKey(w)
	}
	return longestKey(w)
}

func shortKey(w string) key {
	switch w {
	case "role":
		return keyRole
	case "type":
		return keyType
	case "text":
		return keyText
	case "user":
		return keyUser
	case "data":
		return keyData
	case "uuid":
		return keyUUID
	case "url":
		return keyURL
	}
	return keyOther
}

func mediumKey(w string) key {
	switch w {
	case "model":
		return keyModel
	case "stream":
		return keyStream
	case "prompt":
		return keyPrompt
	case "input":
		return keyInput
	case "tools":
		return keyTools
	case "system":
		return keySystem
	case "source":
		return keySource
	case "output":
		return keyOutput
	case "query":
		return keyQuery
	case "items":
		return keyItems
	case "text_1":
		return keyText1
	case "text_2":
		return keyText2
	case "data_1":
		return keyData1
	case "data_2":
		return keyData2
	}
	return keyOther
}

func longKey(w string) key {
	switch w {
	case "content":
		return keyContent
	case "messages":
		return keyMessages
	case "image_url":
		return keyImageURL
	case "audio_url":
		return keyAudioURL
	case "video_url":
		return keyVideoURL
	case "file_id":
		return keyFileID
	case "queries":
		return keyQueries
	case "refusal":
		return keyRefusal
	case "thinking":
		return keyThinking
	case "documents":
		return keyDocuments
	case "functions":
		return keyFunctions
	case "input_ids":
		return keyInputIDs
	case "token_ids":
		return keyTokenIDs
	case "extra_key":
		return keyExtraKey
	case "lora_path":
		return keyLoRAPath
	}
	return keyOther
}

func longestKey(w string) key {
	switch w {
	case "tool_calls":
		return keyToolCalls
	case "text_input":
		return keyTextInput
	case "image_data":
		return keyImageData
	case "audio_data":
		return keyAudioData
	case "video_data":
		return keyVideoData
	case "max_tokens":
		return keyMaxTokens
	case "max_completion_tokens":
		return keyMaxCompletionTokens
	case "max_output_tokens":
		return keyMaxOutputTokens
	case "stream_options":
		return keyStreamOptions
	case "include_usage":
		return keyIncludeUsage
	case "instructions":
		return keyInstructions
	case "max_new_tokens":
		return keyMaxNewTokens
	case "sampling_params":
		return keySamplingParams
	case "cache_salt":
		return keyCacheSalt
	case "previous_response_id":
		return keyPreviousResponseID
	case "input_audio":
		return keyInputAudio
	case "input_video":
		return keyInputVideo
	case "function_call":
		return keyFunctionCall
	case "cache_control":
		return keyCacheControl
	}
	return keyOther
}
