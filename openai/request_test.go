package openai

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// summary writes down what a scan found, segment by segment.
func summary(r *Request, body []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q chars=%d bytes=%d", r.Model, r.Chars, r.Bytes)
	for _, f := range []struct {
		name  string
		value int
	}{{"tokens", r.PromptTokens}, {"messages", r.Messages}, {"max", r.MaxTokens}} {
		if f.value != 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.value)
		}
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"stream", r.Stream}, {"usage", r.StreamUsage}, {"image", r.HasImage}, {"audio", r.HasAudio},
		{"video", r.HasVideo}, {"tools", r.HasTools}} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	kinds := [...]string{"text", "image", "audio", "video", "tools", "call", "tokens"}
	for i, s := range r.Segments {
		fmt.Fprintf(&b, "\n%s %s %s", kinds[s.Kind], s.Role, r.AppendTextMax(nil, body, i, -1))
	}
	return b.String()
}

func TestScan(t *testing.T) {
	for _, c := range []struct {
		name string
		api  API
		body string
		want string
	}{
		{"empty object", APIChat, ` {} `, `"" chars=0 bytes=0`},
		{"white space", APIChat, "\r\n\t { \"x\"\r:\t[ ]\n,\r\"model\" : \"m\"\t}\r\n", `"m" chars=0 bytes=0`},
		{"values that are skipped", APIChat,
			`{"x":[{"a":[1]},[{},[1,2],"s"],{"b":{}},[],-0,1e-5,1E+5,0.5,-1.5e3,true,false,null],"model":"m"}`,
			`"m" chars=0 bytes=0`},
		{"chat", APIChat, seedBodies[0],
			`"meta-llama/Llama-3.1-8B-Instruct" chars=28 bytes=31 messages=2 max=128 stream usage` +
				"\ntext system You are helpful.\ntext user Hi\n\"there\" 😀"},
		{"parts", APIChat, seedBodies[1], `"m" chars=4 bytes=4 messages=1 image` +
			"\ntext user look\nimage user data:image/png;base64,AAAA"},
		{"type behind text", APIChat,
			`{"messages":[{"content":[{"text":"a","type":"text"},{"image_url":"u","type":"image_url"}],"role":"user"}]}`,
			`"" chars=1 bytes=1 messages=1 image` + "\ntext user a\nimage user u"},
		{"part without type", APIChat,
			`{"messages":[{"content":["s",{"text":"a"},{"video_url":{"url":"v"}},{"input_audio":{"data":"d","format":"wav"}}]}]}`,
			`"" chars=2 bytes=2 messages=1 audio video` + "\ntext none s\ntext none a\nvideo none v\naudio none d"},
		{"null media beside the real one", APIChat,
			`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"u","data":null},"input_audio":null,"file_id":null}]}]}`,
			`"" chars=0 bytes=0 messages=1 image` + "\nimage none u"},
		{"media that the server has by uuid", APIChat, `{"messages":[{"content":[{"type":"image_url","image_url":null,
			"uuid":"i"},{"uuid":"v","video_url":null,"type":"video_url"},{"type":"image_url","image_url":"u","uuid":"x"},
			{"type":"input_audio","uuid":7},{"type":"text","text":"a","uuid":"x"},
			{"type":"document","source":{"type":"text"},"uuid":"x"}]}]}`, `"" chars=1 bytes=1 messages=1 image audio video` +
			"\nimage none i\nvideo none v\nimage none u\ntext none a"},
		{"image without place", APIChat, `{"messages":[{"content":[{"type":"image_url"}]}]}`,
			`"" chars=0 bytes=0 messages=1 image`},
		{"tools and calls", APIChat, seedBodies[11], `"m" chars=15 bytes=27 messages=2 tools` +
			"\ncall assistant [" +
			"{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]" +
			"\ntext tool 漢字漢字漢字 and more\ntools none [{\"type\":\"function\"}]"},
		{"empty tools", APIChat, `{"tools":[ ],"functions":{}}`, `"" chars=0 bytes=0`},
		{"tools that turn empty", APIChat, `{"tools":[1],"tools":[]}`, `"" chars=0 bytes=0`},
		{"prompts", APICompletions, seedBodies[2], `"m" chars=6 bytes=6 max=5` + "\ntext none one\ntext none two"},
		{"token prompts", APICompletions, seedBodies[3], `"m" chars=0 bytes=0 tokens=4` +
			"\ntokens none 1,2,3\ntokens none 4"},
		{"tokens", APICompletions, seedBodies[4], `"m" chars=0 bytes=0 tokens=3` + "\ntokens none 1,2,3"},
		{"responses", APIResponses, seedBodies[5], `"m" chars=13 bytes=13 messages=1 image` +
			"\ntext system Be brief.\ntext user hi\nimage user http://x/y.png\n" +
			`call assistant {"type":"function_call","call_id":"c","name":"f","arguments":"{}"}` + "\ntext tool 42"},
		{"responses string", APIResponses, seedBodies[6], `"m" chars=5 bytes=5 messages=1` + "\ntext user plain"},
		{"embeddings", APIEmbeddings, `{"input":["a",[1,2]],"messages":[{"role":"user","content":"b"}]}`,
			`"" chars=2 bytes=2 tokens=2 messages=1` + "\ntext none a\ntokens none 1,2\ntext user b"},
		{"embeddings of several chats", APIEmbeddings, `{"messages":[[{"role":"user","content":"a"},7,
			{"role":"assistant","content":"b"}],[],[{"role":"user","content":[{"type":"text","text":"c"}]}]]}`,
			`"" chars=3 bytes=3 messages=3` + "\ntext user a\ntext assistant b\ntext user c"},
		{"embeddings of several chats as input", APIEmbeddings,
			`{"input":[[{"role":"user","content":"a"}],[1,{"content":[{"type":"text","text":"b"}]},2,3]]}`,
			`"" chars=2 bytes=2 tokens=3` + "\ntext none a\ntokens none 1\ntext none b\ntokens none 2,3"},
		{"chats in a list elsewhere", APIChat, `{"messages":[[{"role":"user","content":"a"}]]}`, `"" chars=0 bytes=0`},
		{"parts in a list of ids elsewhere", APICompletions, `{"prompt":[[1,{"text":"a"},2]]}`,
			`"" chars=0 bytes=0 tokens=2` + "\ntokens none 1,{\"text\":\"a\"},2"},
		{"pairs of texts, SGLang's classify", APIEmbeddings, `{"text":[["a","b"],["a",1,"cd",2]]}`,
			`"" chars=5 bytes=5 tokens=2` + "\ntext none a\ntext none b\ntext none a\ntokens none 1\ntext none cd" +
				"\ntokens none 2"},
		{"pairs of texts, SGLang's encode", APIGenerate, `{"text":[["a","b"]]}`,
			`"" chars=2 bytes=2` + "\ntext none a\ntext none b"},
		{"documents in parts, SGLang's rerank", APIRerank, `{"query":[{"type":"text","text":"q"}],"documents":["a",
			[{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"u"}}]]}`,
			`"" chars=3 bytes=3 image` + "\ntext none q\ntext none a\ntext none b\nimage none u"},
		{"embeddings, SGLang's classify", APIEmbeddings, `{"model":"m","text":["a","c"],"input_ids":[[1,2],[3]],"token_ids":[4]}`,
			`"m" chars=2 bytes=2 tokens=3` + "\ntext none a\ntext none c\ntokens none 1,2\ntokens none 3"},
		{"anthropic", APIMessages, seedBodies[7],
			`"claude" chars=8 bytes=8 messages=3 max=10 image` + "\ntext system sys\ntext tool 42\nimage tool AA\n" +
				`call assistant "type":"tool_use","id":"t","name":"f","input":{}` + "\ntext user doc"},
		{"where a cache is to end", APIMessages, `{"messages":[{"role":"assistant","content":[
			{ "type":"tool_use","name":"f","input":{"a":1} ,"cache_control":{"type":"ephemeral"}},
			{"cache_control":null,"type":"tool_use","name":"g"}]}]}`, `"" chars=0 bytes=0 messages=1` +
			"\ncall assistant  \"type\":\"tool_use\",\"name\":\"f\",\"input\":{\"a\":1}" +
			"\ncall assistant \"cache_control\":null,\"type\":\"tool_use\",\"name\":\"g\""},
		{"rerank", APIRerank, seedBodies[8], `"m" chars=4 bytes=4` +
			"\ntext none q\ntext none a\ntext none b\ntext none c"},
		{"score", APIRerank, seedBodies[9], `"m" chars=3 bytes=3` + "\ntext none a\ntext none b\ntext none c"},
		{"generate", APIGenerate, `{"text":["a","b"],"sampling_params":{"max_new_tokens":5},"stream":true}`,
			`"" chars=2 bytes=2 max=5 stream` + "\ntext none a\ntext none b"},
		{"media beside a prompt, SGLang's", APIGenerate,
			`{"text":"a","image_data":["u",{"url":"v"},null,["w",["x"],{"format":"f"}],7],"video_data":"b","audio_data":{}}`,
			`"" chars=1 bytes=1 image audio video` +
				"\ntext none a\nimage none u\nimage none v\nimage none w\nvideo none b"},
		{"media beside a prompt that turn to none", APIGenerate,
			`{"image_data":"u","video_data":"v","audio_data":["a"],"image_data":[],"video_data":null,"audio_data":7}`,
			`"" chars=0 bytes=0`},
		{"media beside what is classified, SGLang's", APIEmbeddings, `{"text":["a","b"],"audio_data":[["u"],"v"]}`,
			`"" chars=2 bytes=2 audio` + "\ntext none a\ntext none b\naudio none u\naudio none v"},
		{"media beside chats", APIChat, `{"image_data":"u","video_data":"v","audio_data":"a"}`, `"" chars=0 bytes=0`},
		{"generate, Triton's", APIGenerate, `{"text_input":"hello","max_tokens":5,"stream":true}`,
			`"" chars=5 bytes=5 max=5 stream` + "\ntext none hello"},
		{"generate from ids", APIGenerate,
			`{"input_ids":[[1,2],[3]],"sampling_params":{"max_new_tokens":7},"sampling_params":{"a":1},"max_new_tokens":3}`, `"" chars=0 bytes=0 tokens=3 max=3` + "\ntokens none 1,2\ntokens none 3"},
		{"generate, vLLM's", APIGenerate,
			`{"model":"m","token_ids":[1,2],"sampling_params":{"max_tokens":9},"text_1":"x"}`,
			`"m" chars=0 bytes=0 tokens=2 max=9` + "\ntokens none 1,2"},
		{"chats of /invocations and Ollama's with tools", APIGenerate,
			`{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}],"functions":[1]}`,
			`"" chars=1 bytes=1 messages=1 tools` + "\ntext user a\ntools none [{\"type\":\"function\"}]\ntools none [1]"},
		{"embeddings of /invocations", APIGenerate, `{"model":"m","input":["a",[1,2]]}`,
			`"m" chars=1 bytes=1 tokens=2` + "\ntext none a\ntokens none 1,2"},
		{"ids beside text", APICompletions, `{"prompt":[ 1 , null,2,"a",3,[4 , 5],[],6]}`,
			`"" chars=1 bytes=1 tokens=6` + "\ntokens none 1 , null,2\ntext none a\ntokens none 3\ntokens none 4 , 5\n" +
				"tokens none 6"},
		{"engines' limits elsewhere", APIChat, `{"sampling_params":{"max_tokens":9},"max_new_tokens":3}`,
			`"" chars=0 bytes=0`},
		{"no API reads no prompt", APINone, seedBodies[0],
			`"meta-llama/Llama-3.1-8B-Instruct" chars=0 bytes=0 max=128 stream usage`},
		{"last duplicate wins", APIChat, seedBodies[10], `"b" chars=1 bytes=1 messages=1` + "\ntext tool z"},
		{"duplicate around another key", APIChat,
			`{"messages":[{"content":["a","b"],"tool_calls":[1],"content":"c","tool_calls":[2]},{"content":"d"}]}`,
			`"" chars=2 bytes=2 messages=2` + "\ntext none c\ncall none [2]\ntext none d"},
		{"duplicate behind another one", APIRerank,
			`{"query":"a","documents":["b","c"],"items":["i"],"documents":["d"],"query":"e","items":["f","g"]}`,
			`"" chars=4 bytes=4` + "\ntext none d\ntext none e\ntext none f\ntext none g"},
		{"keys of items in chats", APIChat,
			`{"messages":[{"role":"user","type":"function_call_output","output":"x","content":"a"}]}`,
			`"" chars=1 bytes=1 messages=1` + "\ntext user a"},
		{"keys of chats in items", APIResponses,
			`{"input":[{"type":"function_call_output","tool_calls":[1],"function_call":{"a":1},"output":"x","output":"yz"}]}`,
			`"" chars=2 bytes=2` + "\ntext tool yz"},
		{"what items of other types say", APIResponses, `{"input":[{"type":"message","role":"user","content":"a","output":"x"},
			{"type":"function_call_output","content":"c","output":"d"},{"type":"reasoning","content":"e","output":"f"}]}`,
			`"" chars=2 bytes=2 messages=1` + "\ntext user a\ntext tool d"},
		{"documents", APIMessages, `{"messages":[{"role":"user","content":[
			{"type":"document","source":{"type":"base64","data":"QQ"}},{"type":"document","source":{"type":"text","data":"a"}},
			{"type":"document"}]}]}`, `"" chars=1 bytes=1 messages=1` + "\ntext user a"},
		{"a text document without a text", APIMessages, `{"messages":[{"content":[
			{"type":"document","source":{"type":"text"}},{"type":"document","file_id":{"type":"text","data":"a"}}]}]}`,
			`"" chars=0 bytes=0 messages=1`},
		{"search results", APIMessages, `{"messages":[{"role":"user","content":[
			{"type":"search_result","text":"x","content":[{"type":"text","text":"a"}]}]}]}`,
			`"" chars=1 bytes=1 messages=1` + "\ntext user a"},
		{"search results of a tool", APIMessages, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":[
			{"title":"x","source":"y","content":[{"type":"text","text":"a"},{"type":"search_result","content":"z"}],
			"type":"search_result"},{"type":"text","text":"b","content":"z"},{"type":"search_result"}]}]}]}`,
			`"" chars=2 bytes=2 messages=1` + "\ntext tool a\ntext tool b"},
		{"content nests once", APIMessages, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":[
			{"type":"tool_result","content":"x"},{"content":["y",{"text":"z"}],"text":"a"}]}]}]}`,
			`"" chars=1 bytes=1 messages=1` + "\ntext tool a"},
		{"a call of before tools", APIChat, `{"messages":[{"role":"assistant","function_call":{"name":"f"}}]}`,
			`"" chars=0 bytes=0 messages=1` + "\ncall assistant {\"name\":\"f\"}"},
		{"a role of another type", APIChat, `{"messages":[{"content":"a","role":7},{"role":["user"],"content":"b"}]}`,
			`"" chars=2 bytes=2 messages=2` + "\ntext none a\ntext none b"},
		{"audio and video by other names", APIChat, `{"messages":[{"content":[{"type":"audio_url","audio_url":{"url":"a"}},
			{"type":"input_video","input_video":{"data":"v"}},{"audio_url":"b"},{"input_video":"w"}]}]}`,
			`"" chars=0 bytes=0 messages=1 audio video` +
				"\naudio none a\nvideo none v\naudio none b\nvideo none w"},
		{"parts with little in them", APIChat, `{"messages":[{"role":"user","content":[{"type":"text"},{"image_url":null,
			"text":"a"},{"type":"search_result","content":"b"},{"type":"tool_result"}]}]}`,
			`"" chars=2 bytes=2 messages=1` + "\ntext user a\ntext user b"},
		{"the last of two places", APIChat, `{"messages":[{"content":[{"file_id":"f","image_url":"u","type":"image"},
			{"type":"input_image","image_url":{"file_id":"g","data":7}}]}]}`,
			`"" chars=0 bytes=0 messages=1 image` + "\nimage none u\nimage none g"},
		{"a part whose media turn null", APIChat,
			`{"messages":[{"content":[{"image_url":"u","image_url":null,"text":"a"}]}]}`,
			`"" chars=1 bytes=1 messages=1` + "\ntext none a"},
		{"calls of both kinds", APIChat,
			`{"messages":[{"role":"assistant","tool_calls":[{"a":1}],"function_call":{"b":2}}]}`,
			`"" chars=0 bytes=0 messages=1` + "\ncall assistant [{\"a\":1}]\ncall assistant {\"b\":2}"},
		{"refusals and thinking", APIChat, `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a",
			"text":"x"},{"refusal":"bc","type":"refusal","thinking":"x"},{"type":"text","text":"d","refusal":"x"},
			{"refusal":"x","thinking":"x"},{"type":"refusal","refusal":null}]}]}`,
			`"" chars=4 bytes=4 messages=1` + "\ntext assistant a\ntext assistant bc\ntext assistant d"},
		{"thinking in the messages API", APIMessages, `{"messages":[{"role":"assistant","content":[
			{"type":"thinking","thinking":"a","signature":"s"},{"type":"redacted_thinking","data":"b"},{"type":"text","text":"c"}]}]}`,
			`"" chars=2 bytes=2 messages=1` + "\ntext assistant a\ntext assistant c"},
		{"a role that nobody knows", APIChat, `{"messages":[{"role":"critic","content":"a"}]}`,
			`"" chars=1 bytes=1 messages=1` + "\ntext other a"},
		{"media that turn null", APIChat,
			`{"messages":[{"content":[{"type":"image_url","image_url":"u","image_url":null,"file_id":"f"}]}]}`,
			`"" chars=0 bytes=0 messages=1 image` + "\nimage none f"},
		{"audio and video that turn to text", APIChat, `{"messages":[{"content":[{"video_url":{"url":"v"}},
			{"input_audio":{"data":"d","format":"wav"}}],"content":"x"}]}`,
			`"" chars=1 bytes=1 messages=1` + "\ntext none x"},
		{"ids that turn to others", APICompletions, `{"prompt":[1,2,3],"prompt":[4]}`,
			`"" chars=0 bytes=0 tokens=1` + "\ntokens none 4"},
		{"engines' limits twice", APIGenerate, `{"sampling_params":{"max_new_tokens":7},"sampling_params":{"a":1}}`,
			`"" chars=0 bytes=0`},
		{"engines' limits turn null", APIGenerate, `{"sampling_params":{"max_tokens":7},"sampling_params":null}`,
			`"" chars=0 bytes=0`},
		{"duplicate turns null", APIChat,
			`{"model":"a","stream":true,"messages":[{"content":"a"}],"model":null,"messages":null,"stream":0}`,
			`"" chars=0 bytes=0`},
		{"escaped key", APINone, `{"mod\u0065l":"m\u0021"}`, `"m!" chars=0 bytes=0`},
		{"lone surrogates", APICompletions, `{"prompt":"\ud83d\ude00\ud83dx\ude00"}`,
			`"" chars=4 bytes=11` + "\ntext none 😀\ufffdx\ufffd"},
		{"limits", APINone, `{"max_tokens":5,"max_output_tokens":99999999999,"max_completion_tokens":null}`,
			`"" chars=0 bytes=0 max=2147483647`},
		{"the last of limits", APINone, `{"max_output_tokens":7,"max_completion_tokens":5}`, `"" chars=0 bytes=0 max=5`},
		{"a limit beyond all numbers", APINone, `{"max_tokens":` + strings.Repeat("9", 40) + `}`,
			`"" chars=0 bytes=0 max=2147483647`},
		{"another option of streams", APIChat, `{"stream_options":{"continuous_usage_stats":true,"include_usage":false}}`,
			`"" chars=0 bytes=0`},
		{"usage beside another option of streams", APIChat,
			`{"stream_options":{"include_usage":true,"continuous_usage_stats":false}}`, `"" chars=0 bytes=0 usage`},
		{"options of streams that are none", APIChat, `{"stream_options":["include_usage",true],"max_tokens":90}`,
			`"" chars=0 bytes=0 max=90`},
		{"the greatest limit", APINone, `{"max_tokens":2147483639}`, `"" chars=0 bytes=0 max=2147483639`},
		{"a limit just above 31 bits", APINone, `{"max_tokens":2147483649}`,
			`"" chars=0 bytes=0 max=2147483647`},
		{"both limits of chats", APIChat, `{"max_completion_tokens":5,"max_tokens":9}`, `"" chars=0 bytes=0 max=5`},
		{"one of them no limit", APIChat, `{"max_completion_tokens":null,"max_tokens":9}`, `"" chars=0 bytes=0 max=9`},
		{"odd limits", APINone, `{"max_tokens":-5,"max_output_tokens":"7","max_completion_tokens":1e3}`,
			`"" chars=0 bytes=0`},
		{"fraction", APINone, `{"max_tokens":100.0}`, `"" chars=0 bytes=0 max=100`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Request
			if err := r.Scan(c.api, []byte(c.body)); err != nil {
				t.Fatalf("Scan(%s): %v", c.body, err)
			}
			if got := summary(&r, []byte(c.body)); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.body, got, c.want)
			}
			checkAgainstOracle(t, &r, c.api, []byte(c.body))
		})
	}
}

