package openai

// node is an object on the way to the usage.
type node uint8

const (
	nodeOther node = iota
	nodeRoot
	nodeEnvelope // response (Responses API events), message (Anthropic's message_start)
	nodeUsage
	nodeDetails
)

type field uint8

const (
	fieldPrompt field = iota
	fieldCompletion
	fieldTotal
	fieldCached
	fieldCount
	fieldNone = fieldCount
)

func nodeOf(parent node, key string) node {
	switch {
	case key == "usage" && (parent == nodeRoot || parent == nodeEnvelope):
		return nodeUsage
	case (key == "response" || key == "message") && parent == nodeRoot:
		return nodeEnvelope
	case (key == "prompt_tokens_details" || key == "input_tokens_details") && parent == nodeUsage:
		return nodeDetails
	}
	return nodeOther
}

func fieldOf(parent node, key string) field {
	if parent == nodeDetails && key == "cached_tokens" {
		return fieldCached
	}
	if parent != nodeUsage {
		return fieldNone
	}
	switch key {
	case "prompt_tokens", "input_tokens":
		return fieldPrompt
	case "completion_tokens", "output_tokens":
		return fieldCompletion
	case "total_tokens":
		return fieldTotal
	case "cache_read_input_tokens":
		return fieldCached
	}
	return fieldNone
}
