package openai

import "math"

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
	// The others only make up these, see usageDocument.settle.
	fieldInput
	fieldRead
	fieldCreated
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
	case "prompt_tokens":
		return fieldPrompt
	case "input_tokens":
		return fieldInput
	case "completion_tokens", "output_tokens":
		return fieldCompletion
	case "total_tokens":
		return fieldTotal
	case "cache_read_input_tokens":
		return fieldRead
	case "cache_creation_input_tokens":
		return fieldCreated
	}
	return fieldNone
}

// commit takes over the fields of a usage object that ended. A total belongs to the counts it came with, so one that
// came without is computed anew.
func (d *usageDocument) commit() {
	d.settle()
	if d.freshFields == 0 {
		return
	}
	for f := range d.counts {
		if d.freshFields>>f&1 == 1 {
			d.counts[f] = d.fresh[f]
		}
	}
	d.seen = d.seen&^(1<<fieldTotal) | d.freshFields
}

// settle makes up the tokens of the prompt where a usage object has input_tokens. In Anthropic's API these leave out
// what was read from the cache and what was written to it, which stand beside them; so do vLLM's servers
// (_build_anthropic_usage in vllm/entrypoints/anthropic/serving.py) and SGLang's (anthropic_usage_from_openai in
// sglang/srt/entrypoints/anthropic/response_conversion.py). In streams each object is made alike, and one without the
// cache's counts has all of the prompt in input_tokens, so objects are added up each by itself.
func (d *usageDocument) settle() {
	const input, read, created = 1 << fieldInput, 1 << fieldRead, 1 << fieldCreated
	fields := d.freshFields
	if fields&input != 0 && fields>>fieldPrompt&1 == 0 {
		prompt := int64(d.fresh[fieldInput])
		if fields&read != 0 {
			prompt += int64(d.fresh[fieldRead])
		}
		if fields&created != 0 {
			prompt += int64(d.fresh[fieldCreated])
		}
		d.fresh[fieldPrompt] = int(min(prompt, math.MaxInt32))
		fields |= 1 << fieldPrompt
	}
	if fields&read != 0 {
		d.fresh[fieldCached] = d.fresh[fieldRead]
		fields |= 1 << fieldCached
	}
	d.freshFields = fields &^ (input | read | created)
}