func TestScanErrors(t *testing.T) {
	for _, c := range []struct {
		name, body string
		reason     Reason
		offset     uint32
	}{
		{"empty", "", ReasonEnd, 0},
		{"blank", " \n", ReasonEnd, 2},
		{"array", "[]", ReasonNotObject, 0},
		{"text", " hello", ReasonNotObject, 1},
		{"byte order mark", "\xef\xbb\xbf{}", ReasonBOM, 0},
		{"byte order mark alone", "\xef\xbb\xbf", ReasonBOM, 0},
		{"trailing", `{} {}`, ReasonTrailing, 3},
		{"trailing NUL", "{}\x00", ReasonTrailing, 2},
		{"cut in a key", `{"a`, ReasonEnd, 3},
		{"cut in a value", `{"a":"b`, ReasonEnd, 7},
		{"cut behind a value", `{"a":"b"`, ReasonEnd, 8},
		{"comma at the end", `{"a":1,}`, ReasonByte, 7},
		{"comma at the end of an array", `{"a":[1,]}`, ReasonByte, 8},
		{"no colon", `{"a" 1}`, ReasonByte, 5},
		{"key without quotes", `{a:1}`, ReasonByte, 1},
		{"wrong bracket", `{"a":[}`, ReasonByte, 6},
		{"NaN", `{"a":NaN}`, ReasonByte, 5},
		{"Infinity", `{"a":-Infinity}`, ReasonNumber, 6},
		{"literal", `{"a":truE}`, ReasonLiteral, 5},
		{"stream literal", `{"stream":tru`, ReasonLiteral, 10},
		{"leading zero", `{"a":01}`, ReasonNumber, 5},
		{"no fraction", `{"a":1.}`, ReasonNumber, 7},
		{"no exponent", `{"a":1e+}`, ReasonNumber, 8},
		{"another letter for the exponent's", `{"a":1d5}`, ReasonByte, 6},
		{"no comma among messages", `{"messages":[{} {}]}`, ReasonByte, 16},
		{"no comma in an array", `{"a":[1 2]}`, ReasonByte, 8},
		{"no comma in an object", `{"a":{"b":1 "c":2}}`, ReasonByte, 12},
		{"an array that ends as an object", `{"a":[1}`, ReasonByte, 7},
		{"an object that ends as an array", `{"a":{"b":1]}`, ReasonByte, 11},
		{"control", "{\"a\":\"b\n\"}", ReasonControl, 7},
		{"escape", `{"a":"\x"}`, ReasonEscape, 6},
		{"short escape", `{"a":"\u12"}`, ReasonEscape, 6},
		{"UTF-8", "{\"a\":\"\xff\"}", ReasonUTF8, 6},
		{"overlong", "{\"a\":\"\xc0\x80\"}", ReasonUTF8, 6},
		{"surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", ReasonUTF8, 6},
		{"beyond Unicode", "{\"a\":\"\xf4\x90\x80\x80\"}", ReasonUTF8, 6},
		{"cut character", "{\"a\":\"\xe6\xbc\"}", ReasonUTF8, 6},
		{"first byte of four at the end", "{\"a\":\"\xf0", ReasonUTF8, 6},
		{"two bytes of four at the end", "{\"a\":\"\xf0\x9f", ReasonUTF8, 6},
		{"three bytes of four at the end", "{\"a\":\"\xf0\x9f\x98", ReasonUTF8, 6},
		{"model is a number", `{"user":"u","model": 1}`, ReasonModelType, 21},
		{"model too long", `{"model":"` + strings.Repeat("m", MaxName+1) + `"}`, ReasonModelLong, 9},
		{"too deep", `{"a":` + strings.Repeat("[", MaxDepth), ReasonDepth, 5 + MaxDepth - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Request
			err := r.Scan(APIChat, []byte(c.body))
			var e *Error
			if !errors.As(err, &e) || *e != (Error{c.offset, c.reason}) || !errors.Is(err, c.reason) {
				t.Errorf("Scan(%.60q): got %v, want %v at byte %d", c.body, err, c.reason, c.offset)
			}
			if r.HasModel || len(r.Segments) != 0 {
				t.Errorf("Scan(%.60q): left %+v", c.body, r)
			}
		})
	}
}

