"""Talks to Envoy with OpenAI's own client. Usage: openai_client.py BASE_URL SUITE, where SUITE is served,
unavailable or unreachable.

Prints one line for each case, "ok NAME" or "FAIL NAME: why".
"""

import asyncio
import base64
import sys

import openai

MODEL = "sim-model"
HELLO = [{"role": "user", "content": "hello"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def expect(condition, seen):
    if not condition:
        raise AssertionError(f"got {seen!r}")


def chat(client):
    answer = client.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=5)
    expect(answer.choices[0].message.content, answer)
    expect(answer.usage.completion_tokens == 5, answer.usage)


def chat_stream(client):
    stream = client.chat.completions.create(
        model=MODEL, messages=HELLO, max_tokens=5, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    expect(text, chunks)
    expect(chunks[-1].usage.completion_tokens == 5, chunks[-1])


def completion(client):
    answer = client.completions.create(model=MODEL, prompt="once upon", max_tokens=3)
    expect(answer.choices[0].text, answer)


def completion_stream(client):
    chunks = list(client.completions.create(model=MODEL, prompt="once upon", max_tokens=3, stream=True))
    expect("".join(c.choices[0].text for c in chunks if c.choices), chunks)


def responses(client):
    answer = client.responses.create(model=MODEL, input="hello", max_output_tokens=4)
    expect(answer.output_text, answer)


def tools(client):
    answer = client.chat.completions.create(model=MODEL, messages=HELLO, tools=[WEATHER], tool_choice="required")
    call = answer.choices[0].message.tool_calls[0]
    expect(call.function.name == "weather", answer)


def image(client):
    url = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 400).decode()
    content = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    answer = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": content}], max_tokens=2)
    expect(answer.choices[0].message.content, answer)


def embeddings(client):
    answer = client.embeddings.create(model=MODEL, input=["one", "two"])
    expect(len(answer.data) == 2 and len(answer.data[0].embedding) > 0, answer)


def models(client):
    names = [m.id for m in client.models.list()]
    expect(MODEL in names, names)


def concurrent(client):
    async def run():
        async with openai.AsyncOpenAI(base_url=client.base_url, api_key="none", max_retries=0) as many:
            requests = [many.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=2) for _ in range(16)]
            return await asyncio.gather(*requests)

    expect(len(asyncio.run(run())) == 16, "fewer answers than requests")


def refused(client, kind, reason, said, **arguments):
    try:
        client.chat.completions.create(**({"model": MODEL, "messages": HELLO} | arguments))
    except kind as e:
        expect(e.code == reason and e.response.headers["x-pintle-reason"] == reason, (e.code, e.response.headers))
        expect(said in e.message, e.message)
        return
    raise AssertionError(f"no {kind.__name__}")


def model_empty(client):
    refused(client, openai.BadRequestError, "model_missing", "names no model", model="")


def model_null(client):
    refused(client, openai.BadRequestError, "model_missing", "names no model", extra_body={"model": None})


def model_number(client):
    refused(client, openai.BadRequestError, "model_missing", "model is not a string", extra_body={"model": 7})


def nested_too_deep(client):
    deep = []
    for _ in range(600):
        deep = [deep]
    refused(client, openai.BadRequestError, "invalid_body", "nested deeper", extra_body={"extra": deep})


def model_unknown(client):
    """The model server's own errors come through as they are."""
    try:
        client.chat.completions.create(model="unknown", messages=HELLO)
    except openai.NotFoundError as e:
        expect("unknown" in e.message and "x-sim-server" in e.response.headers, e)
        return
    raise AssertionError("no NotFoundError")


def no_endpoints(client):
    refused(client, openai.InternalServerError, "no_endpoints", "no model server")


def no_connection(client):
    """Envoy's own error is no JSON."""
    try:
        client.chat.completions.create(model=MODEL, messages=HELLO)
    except openai.InternalServerError as e:
        expect(e.status_code == 503 and "upstream connect error" in e.message, e)
        expect(e.response.headers["content-type"] == "text/plain", e.response.headers)
        expect("x-pintle-reason" not in e.response.headers, e.response.headers)
        return
    raise AssertionError("no InternalServerError")


SUITES = {
    "served": [
        chat, chat_stream, completion, completion_stream, responses, tools, image, embeddings, models, concurrent,
        model_empty, model_null, model_number, nested_too_deep, model_unknown,
    ],
    "unavailable": [no_endpoints],
    "unreachable": [no_connection],
}


def main():
    base_url, suite = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=20)
    for case in SUITES[suite]:
        try:
            case(client)
            print("ok", case.__name__)
        except Exception as e:  # every case is to be reported
            print(f"FAIL {case.__name__}: {type(e).__name__}: {e}")


main()
