"""Holds conversations by OpenAI's own client. Usage: responses_client.py [--kept BASE_URL [--elsewhere BASE_URL]] [--brief BASE_URL].

The servers behind it keep no state, and answer with the items that they got: each case compares these with the
conversation as it has built it itself. At brief nothing is stored for long: there it looks at what has expired, at kept
at everything else. Elsewhere is another gateway with the same store. Prints one line for each case, "ok NAME" or
"FAIL NAME: why".
"""

import argparse
import json
import time

import httpx
import openai

MODEL = "sim-model"
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}]
IMAGE = {
    "role": "user",
    "content": [
        {"type": "input_text", "text": "what is this?"},
        {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
    ],
}


def expect(condition, seen):
    if not condition:
        raise AssertionError(f"got {seen!r}")


class Conversation:
    """A conversation, as a client that keeps it itself would have it."""

    def __init__(self, client, stream):
        self.client, self.stream = client, stream
        self.items, self.id, self.servers = [], None, set()

    def branch(self):
        other = Conversation(self.client, self.stream)
        other.items, other.id, other.servers = list(self.items), self.id, self.servers
        return other

    def say(self, given, **arguments):
        """Sends one turn, and expects that the server got all turns before it."""
        if self.id:
            arguments["previous_response_id"] = self.id
        if isinstance(given, str):
            self.items.append({"type": "message", "role": "user", "content": given})
        else:
            self.items += given
        answer = self.ask(given, **arguments)
        seen = json.loads(answer.metadata["seen"])
        # Without anything to go on with the text is still text.
        expect(seen == (given if len(self.items) == 1 and isinstance(given, str) else self.items), seen)
        expect(answer.previous_response_id is None, answer.previous_response_id)
        self.servers.add(answer.metadata["server"])
        self.items += [item.model_dump(exclude_unset=True, mode="json") for item in answer.output]
        self.id = answer.id
        if arguments.get("store") is not False:
            self.wait(answer.id)
        return answer

    def wait(self, id):
        """Waits until the response is stored: on a busy machine that may take longer than the store has patience."""
        for _ in range(100):
            try:
                return self.client.responses.retrieve(id)
            except openai.NotFoundError:
                pass
        raise AssertionError(f"{id} is not stored")

    def ask(self, given, **arguments):
        if not self.stream:
            return self.client.responses.create(model=MODEL, input=given, **arguments)
        events = list(self.client.responses.create(model=MODEL, input=given, stream=True, **arguments))
        expect(events[-1].type == "response.completed", events)
        return events[-1].response


def three_turns(client, stream):
    """Goes on until three servers have had a part in it."""
    c = Conversation(client, stream)
    for turn in range(60):
        c.say(f"turn {turn}: \u00e9 \U0001f600 \"quoted\" \\ ")
        if turn > 2 and len(c.servers) == 3:
            return
    raise AssertionError(f"only {c.servers} took part")


def tools(client, stream):
    c = Conversation(client, stream)
    call = c.say("the weather?", tools=TOOLS).output[0]
    expect(call.type == "function_call", call)
    c.say([{"type": "function_call_output", "call_id": call.call_id, "output": "rain"}], tools=TOOLS)
    c.say("thanks")


def images(client, stream):
    c = Conversation(client, stream)
    c.say([IMAGE])
    c.say("and larger?")


def instructions(client, stream):
    c = Conversation(client, stream)
    expect(c.say("a", instructions="be brief").instructions == "be brief", "no instructions")
    expect(c.say("b").instructions is None, "instructions of the turn before")


def branches(client, stream):
    trunk = Conversation(client, stream)
    trunk.say("root")
    left, right = trunk.branch(), trunk.branch()
    left.say("left")
    right.say("right")
    left.say("more left")
    right.say("more right")


def stored(client, stream):
    c = Conversation(client, stream)
    c.say("first")
    first = c.id
    c.say("second")
    answer = client.responses.retrieve(c.id)
    expect(answer.id == c.id and answer.previous_response_id == first, answer)
    expect(client.responses.retrieve(first).previous_response_id is None, "a predecessor of the first")
    listed = list(client.responses.input_items.list(c.id, order="asc", limit=1))  # three pages
    texts = [item.content[0].text for item in listed]
    expect(texts[0] == "first" and texts[2] == "second" and len(texts) == 3, listed)
    expect(listed[1].role == "assistant", listed)


def unknown(code, ask):
    try:
        ask()
    except openai.NotFoundError as e:
        expect(e.code == code and e.response.headers["x-pintle-reason"] == code, (e.code, e.response.headers))
        return
    raise AssertionError("no NotFoundError")


def deleted(client, stream):
    c = Conversation(client, stream)
    c.say("first")
    first = c.id
    c.say("second")
    client.responses.delete(first)
    unknown("response_not_found", lambda: client.responses.retrieve(first))
    unknown("response_not_found", lambda: client.responses.delete(first))
    unknown("previous_response_not_found", lambda: c.ask("x", previous_response_id=first))
    c.say("third")  # what came after it has lost nothing


def expired(client, stream):
    c = Conversation(client, stream)
    for _ in range(60):
        try:
            c.say("first")
            break
        except AssertionError:  # on a busy machine its time may be over before it has been seen
            c = Conversation(client, stream)
    else:
        raise AssertionError("nothing was ever stored")
    over = time.monotonic() + 60
    while time.monotonic() < over:
        try:
            client.responses.retrieve(c.id)
        except openai.NotFoundError:
            break
        time.sleep(0.02)
    unknown("response_not_found", lambda: client.responses.retrieve(c.id))
    unknown("previous_response_not_found", lambda: c.ask("x", previous_response_id=c.id))


def not_stored(client, stream):
    c = Conversation(client, stream)
    c.say("secret", store=False)
    unknown("previous_response_not_found", lambda: c.ask("x", previous_response_id=c.id))


def never_there(client, stream):
    c = Conversation(client, stream)
    unknown("previous_response_not_found", lambda: c.ask("x", previous_response_id="resp_never"))
    unknown("response_not_found", lambda: client.responses.retrieve("resp_never"))


def broken_off(client, stream):
    if not stream:
        return  # without a whole body there is no id to ask for
    id = None
    try:
        for event in client.responses.create(model=MODEL, input="break off", stream=True):
            id = event.response.id
    except httpx.TransportError:
        pass
    else:
        raise AssertionError("the stream was whole")
    Conversation(client, stream).say("what comes later is stored")
    unknown("previous_response_not_found", lambda: Conversation(client, stream).ask("x", previous_response_id=id))


def two_gateways(client, stream):
    """Each gateway goes on with what the other one has stored."""
    c = Conversation(client, stream)
    other = client.with_options(base_url=URLS.elsewhere)
    for turn in range(4):
        c.say(f"turn {turn}")
        c.client, other = other, c.client


KEPT = [three_turns, tools, images, instructions, branches, stored, deleted, not_stored, never_there, broken_off]
BRIEF = [expired]


def run(base_url, cases):
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=20)
    for case in cases:
        for stream in False, True:
            name = case.__name__ + (" streamed" if stream else "")
            try:
                case(client, stream)
                print("ok", name)
            except Exception as e:  # every case is to be reported
                print(f"FAIL {name}: {type(e).__name__}: {e}")


parser = argparse.ArgumentParser()
for name in "kept", "elsewhere", "brief":
    parser.add_argument("--" + name)
URLS = parser.parse_args()
if URLS.kept:
    run(URLS.kept, KEPT + ([two_gateways] if URLS.elsewhere else []))
if URLS.brief:
    run(URLS.brief, BRIEF)
