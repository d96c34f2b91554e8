// One trial of a run: the page that it loaded, its series over time, its packets by their headers, and its files.

import { ask, blockWords, digits, h, s, saving, scaleOf } from "./dom.js";
import { drawWaterfall } from "./waterfall.js";

const WIDTH = 440, LEFT = 12, RIGHT = 428, TOP = 24, BASE = 104;

// The stretches between missing values, as points of a polyline. A value of an interval is level from its start to its
// end.
function stretches({ t_ns: times, values, of_intervals: level }, x, y) {
  const pieces = [[]];
  values.forEach((value, index) => {
    if (value === null) pieces.push([]);
    else pieces[pieces.length - 1].push(...(level ? [[x(times[index - 1] ?? 0), y(value)]] : []), [x(times[index]), y(value)]);
  });
  return pieces.filter((points) => points.length);
}

function drawSeries(series, colour) {
  const known = series.values.filter((value) => value !== null);
  const missing = series.values.length - known.length;
  const most = known.reduce((a, b) => Math.max(a, b), 0), least = known.reduce((a, b) => Math.min(a, b), 0);
  const end = series.t_ns[series.t_ns.length - 1] || 1;
  const [factor, unit] = scaleOf(most, series.unit);
  const x = (ns) => LEFT + (ns / end) * (RIGHT - LEFT), y = (value) => BASE - ((value - least) / (most - least || 1)) * (BASE - TOP);
  const name = `${series.title}, ${series.source}`;
  const parts = stretches(series, x, y).map((points) => points.length === 1
    ? s("circle", { class: "dot", cx: points[0][0], cy: points[0][1], r: 3 })
    : s("polyline", { class: "line", points: points.map((point) => point.map((coordinate) => coordinate.toFixed(1)).join(",")).join(" ") }));
  const svg = s("svg", { class: `series of-${colour}`, role: "img", "aria-label": `${name} over time, at most ${digits(most / factor)} ${unit}`, viewBox: `0 0 ${WIDTH} 130` },
    s("line", { class: "rail", x1: LEFT, x2: RIGHT, y1: y(0), y2: y(0) }),
    s("text", { class: "axis", x: LEFT, y: 14 }, `${digits(most / factor)} ${unit} at most; the straight line is 0`),
    s("text", { class: "axis", x: RIGHT, y: 124, "text-anchor": "end" }, `${(end / 1e9).toFixed(2)} s`), parts);
  return h("figure", { class: "plot" }, h("figcaption", {}, name, missing > 0 && h("span", { class: "quiet" }, ` (${missing} of ${series.values.length} values are missing)`)), svg);
}

const headersTable = (layers) => h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Headers" }, h("table", {},
  h("thead", {}, h("tr", {}, ["header", "bytes", "from", "to", "other fields"].map((head) => h("th", { scope: "col" }, head)))),
  h("tbody", {}, layers.map((layer) => h("tr", {}, h("th", { scope: "row" }, layer.name), h("td", {}, layer.bytes ?? ""), h("td", {}, layer.from ?? ""), h("td", {}, layer.to ?? ""), h("td", {}, layer.rest))))));

function packetRow(packet) {
  const after = packet.after_ns === undefined || packet.after_ns === null ? "" : `${(packet.after_ns / 1e6).toFixed(3)} ms`;
  return h("li", {}, h("details", {}, h("summary", {}, packet.number && h("span", { class: "quiet" }, `${packet.number} · ${after} · `), `${packet.wire_bytes} bytes: ${packet.stack}`), headersTable(packet.layers)));
}

