"""Reads bodies from stdin, each after its length in four bytes, and answers each with one line of JSON: null for a body that is refused, else what
was read. Beyond json.loads it refuses what RFC 8259 does, and what a server could read otherwise: NaN, infinities, a byte order mark."""
import json
import re
import struct
import sys

sys.set_int_max_str_digits(0)
SURROGATES = re.compile("[\ud800-\udfff]")
KNOWN = {"model", "messages", "prompt", "user", "stream", "stream_options", "max_tokens", "temperature", "stop", "n", "x", ""}


def refuse(constant):
    raise ValueError(constant)


def sizes(texts):
    return [sum(len(t) for t in texts), sum(len(t.encode("utf-8", "surrogatepass")) for t in texts)]


def chat(body):
    messages = body.get("messages", [])
    if not isinstance(messages, list):
        return None
    texts = []
    for m in messages:
        if not isinstance(m, dict) or set(m) - {"role", "content", "x"} or not isinstance(m.get("content"), str) or not isinstance(m.get("role"), str):
            return None
        texts.append(m["content"])
    return sizes(texts) + [len(messages)]


def completion(body):
    prompt = body.get("prompt", "")
    if isinstance(prompt, str):
        return sizes([prompt]) + [0]
    if not isinstance(prompt, list):
        return None
    if all(isinstance(p, str) for p in prompt):
        return sizes(prompt) + [0]
    if all(isinstance(p, int) and not isinstance(p, bool) for p in prompt):
        return [0, 0, len(prompt)]
    return None


def read(raw):
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    model, user, options = body.get("model"), body.get("user"), body.get("stream_options")
    plain = not set(body) - KNOWN
    return {
        "badModel": model is not None and not isinstance(model, str),
        "model": SURROGATES.sub("\ufffd", model) if isinstance(model, str) else "",
        "user": SURROGATES.sub("\ufffd", user) if isinstance(user, str) else "",
        "stream": body.get("stream") is True,
        "usage": isinstance(options, dict) and options.get("include_usage") is True,
        "chat": chat(body) if plain else None,
        "completion": completion(body) if plain else None,
    }


while True:
    head = sys.stdin.buffer.read(4)
    if len(head) < 4:
        break
    print(json.dumps(read(sys.stdin.buffer.read(struct.unpack("<I", head)[0]))), flush=False)
    if struct.unpack("<I", head)[0] == 0:
        sys.stdout.flush()
