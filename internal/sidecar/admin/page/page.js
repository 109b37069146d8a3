"use strict";

const byId = (id) => document.getElementById(id);

// cell makes a table cell with text. Text is never read as HTML.
function cell(text, kind) {
  const td = document.createElement("td");
  td.textContent = text ?? "";
  if (kind) td.className = kind;
  return td;
}

// clock is a time of today, and of another day that with its date.
function clock(text) {
  const time = new Date(text);
  return time.toDateString() === new Date().toDateString() ? time.toLocaleTimeString() : time.toLocaleString();
}

function usage(part) {
  const td = cell("", "load");
  const meter = document.createElement("meter");
  meter.value = part;
  meter.high = 0.8;
  meter.max = 1;
  td.append(meter, " " + Math.round(100 * part) + " %");
  return td;
}

function row(...cells) {
  const tr = document.createElement("tr");
  tr.append(...cells);
  return tr;
}

// An age is a Go duration; one in whole seconds or more is old.
const isOld = (age) => !/^[0-9.]+(ms|µs|ns)$/.test(age) && age !== "0s";

function endpoint(e) {
  const m = e.metrics;
  const labels = Object.entries(e.labels).map(([key, value]) => key + "=" + value).join(" ");
  const fails = e.failureShare ? Math.round(100 * e.failureShare) + " % of its requests failed of late" : "";
  const silent = e.silentFor ? "has answered nobody for " + e.silentFor : "";
  const trouble = [fails, silent, e.lastError, ...(e.missingMetrics ?? []).map((name) => "no " + name)].filter(Boolean).join("; ");
  const load = m
    ? [cell(m.waiting, "n"), cell(m.running, "n"), usage(m.kvCacheUsage), cell(m.age, isOld(m.age) ? "n stale" : "n")]
    : [cell("", "n"), cell("", "n"), cell(""), cell("never", "n stale")];
  const first = e.speed ? Math.round(e.speed.ttft.predictedMs) + " / " + Math.round(e.speed.ttft.actualMs) + " ms" : "";
  const held = cell(e.prefixes?.blocks, "n held");
  return row(cell(e.name), cell(e.address), cell(e.engine), ...load, cell(first, "n"), held, cell(e.models.join(", "), "wide"), cell(labels, "wide"), cell(trouble, "bad"));
}

function envoy(e) {
  const result = e.result || "none yet";
  return row(cell(e.ingest), cell(result, result === "accepted" ? "good" : "bad"), cell(e.accepted ?? "never", "n"),
    cell(e.sequence, "n"), cell(e.topology, "wide"), cell(e.filter ?? ""), cell(e.failure, "bad"));
}

// silentFor is after how many seconds a gateway that says nothing counts as gone, as its leases do.
const silentFor = 30;

function gateway(g) {
  const heard = g.silence < 1 ? "now" : Math.round(g.silence) + " s ago";
  return row(cell(g.name), cell(heard, g.silence > silentFor ? "n stale" : "n"), cell(Math.round(1000 * g.lag) + " ms", "n"),
    cell(g.events, "n"), cell(g.duplicates, "n"));
}

// replication shows how each Envoy's gateway stands with the others.
function replication(members) {
  byId("replication").hidden = members.length === 0;
  const told = members.map((m) => [m.gateway, ...(m.scraping ? [m.scraping] : []), ...(m.failures ?? []),
    ...Object.entries(m.refused ?? {}).map(([reason, n]) => n + " refused: " + reason)].join(", "));
  byId("gateway").textContent = "of " + told.join("; ");
  byId("gateway").className = members.some((m) => m.failures || m.refused) ? "bad" : "";
  byId("gateways").replaceChildren(...members.flatMap((m) => m.gateways.map(gateway)));
}

function publisher(p) {
  const gaps = [p.mended && p.mended + " mended", p.forgotten && p.forgotten + " forgotten"].filter(Boolean).join(", ");
  return row(cell(p.endpoint), cell(p.rank, "n"), cell(p.address ?? "connects here"),
    cell(p.connected ? "yes" : "no", p.connected ? "good" : "bad"), cell(Math.round(1000 * p.lagSeconds) + " ms", "n"),
    cell(p.stored, "n"), cell(p.removed, "n"), cell(p.cleared, "n"), cell(p.passedOver, p.passedOver ? "n bad" : "n"),
    cell(gaps, p.forgotten ? "n bad" : "n"), cell(p.failure, "bad"));
}

// caches shows what is heard of the servers' caches.
function caches(c) {
  byId("caches").hidden = !c;
  byId("cached").textContent = c?.summary ?? "";
  byId("publishers").replaceChildren(...(c?.publishers ?? []).map(publisher));
}

function tier(t) {
  return row(cell(t.name), cell(t.hits, "n"), cell(t.misses, "n"), cell(t.errors, t.errors ? "n bad" : "n"),
    cell(t.bytesRead, "n"), cell(t.bytesWritten, "n"));
}

// store shows where conversations are kept, and what was found there.
function store(s) {
  byId("store").hidden = !s;
  const kept = s?.entries === undefined ? "" : s.entries + " in memory, " + s.bytes + " bytes; ";
  byId("stored").textContent = s ? kept + s.stored + " responses stored, " + s.notStored + " not" : "";
  byId("tiers").replaceChildren(...(s?.tiers ?? []).map(tier));
}

function show(s) {
  byId("status").textContent = s.status;
  byId("status").className = s.status === "ok" ? "good" : "bad";
  byId("time").textContent = new Date(s.time).toLocaleTimeString();
  const reasons = [...(s.reasons ?? []), ...(s.warnings ?? [])].map((text) => {
    const li = document.createElement("li");
    li.textContent = text;
    li.className = "bad";
    return li;
  });
  byId("reasons").replaceChildren(...reasons);
  byId("reasons").hidden = reasons.length === 0;
  byId("count").textContent = s.endpoints.length + (s.topology ? " in topology " + s.topology : "");
  byId("fleet").classList.toggle("keeps", s.endpoints.some((e) => e.prefixes));
  byId("version").textContent = s.version ? "the sidecar is " + s.version : "";
  byId("endpoints").replaceChildren(...s.endpoints.map(endpoint));
  byId("envoys").replaceChildren(...s.envoys.map(envoy));
  replication(s.replication ?? []);
  caches(s.caches);
  store(s.store);
  const mistakes = s.mistakes.map((m) => row(cell(clock(m.time), "time"), cell(m.text)));
  byId("mistakes").replaceChildren(...(mistakes.length ? mistakes : [row(cell("none"))]));
  byId("configuration").textContent = JSON.stringify(s.configuration, null, 2);
}

const events = new EventSource("status/events");
events.onmessage = (event) => show(JSON.parse(event.data));
events.onerror = () => {
  byId("status").textContent = "the sidecar does not answer";
  byId("status").className = "bad";
};
