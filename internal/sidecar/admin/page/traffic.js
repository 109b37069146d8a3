"use strict";

// The last decisions, by id, and the change up to which they are known; and when the process began that numbers both.
const known = new Map();
let change = "0";
let process = null;
// When more than that are known, those that the sidecar still has are read anew: it keeps failures longer than others.
const most = 2048;
const shown = 100;
// The decision whose steps are open, and those.
let opened = null;
let steps = null;

const millis = (ms) => !ms ? "" : ms < 1000 ? Math.round(ms) + " ms" : (ms / 1000).toFixed(2) + " s";
const bad = (d) => d.reason || /^5/.test(d.status) || ["unreached", "reset", "timeout", "gone"].includes(d.ended);

function remarks(d) {
  const all = [];
  if (d.reason) all.push(d.reason);
  if (d.ended) all.push({client: "the client left", unreached: "not reached", reset: "broken off", timeout: "took too long", envoy: "ended by Envoy", gone: "Envoy or its module crashed or ended"}[d.ended]);
  if (d.tried) all.push("tried " + d.tried + " first");
  if (d.shadow) all.push("shadow: " + d.shadow);
  if (d.asked) all.push("asked for " + d.asked);
  if (d.cold) all.push("cold");
  if (d.streamed) all.push("stream");
  if (d.explained) all.push("explained");
  return all.join(", ");
}

function decision(d) {
  const predicted = d.predicted >= 0 ? " (" + d.predicted + " predicted)" : "";
  const prompt = d.input || (d.promptBytes ? d.promptBytes + " B" : "");
  const tr = row(cell(clock(d.time), "time"), cell(d.model, "wide"), cell(d.endpoint, "wide"),
    cell(d.status || "in flight", bad(d) ? "bad" : ""), cell(millis(d.ttft), "n"), cell(millis(d.duration), "n"), cell(prompt, "n"),
    cell(((d.cached >= 0 ? d.cached : "") + predicted).trim(), "n"), cell(d.output || "", "n"), cell(remarks(d), "wide"));
  tr.dataset.id = d.id;
  return tr;
}

// stepsOf shows how a decision came about, as pintle explain would.
function stepsOf(x) {
  const tr = document.createElement("tr");
  tr.className = "steps";
  const td = cell("");
  td.colSpan = 10;
  tr.append(td);
  if (x.gone) td.textContent = "The sidecar has it no longer.";
  else if (x.profiles.length === 0) td.textContent = "Its steps are not there: only a sample has them (follow.sample), and what failed or was refused.";
  for (const p of x.profiles) {
    const table = document.createElement("table");
    const held = x.held ? ["held of " + x.held.blocks] : [];
    const columns = ["profile " + p.name, "total", ...p.scorers, ...held];
    const head = row(...columns.map((name, i) => cell(name, i ? "n" : "")), cell(""));
    const names = [...new Set([...p.picked, ...Object.keys(p.totals), ...Object.keys(p.filteredOut)])];
    const order = (name) => p.picked.includes(name) ? -1e9 + p.picked.indexOf(name) : name in p.totals ? -p.totals[name] : 1e9;
    names.sort((a, b) => order(a) - order(b));
    const number = (n) => n === undefined ? "" : n.toFixed(4);
    const rows = names.map((name) => {
      const place = p.picked.indexOf(name) + 1;
      // One that was only passed over for others may be picked behind them.
      const what = [p.filteredOut[name] && "removed by " + p.filteredOut[name], place && "picked " + place].filter(Boolean).join(", ");
      return row(cell(name, place ? "picked" : ""), cell(number(p.totals[name]), "n"), ...p.scorers.map((s) => cell(number(p.scores[s][name]), "n")), ...held.map(() => cell(x.held.of[name] ?? 0, "n")), cell(what));
    });
    table.append(head, ...rows);
    td.append(table);
  }
  return tr;
}

// choices offers what there is, and keeps what is chosen.
function choices(select, values) {
  const there = new Set([...select.options].map((o) => o.value));
  for (const value of [...new Set(values)].sort()) {
    if (value && !there.has(value)) select.append(new Option(value, value));
  }
}

