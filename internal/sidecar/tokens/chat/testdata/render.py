"""Renders chats by the templates of this folder as vLLM does and writes rendered.json: render.py, with vLLM installed."""

import json
import pathlib
import types

from transformers import PreTrainedTokenizerFast
from tokenizers import Tokenizer, models
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.renderers import chat_utils, hf

HERE = pathlib.Path(__file__).parent
CONFIG = types.SimpleNamespace(
    multimodal_config=None, enable_prompt_embeds=False, hf_config=types.SimpleNamespace(model_type="llama"),
    allowed_local_media_path="", allowed_media_domains=None, tokenizer_revision=None, code_revision=None,
    tokenizer="t", model="t", trust_remote_code=False,
)


def u(content, **more):
    return {"role": "user", "content": content, **more}


def a(content, **more):
    return {"role": "assistant", "content": content, **more}


def s(content):
    return {"role": "system", "content": content}


def call(name, arguments, id="call00001", **more):
    return {"function": {"name": name, "arguments": arguments}, "id": id, "type": "function", **more}


def text(*texts):
    return [{"type": "text", "text": t} for t in texts]


TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "It's <\"weather\"> & more: é",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "the city"}, "unit": {"type": "string", "enum": ["C", "F"]},
        "days": {"type": "array", "items": {"type": "integer"}}, "at": {"type": "object", "properties": {
            "lat": {"type": "number", "minimum": -90.0}, "lon": {"type": "number"}}}},
        "required": ["city"], "additionalProperties": False}, "strict": True}, "extra": 1}
SMALL = {"function": {"parameters": None, "name": "stop"}}
ASKED = [u("Weather?"), a(None, tool_calls=[call("get_weather", '{"unit": "C", "city": "Zürich", "days": [1, 2.50]}')]),
         {"role": "tool", "content": '{"t": 21.5}', "tool_call_id": "call00001"}]
CHATS = [
    {"messages": [u("hello")]},
    {"messages": [s("  You help. \n"), u("hello"), a(" hi "), u("and?\n")]},
    {"messages": [u("hello")], "add_generation_prompt": False},
    {"messages": [u("hello"), a("I think ")], "add_generation_prompt": False, "continue_final_message": True},
    {"messages": [u("hello"), a(text("I think", "that "))], "add_generation_prompt": False,
     "continue_final_message": True},
    {"messages": [u("hello"), a("x")], "continue_final_message": True},
    {"messages": [u(text("one", " two "))]},
    {"messages": [s(text("sys", "tem")), u(["bare", {"type": "text", "text": "part",
                                                     "cache_control": {"type": "ephemeral"}}])]},
    {"messages": [u("Weather?")], "tools": [TOOL, SMALL]},
    {"messages": ASKED, "tools": [TOOL]},
    {"messages": [s("S"), *ASKED, a("It is 21.5"), u("thanks <think>"), a("<think>\nhm\n</think>\n\nwelcome")],
     "tools": [SMALL]},
    {"messages": [*ASKED[:2], {"role": "tool", "content": text("a", "b"), "tool_call_id": "call00001", "name": "w"},
                  {"role": "tool", "content": "c", "tool_call_id": "call00002"}]},
    {"messages": [u("q"), a("r", reasoning="because\n"), u("q2"), a("r2", reasoning_content="since")]},
    {"messages": [u("q"), a("both", tool_calls=[call("f", ""), call("g", "[1]", id="2", index=1),
                                               call("h", "no JSON", id="3")])]},
    {"messages": [u("q"), a("", tool_calls=[])]},
    {"messages": [u("q"), a("x", tool_calls=None), u("z", name="bob")]},
    {"messages": [{"role": "developer", "content": "D"}, u("q")]},
    {"messages": [s("S"), {"role": "developer", "content": "D"}, u("q"), s("late")]},
    {"messages": [s("x-anthropic-billing-header: cc=1\nrest"), u("x-anthropic-billing-header")]},
    {"messages": [s("x-anthropic-billing-header: cc=1"), u("q")]},
    {"messages": [u("q")], "chat_template_kwargs": {"enable_thinking": False, "custom": {"b": 1, "a": [None]}}},
    {"messages": [u("q")], "chat_template_kwargs": {"enable_thinking": None, "custom": "auto", "system": None}},
    {"messages": [u("q")], "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": None}},
    {"messages": [u("q")], "reasoning_effort": "high"},
    {"messages": [u("q")], "reasoning_effort": "none", "chat_template_kwargs": {"reasoning_effort": "low"}},
    {"messages": [u("q")], "documents": [{"title": "T", "text": "x"}, {"text": "y"}]},
    {"messages": [u("日本語 👍🏽 \u0000 é e\u0301 <|start|> {{ x }} {% y %}"), a("\r\n\t"), u("")]},
    {"messages": [u("a", name=None)]},
    {"messages": [{"role": "other", "content": "w"}]},
    {"messages": [u("q"), a(None)]},
    {"messages": [u("q"), a("y", tool_calls=[call("f", '{"a": 1, "a": {"z": 12345678901234567890, "b": 1e3}}')])]},
    {"messages": [u("q")] * 3},
    {"messages": []},
    {"messages": [u("q")], "tools": []},
    {"messages": [s(text("", "b")), u(text("a", "", "c", "")),
                  {"role": "tool", "tool_call_id": "x", "content": text("", "d")}, a(text("")), u("")]},
    {"messages": [u("q"), a(None, tool_calls=[call("f", '{"a": "\ufeff"}')])]},
]


def render(tokenizer, template, body):
    try:
        request = ChatCompletionRequest.model_validate_json(json.dumps(body))
        form = hf._detect_content_format(template, default="string")
        params = request.build_chat_params(template, "auto").with_defaults({"tokenize": False})
        messages, _, _ = chat_utils.parse_chat_messages(request.messages, CONFIG, content_format=form)
        tools = None if request.tools is None else [t.model_dump() for t in request.tools]
        values = {k: v for k, v in params.get_apply_chat_template_kwargs().items() if k not in ("chat_template", "tokenize")}
        return hf.safe_apply_chat_template(CONFIG, tokenizer, messages, tools=tools, chat_template=template,
                                           tokenize=False, **values)
    except Exception as e:
        return {"error": type(e).__name__}


def main():
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), bos_token="<s>", eos_token="</s>")
    result = {"chats": CHATS, "formats": {}, "rendered": {}}
    for path in sorted(HERE.glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        result["formats"][path.name] = hf._detect_content_format(template, default="string")
        result["rendered"][path.name] = [render(tokenizer, template, body) for body in CHATS]
    (HERE / "rendered.json").write_text(json.dumps(result, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


main()
