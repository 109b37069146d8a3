"""Talks to a vLLM server with OpenAI's own client. Usage: client.py BASE_URL WHO, where WHO is vllm, or pintle when that is in between.

Prints one line for each case, "ok NAME" or "FAIL NAME: why".
"""

import asyncio
import json
import sys

import openai

MODEL = "tiny"
HELLO = [{"role": "user", "content": "hello"}]
# The model knows nothing: what the server holds it to has to be short.
CITY = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Tells the weather.", "parameters": CITY, "strict": True}}
# Without a penalty it fills a tool's arguments with blanks, which are allowed there.
CALL = {"tools": [WEATHER], "tool_choice": "required", "max_tokens": 600, "frequency_penalty": 2}


def expect(condition, seen):
    if not condition:
        raise AssertionError(f"got {seen!r}")


def create(client, **arguments):
    return client.chat.completions.create(**({"model": MODEL, "messages": HELLO, "max_tokens": 8, "temperature": 0} | arguments))


def models(client):
    names = [m.id for m in client.models.list()]
    expect(MODEL in names, names)


def chat(client):
    answer = create(client)
    expect(answer.choices[0].message.content and answer.model == MODEL, answer)
    expect(answer.usage.completion_tokens == 8 and answer.usage.prompt_tokens > 0, answer.usage)


def chat_stream(client):
    chunks = list(create(client, stream=True, stream_options={"include_usage": True}))
    expect("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), chunks)
    expect(chunks[-1].usage.completion_tokens == 8 and len(chunks) > 3, chunks)


def stream_without_usage(client):
    chunks = list(create(client, stream=True))
    expect(all(c.usage is None for c in chunks) and chunks[-1].choices[0].finish_reason == "length", chunks[-1])


def same_answer(client):
    said = {create(client, max_tokens=20).choices[0].message.content for _ in range(4)}
    expect(len(said) == 1, said)


def several_choices(client):
    answer = create(client, n=3, temperature=1)
    expect(len(answer.choices) == 3, answer)


def log_probabilities(client):
    answer = create(client, logprobs=True, top_logprobs=2)
    expect(len(answer.choices[0].logprobs.content) == 8, answer)


def content_parts(client):
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    expect(create(client, messages=[{"role": "user", "content": parts}]).choices[0].message.content, parts)


def completion(client):
    answer = client.completions.create(model=MODEL, prompt="once upon", max_tokens=3)
    expect(answer.choices[0].text and answer.usage.completion_tokens == 3, answer)


def completion_stream(client):
    chunks = list(client.completions.create(model=MODEL, prompt="once upon", max_tokens=3, stream=True))
    expect("".join(c.choices[0].text for c in chunks if c.choices), chunks)


def completion_of_tokens(client):
    answer = client.completions.create(model=MODEL, prompt=[10, 11, 12, 13], max_tokens=3)
    expect(answer.usage.prompt_tokens == 4, answer)


def completion_batch(client):
    answer = client.completions.create(model=MODEL, prompt=["one", "two"], max_tokens=2)
    expect(len(answer.choices) == 2, answer)


def tool_call(client):
    answer = create(client, **CALL)
    call = answer.choices[0].message.tool_calls[0].function
    expect(call.name == "weather" and json.loads(call.arguments)["city"], answer)


def tool_call_stream(client):
    chunks = list(create(client, stream=True, **CALL))
    calls = [call.function for c in chunks if c.choices for call in c.choices[0].delta.tool_calls or []]
    expect(json.loads("".join(call.arguments or "" for call in calls))["city"], calls)


def tool_round_trip(client):
    call = {"id": "call-1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    said = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call-1", "content": "rain"}]
    expect(create(client, messages=HELLO + said, tools=[WEATHER]).choices[0].finish_reason, said)


def json_schema(client):
    wanted = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY, "strict": True}}
    answer = create(client, response_format=wanted, max_tokens=200)
    expect(json.loads(answer.choices[0].message.content)["city"], answer)


def responses(client):
    answer = client.responses.create(model=MODEL, input="hello", max_output_tokens=8)
    expect(answer.output_text, answer)


def responses_stream(client):
    events = [e.type for e in client.responses.create(model=MODEL, input="hello", max_output_tokens=8, stream=True)]
    expect(events[0] == "response.created" and events[-1] in ("response.completed", "response.incomplete"), events)


def cached_prompt(client):
    long = [{"role": "user", "content": "the quick brown fox jumps over the lazy dog " * 100}]
    create(client, messages=long)
    usage = create(client, messages=long).usage
    expect(usage.prompt_tokens_details.cached_tokens > 0, usage)


def concurrent(client):
    async def run():
        async with openai.AsyncOpenAI(base_url=client.base_url, api_key="none", max_retries=0) as many:
            requests = [many.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=4) for _ in range(16)]
            return await asyncio.gather(*requests)

    expect(len(asyncio.run(run())) == 16, "fewer answers than requests")


def refused(client, kind, said, **arguments):
    try:
        create(client, **arguments)
    except kind as e:
        expect(said in e.message, e.message)
        return e
    raise AssertionError(f"no {kind.__name__}")


def unknown_model(client):
    refused(client, openai.NotFoundError, "unknown", model="unknown")


def too_long(client):
    refused(client, openai.BadRequestError, "maximum context length", messages=[{"role": "user", "content": "fox " * 20000}])


def bad_temperature(client):
    refused(client, openai.BadRequestError, "temperature", temperature=-1)


def no_embeddings(client):
    try:
        client.embeddings.create(model=MODEL, input="one")
    except openai.NotFoundError:
        return
    raise AssertionError("no NotFoundError")


def no_model(client):
    """What only Pintle refuses."""
    e = refused(client, openai.BadRequestError, "names no model", model="")
    expect(e.code == "model_missing", e.body)


CASES = [
    models, chat, chat_stream, stream_without_usage, same_answer, several_choices, log_probabilities, content_parts,
    completion, completion_stream, completion_of_tokens, completion_batch, tool_call, tool_call_stream, tool_round_trip,
    json_schema, responses, responses_stream, cached_prompt, concurrent, unknown_model, too_long, bad_temperature,
    no_embeddings,
]


def main():
    base_url, who = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=60)
    for case in CASES + ([no_model] if who == "pintle" else []):
        try:
            case(client)
            print("ok", case.__name__)
        except Exception as e:  # every case is to be reported
            print(f"FAIL {case.__name__}: {type(e).__name__}: {e}".replace("\n", " "))


main()