function list() {
  const form = byId("filters").elements;
  const all = [...known.values()].sort((a, b) => b.id - a.id);
  choices(form.model, all.map((d) => d.model));
  choices(form.endpoint, all.map((d) => d.endpoint));
  choices(form.status, all.map((d) => d.status));
  const times = all.map((d) => d.ttft || d.duration).filter(Boolean).sort((a, b) => a - b);
  const slow = times[Math.floor(times.length * 0.9)] ?? 0;
  const passes = (d) =>
    (!form.model.value || d.model === form.model.value) && (!form.endpoint.value || d.endpoint === form.endpoint.value) &&
    (!form.status.value || (form.status.value === "open" ? !d.status : form.status.value === "bad" ? bad(d) : d.status === form.status.value)) &&
    (!form.slow.checked || (d.ttft || d.duration) >= slow && slow > 0) && (!form.cold.checked || d.cold) && (!form.explained.checked || d.explained);
  const chosen = all.filter(passes);
  byId("listed").textContent = Math.min(chosen.length, shown) + " of " + all.length;
  const rows = [];
  for (const d of chosen.slice(0, shown)) {
    rows.push(decision(d));
    if (d.id === opened && steps) rows.push(stepsOf(steps));
  }
  byId("decisions").replaceChildren(...(rows.length ? rows : [row(cell("none"))]));
}

async function open(id) {
  opened = opened === id ? null : id;
  steps = null;
  if (opened !== null) {
    const answer = await fetch("decisions/" + id);
    const found = answer.ok ? await answer.json() : {gone: true, profiles: []};
    if (opened === id) steps = found;
  }
  list();
}

async function look() {
  const since = async (number) => (await fetch("decisions?since=" + number)).json();
  let answer = await since(change);
  const other = answer.process !== process;
  const anew = other || known.size > most;
  if (anew) {
    answer = await since(0);
    known.clear();
  }
  if (other) opened = steps = null;
  process = answer.process;
  change = answer.change;
  for (const d of answer.decisions) known.set(d.id, d);
  if (anew || answer.decisions.length) list();
}

const svg = (name, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};

// plot draws lists of numbers below a caption; null is a gap.
function plot(title, unit, lines) {
  const figure = document.createElement("figure");
  const values = Object.values(lines).flat().filter((v) => v !== null);
  const most = Math.max(...values, 0) || 1;
  const drawing = svg("svg", {viewBox: "0 0 180 100", preserveAspectRatio: "none"});
  Object.values(lines).forEach((line, n) => {
    let d = "", up = true;
    line.forEach((v, i) => {
      if (v !== null) d += (up ? "M" : "L") + i + " " + (98 - 96 * v / most).toFixed(1);
      up = v === null;
    });
    drawing.append(svg("path", {d, class: "c" + n % 6}));
  });
  const caption = document.createElement("figcaption");
  caption.textContent = title + ", up to " + (most < 10 ? most.toFixed(2) : Math.round(most)) + unit;
  const names = Object.keys(lines);
  if (names.length > 1) caption.textContent += ": " + names.slice(0, 6).join(", ") + (names.length > 6 ? ", …" : "");
  figure.append(drawing, caption);
  return figure;
}

async function draw() {
  const p = await (await fetch("plots")).json();
  const percent = (line) => line.map((v) => v === null ? null : 100 * v);
  // The last step is not over: there it would seem as if requests became fewer.
  const over = (line) => line.slice(0, -1);
  byId("plots").replaceChildren(
    plot("requests each second", "", {routed: over(p.requests), refused: over(p.refused)}), plot("time to first token", " ms", {p50: p.ttft50, p90: p.ttft90}),
    plot("prompt tokens found in caches", " %", {reported: percent(p.hitRate), expected: percent(p.expectedHitRate)}), plot("in flight", "", p.inFlight), plot("waiting", "", p.waiting));
}

// again calls f now and then, whether or not it works.
async function again(f, period) {
  try { await f(); } catch { /* the page says that the sidecar does not answer */ }
  setTimeout(() => again(f, period), period);
}

byId("filters").addEventListener("input", list);
byId("decisions").addEventListener("click", (event) => {
  const tr = event.target.closest("tr[data-id]");
  if (tr) open(Number(tr.dataset.id));
});
list();
again(look, 1000);
again(draw, 5000);
