// Talks to Envoy with Node's fetch. Usage: node fetch.mjs BASE_URL
// Prints one line for each case, "ok NAME" or "FAIL NAME: why".
const url = `${process.argv[2]}/chat/completions`;
const body = { model: "sim-model", messages: [{ role: "user", content: "hello" }], max_tokens: 4 };

function post(payload, options = {}) {
  return fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: payload, ...options });
}

function expect(condition, seen) {
  if (!condition) throw new Error(`got ${JSON.stringify(seen)}`);
}

const cases = {
  async chat() {
    const answer = await (await post(JSON.stringify(body))).json();
    expect(answer.usage?.completion_tokens === 4, answer);
  },
  async streamedBody() {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    let sent = 0;
    const stream = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        controller.enqueue(bytes.slice(sent, (sent += 10)));
        if (sent >= bytes.length) controller.close();
      },
    });
    const answer = await (await post(stream, { duplex: "half" })).json();
    expect(answer.usage?.completion_tokens === 4, answer);
  },
  async streamedAnswer() {
    const response = await post(JSON.stringify({ ...body, stream: true }));
    let text = "";
    for await (const chunk of response.body) text += new TextDecoder().decode(chunk);
    expect(text.endsWith("data: [DONE]\n\n"), text);
  },
  async brokenBody() {
    const response = await post('{"model":');
    const answer = await response.json();
    expect(response.status === 400 && answer.error.code === "invalid_body", answer);
  },
  async abandoned() {
    const abort = new AbortController();
    const stream = new ReadableStream({ start(controller) { controller.enqueue(new Uint8Array(1000)); } });
    const pending = post(stream, { duplex: "half", signal: abort.signal });
    setTimeout(() => abort.abort(), 20);
    const failure = await pending.then(() => "an answer", (e) => e.name);
    expect(failure === "AbortError", failure);
  },
};

for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log("ok", name);
  } catch (e) {
    console.log(`FAIL ${name}: ${e}`);
  }
}
