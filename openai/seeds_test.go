package openai

// seedBodies are bodies as clients write them, and broken ones.
var seedBodies = []string{
	`{"messages":[{"role":"system","content":"You are helpful."},{"role":"user","content":"Hi\n\"there\" \ud83d\ude00"}],"model":"meta-llama/Llama-3.1-8B-Instruct","stream":true,"stream_options":{"include_usage":true},"max_tokens":128}`,
	`{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}]}], "user": "u-1"}`,
	`{"model":"m","prompt":["one","two"],"max_tokens":5}`,
	`{"model":"m","prompt":[[1,2,3],[4]]}`,
	`{"model":"m","prompt":[1,2,3]}`,
	`{"model":"m","instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":"http://x/y.png","file_id":null}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"42"},{"type":"reasoning","content":[{"type":"reasoning_text","text":"no"}]}],"previous_response_id":"resp_1"}`,
	`{"model":"m","input":"plain"}`,
	`{"model":"claude","system":[{"type":"text","text":"sys","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"42"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"content":[{"source":{"data":"doc","type":"text"},"type":"document"}],"role":"user"}],"max_tokens":10}`,
	`{"model":"m","query":"q","documents":["a",{"text":"b"},{"content":[{"type":"text","text":"c"}]}]}`,
	`{"model":"m","text_1":"a","text_2":["b","c"]}`,
	`{"model":"a","model":"b","messages":[{"role":"user","content":"x"}],"messages":[{"content":"y","content":"z","role":"user","role":"tool"}]}`,
	`{"mod\u0065l":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"漢字漢字漢字 and more"}],"tools":[{"type":"function"}]}`,
	`{"model":1}`, `{"model":null}`, `{}`, ` { } `, `[]`, `{"a":NaN}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e+}`,
	`{"a":"\x"}`, `{"a":"\u12"}`,
	"{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\x01\"}", "\xef\xbb\xbf{}", `{"a":1}x`, `{"a":1,}`, `{,}`,
	`{"a"}`, `{"a":[1,]}`, `{"a":[}`,
	`{"text":["one","two"],"sampling_params":{"max_new_tokens":5,"max_tokens":0.5},"stream":true}`,
	`{"input_ids":[[1,2],[3]],"sampling_params":{"max_new_tokens":7},"sampling_params":{},"max_new_tokens":3}`,
	`{"model":"m","token_ids":[1,2,3],"sampling_params":{"max_tokens":9},"cache_salt":"s","extra_key":"e"}`,
	`{"model":"claude","system":[{"type":"text","text":"x-anthropic-billing-header: cch=a1b2c;"},{"type":"text","text":"sys"}],"messages":[{"role":"system","content":"x-anthropic-billing-header: é\nrest \"of it\""}]}`,
	`{"system":"\u0078-anthropic-billing-header: \ud83d\ude00\u000asys","model":"claude"}`,
	`{"a":tru}`, `{"a`, `{"a":"b`, ``, ` `,
}
