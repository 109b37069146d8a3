package openai

// Role is who speaks in a segment.
type Role uint8

const (
	RoleNone Role = iota // no role given, or the API has none
	RoleSystem
	RoleDeveloper
	RoleUser
	RoleAssistant
	RoleTool
	RoleOther
)

var roleNames = [...]string{"none", "system", "developer", "user", "assistant", "tool", "other"}

func (r Role) String() string {
	if int(r) >= len(roleNames) {
		return "unknown"
	}
	return roleNames[r]
}

func roleOf(w string) Role {
	switch w {
	case "user":
		return RoleUser
	case "assistant":
		return RoleAssistant
	case "system":
		return RoleSystem
	case "tool", "function":
		return RoleTool
	case "developer":
		return RoleDeveloper
	}
	return RoleOther
}

// partType is what the type of a content part, block or item makes of it.
type partType uint8

const (
	typeNone partType = iota // no type given: the keys decide
	// Those up to typeThinking have their text in keyText and the keys behind it. vLLM takes all of them for text
	// (TEXT_PART_TYPES in vllm/renderers/chat_utils/chat_message.py), SGLang also what was thought in the messages API
	// (sglang/srt/entrypoints/anthropic/request_conversion.py).
	typeText
	typeRefusal
	typeThinking
	typeImage
	typeAudio
	typeVideo
	typeToolUse
	typeToolResult
	typeSearchResult
	typeDocument
	typeMessage
	typeCall
	typeCallOutput
	typeOther
)

func typeOf(w string) partType {
	switch w {
	case "text", "input_text", "output_text":
		return typeText
	case "refusal":
		return typeRefusal
	case "thinking":
		return typeThinking
	case "image_url", "input_image", "image":
		return typeImage
	case "input_audio", "audio_url":
		return typeAudio
	case "video_url", "input_video":
		return typeVideo
	case "tool_use", "server_tool_use":
		return typeToolUse
	case "tool_result":
		return typeToolResult
	case "search_result":
		return typeSearchResult
	case "document":
		return typeDocument
	case "message":
		return typeMessage
	case "function_call", "custom_tool_call":
		return typeCall
	case "function_call_output", "custom_tool_call_output":
		return typeCallOutput
	}
	return typeOther
}