// All packets of a capture, a page of them at a time.
function allPackets(base, link) {
  const list = h("ol", { class: "packets" }), problem = h("p", { class: "warning", role: "alert", hidden: true });
  const more = h("button", { onclick: show }, "Show the next packets");
  let shown = 0;
  async function show() {
    more.disabled = true;
    problem.hidden = true;
    try {
      const answer = await ask(`${base}/packets/${encodeURIComponent(link)}?first=${shown}`);
      list.append(...answer.packets.map(packetRow));
      shown += answer.packets.length;
      more.hidden = !answer.more;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
    more.disabled = false;
  }
  return h("details", { class: "folded", ontoggle: (event) => { if (event.target.open && !shown) show(); } }, h("summary", {}, "All packets in order"), list, problem, more);
}

function onLink(link, files, base) {
  const words = [link.captured !== null && `${link.captured} packets captured${link.node ? ` at ${link.node}` : ""}`, link.not_captured > 0 && `${link.not_captured} more not captured for lack of room`].filter(Boolean);
  const stacks = link.stacks.map((stack) => `${stack.packets} were ${stack.stack}`);
  return h("section", {}, h("h3", {}, `Packets on ${link.link}`),
    h("p", { class: "quiet" }, [...words, ...stacks].join(", "), link.packets.length > 0 && ". The largest of them:"),
    h("ul", { class: "packets" }, link.packets.map(packetRow)),
    link.file && allPackets(base, link.link),
    link.file && h("p", {}, saving(`${files}/${encodeURIComponent(link.file)}`, link.file), h("span", { class: "quiet" }, " has all kept packets, for Wireshark")));
}

// The last attempt in the same block over the path that this one is compared with; undefined where there is none.
function counterpart(run, trial, trials) {
  const other = run.compared_pages.find((path) => path !== trial.path);
  return trials.filter(({ block, combination, path }) => block === trial.block && combination === trial.combination && path === other).pop();
}

// The page that a trial loaded, over that of its counterpart.
async function pageFigure(run, trial, page, trials, addressOf) {
  const other = counterpart(run, trial, trials);
  const theirs = other && (await ask(addressOf(other))).page;
  const loads = [[trial, page], ...(theirs ? [[other, theirs]] : [])];
  const rank = ([{ path }]) => run.paths.findIndex(({ name }) => name === path);
  return drawWaterfall(loads.sort((a, b) => rank(a) - rank(b)).map(([{ path, status }, times]) => ({
    path: status === "ok" ? path : `${path} (${status})`, colour: colourOf(run, path), page: times,
  })));
}

const colourOf = (run, name) => run.paths.find((path) => path.name === name).colour;

async function showTrial(place, run, trial, trials) {
  const addressOf = ({ key }) => `/api/runs/${encodeURIComponent(run.run)}/trials/${encodeURIComponent(key)}`;
  const base = addressOf(trial);
  const details = await ask(base);
  const colour = colourOf(run, trial.path);
  const page = details.page && await pageFigure(run, trial, details.page, trials, addressOf);
  const files = `/runs/${encodeURIComponent(run.run)}/trials/${encodeURIComponent(trial.key)}`;
  place.append(h("div", {},
    h("p", {}, h("code", {}, trial.key), ` ${details.status}`),
    details.reasons.length > 0 && h("ul", {}, details.reasons.map((reason) => h("li", {}, reason.text, " ", h("code", {}, reason.kind)))),
    details.notes.length > 0 && h("ul", { class: "quiet" }, details.notes.map((note) => h("li", {}, note))),
    page,
    details.series_problem ? h("p", { class: "warning" }, details.series_problem)
      : details.series.length ? h("div", { class: "all-series" }, details.series.map((series) => drawSeries(series, colour))) : !page && h("p", { class: "quiet" }, "This workload has no values over time."),
    details.series_left_out > 0 && h("p", { class: "quiet" }, `${details.series_left_out} more series are in series.parquet.`),
    details.links.map((link) => onLink(link, files, base)),
    !details.links.length && h("p", { class: "quiet" }, "No packets were captured."),
    h("h3", {}, "Files of this trial"),
    h("ul", { class: "files" }, details.files.filter((name) => !name.endsWith(".pcapng")).map((name) => h("li", {}, saving(`${files}/${encodeURIComponent(name)}`, name))))));
}

const select = (id, onchange) => h("select", { id, onchange });
const options = (choice, entries, chosen) => choice.replaceChildren(...entries.map(([value, words]) => h("option", { value, selected: String(value) === String(chosen) }, words)));

// A block has one trial of a path, and repeats of it where the machine was disturbed.
const attemptOf = ({ block, repeat }) => `${block}${repeat ? `+${repeat}` : ""}`;
const attemptWords = (trial) => `${blockWords(trial)}${trial.status === "ok" ? "" : ` (${trial.status})`}`;

// Chooses a trial by workload, path and block, and shows it. The address names the trial, so that reloading restores
// it.
export async function showTrials(place, run, wanted) {
  const { trials } = await ask(`/api/runs/${encodeURIComponent(run.run)}/trials`);
  if (!trials.length) {
    place.append(h("p", { class: "quiet" }, "The run has no trials."));
    return;
  }
  const first = trials.find((item) => item.key === wanted) ?? trials[0];
  const shown = h("div", { "aria-live": "polite" }, h("p", { class: "quiet" }, "Loading..."));
  const combination = select("of-workload", choose), path = select("of-path", choose), block = select("of-block", choose);
  let turn = 0;
  const ofBoth = () => trials.filter((item) => String(item.combination) === combination.value && item.path === path.value);
  options(combination, run.combinations.map((item, index) => [index, item.title]), first.combination);
  options(path, run.paths.map((item) => [item.name, item.name]), first.path);
  options(block, [[attemptOf(first), ""]], attemptOf(first));
  async function choose() {
    const turnHere = ++turn, there = ofBoth();
    const chosen = there.find((item) => attemptOf(item) === block.value) ?? there.find((item) => item.block === parseInt(block.value, 10)) ?? there[0];
    options(block, there.map((item) => [attemptOf(item), attemptWords(item)]), chosen && attemptOf(chosen));
    if (!chosen) {
      shown.replaceChildren(h("p", { class: "quiet" }, "There is no such trial."));
      return;
    }
    history.replaceState(null, "", `#/result/${encodeURIComponent(run.run)}/${encodeURIComponent(chosen.key)}`);
    const box = h("div", {});
    try {
      await showTrial(box, run, chosen, trials);
    } catch (error) {
      box.replaceChildren(h("p", { class: "warning", role: "alert" }, error.message));
    }
    if (turnHere === turn) shown.replaceChildren(box);
  }
  place.append(h("div", { class: "bar" }, h("label", { for: "of-workload" }, "Workload"), combination, h("label", { for: "of-path" }, "path"), path, h("label", { for: "of-block" }, "block"), block), shown);
  await choose();
}