// TestEachBeginningIsRefused: a body that ends too early is broken wherever that is, and nothing behind it is read.
func TestEachBeginningIsRefused(t *testing.T) {
	const body = `{"model":"m\u00e9","stream":true,"temperature":-1.5e+3,"top_p":1E-0,"n":0,"user":null,` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"é\n\ud83d\ude00"},{"type":"image_url",` +
		`"image_url":{"url":"data:,x"}}]}],"stop":["a",false,[{}]],"max_tokens":2e0}`
	var r Request
	if err := r.Scan(APIChat, []byte(body)); err != nil {
		t.Fatalf("the whole body: got %v", err)
	}
	for n := range len(body) {
		var e *Error
		if err := r.Scan(APIChat, []byte(body)[:n:n]); !errors.As(err, &e) || int(e.Offset) > n {
			t.Errorf("%q: got %v, want a mistake at byte %d at most", body[:n], err, n)
		}
	}
}

func TestModelErrorLeavesTheRest(t *testing.T) {
	var r Request
	err := r.Scan(APIChat, []byte(`{"model":[],"stream":true,"messages":[{"content":"abc"}]}`))
	if !errors.Is(err, ReasonModelType) || !r.Stream || r.Chars != 3 || r.HasModel {
		t.Errorf("got %v, stream %v, chars %d, model %v", err, r.Stream, r.Chars, r.HasModel)
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Offset: 7, Reason: ReasonUTF8}
	if got, want := e.Error(), "invalid UTF-8 in string at byte 7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for r := ReasonTooLarge; r <= ReasonModelLong; r++ {
		if r.Error() == "" {
			t.Errorf("reason %d has no text", r)
		}
	}
}

func TestDepthLimitCountsEveryLevel(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(`{"messages":[{"content":[{"content":[{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) +
			`}]}]}]}`)
	}
	var r Request
	const outer = 7
	if err := r.Scan(APIChat, nested(MaxDepth-outer)); err != nil {
		t.Errorf("%d levels: got %v, want none", MaxDepth, err)
	}
	if err := r.Scan(APIChat, nested(MaxDepth-outer+1)); !errors.Is(err, ReasonDepth) {
		t.Errorf("%d levels: got %v, want %v", MaxDepth+1, err, ReasonDepth)
	}
}

func TestSegmentsAreBounded(t *testing.T) {
	many := `[` + strings.Repeat(`{"role":"user","content":"é"},`, MaxSegments+10) + `{}]`
	var r Request
	if err := r.Scan(APIChat, []byte(`{"messages":`+many+`}`)); err != nil {
		t.Fatal(err)
	}
	if len(r.Segments) != MaxSegments || !r.SegmentsTruncated || r.Chars != MaxSegments+10 ||
		r.Messages != MaxSegments+11 {
		t.Errorf("got %d segments, truncated %v, %d chars, %d messages", len(r.Segments), r.SegmentsTruncated, r.Chars,
			r.Messages)
	}
	if err := r.Scan(APIChat, []byte(`{"messages":`+many+`,"messages":[{"content":"x"}]}`)); err != nil {
		t.Fatal(err)
	}
	if len(r.Segments) != 1 || r.SegmentsTruncated || r.Chars != 1 {
		t.Errorf("replaced: got %d segments, truncated %v, %d chars, want 1, false, 1", len(r.Segments),
			r.SegmentsTruncated, r.Chars)
	}
}

func TestNamesAreKeptAndCut(t *testing.T) {
	var r Request
	body := []byte(`{"model":"m","user":"` + strings.Repeat("é", MaxName) +
		`","cache_salt":"s\u0061lt","extra_key":"te\u006eant","lora_path":"l\u006f","previous_response_id":"resp_1"}`)
	if err := r.Scan(APIResponses, body); err != nil {
		t.Fatal(err)
	}
	if r.User != strings.Repeat("é", MaxName/2) || r.CacheSalt != "salt" || r.ExtraKey != "tenant" ||
		r.LoRAPath != "lo" || r.PreviousResponseID != "resp_1" {
		t.Errorf("got user of %d bytes, salt %q, extra key %q, lora path %q, previous %q", len(r.User), r.CacheSalt,
			r.ExtraKey, r.LoRAPath, r.PreviousResponseID)
	}
	for i := range body {
		body[i] = '#'
	}
	if r.Model != "m" || r.CacheSalt != "salt" {
		t.Errorf("names alias the body: %q, %q", r.Model, r.CacheSalt)
	}
}

func TestAppendTextMax(t *testing.T) {
	body := []byte(`{"prompt":["aé漢😀","a\u00e9\u6f22\ud83d\ude00\n"]}`)
	var r Request
	if err := r.Scan(APICompletions, body); err != nil {
		t.Fatal(err)
	}
	for i, whole := range []string{"aé漢😀", "aé漢😀\n"} {
		for max := -1; max <= len(whole)+1; max++ {
			want := whole
			for max >= 0 && len(want) > max {
				want = string([]rune(want)[:len([]rune(want))-1])
			}
			if got := string(r.AppendTextMax([]byte("x"), body, i, max)); got != "x"+want {
				t.Errorf("segment %d, max %d: got %q, want %q", i, max, got, "x"+want)
			}
		}
	}
}

func TestAgainstOracle(t *testing.T) {
	r := new(Request)
	for api := APINone; api <= APIGenerate; api++ {
		for _, body := range seedBodies {
			checkAgainstOracle(t, r, api, []byte(body))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		input := make([]byte, random.IntN(300))
		for i := range input {
			input[i] = byte(random.IntN(256))
		}
		g := &shaper{input}
		checkAgainstOracle(t, r, API(random.IntN(int(APIGenerate)+1)), g.object(nil, 8))
	}
}

// TestEveryCut checks that no prefix of a body is accepted and none panics.
func TestEveryCut(t *testing.T) {
	var r Request
	for _, body := range seedBodies[:12] {
		for n := range len(body) {
			if err := r.Scan(APIChat, []byte(body[:n])); err == nil {
				t.Errorf("accepted %q", body[:n])
			}
		}
	}
}

// TestEveryAlignment puts each interesting byte at every place of the words that strings are read in.
func TestEveryAlignment(t *testing.T) {
	r := new(Request)
	for _, odd := range []string{`\n`, `\"`, `\u6f22`, `\ud83d\ude00`, `\ud83d`, "é", "漢", "漢字", "😀", "ДА", "\x00",
		"\x1f", "\xff", "\x80", "\xe6\xbc", `\`, `"`, "\x7f", " ", "!"} {
		for before := range 45 {
			for after := range 18 {
				body := `{"prompt":"` + strings.Repeat("a", before) + odd + strings.Repeat("b", after) + `"}`
				checkAgainstOracle(t, r, APICompletions, []byte(body))
			}
		}
	}
}
