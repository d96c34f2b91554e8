// A run to servers of others: the servers ordered by their change, and the blocks of one of them.

import { ask, digits, h, s, scaleOf } from "./dom.js";
import { drawDots } from "./dots.js";

const WIDTH = 300, HEIGHT = 24, EDGE = 8, CAP = 5, LEAST = 3, ROOM = 1.25;

// The smallest number with one digit and zeros that is no less.
function rounded(number) {
  const power = 10 ** Math.floor(Math.log10(number));
  return Math.ceil(number / power - 1e-9) * power;
}

// The ends of an axis that has room for all changes. Intervals that are wider reach its ends.
function limitsOf(rows, margin) {
  const most = rows.filter((row) => row && row.change !== null).map((row) => Math.abs(row.change)).reduce((a, b) => Math.max(a, b), 0);
  return rounded(Math.max(LEAST * margin, ROOM * most, 1));
}

const placeOf = (change, most) => WIDTH / 2 + (Math.max(-most, Math.min(most, change)) / most) * (WIDTH / 2 - EDGE);

// A change with its interval beside no difference; the band is the margin that does not matter.
function interval(row, margin, most, kind) {
  const x = (change) => placeOf(change, most), middle = HEIGHT / 2;
  const known = row.change !== null && row.change !== undefined;
  return s("svg", { class: `interval ${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    s("rect", { class: "margin", x: x(-margin), width: x(margin) - x(-margin), y: 0, height: HEIGHT }),
    s("line", { class: "none", x1: x(0), x2: x(0), y1: 0, y2: HEIGHT }),
    known && row.low !== null && row.high !== null && s("path", { class: "reach", d: `M${x(row.low)} ${middle - CAP}v${2 * CAP}m0 ${-CAP}H${x(row.high)}m0 ${-CAP}v${2 * CAP}` }),
    known && (kind === "ink"
      ? s("path", { class: "estimate", d: `M${x(row.change) - 6} ${middle}L${x(row.change)} 5L${x(row.change) + 6} ${middle}L${x(row.change)} ${HEIGHT - 5}Z` })
      : s("circle", { class: kind === "open" ? "estimate open" : "estimate", cx: x(row.change), cy: middle, r: 3.5 })));
}

function axis(most) {
  const mark = (change, anchor) => s("text", { class: "axis", x: placeOf(change, most), y: 17, "text-anchor": anchor }, `${change > 0 ? "+" : change < 0 ? "−" : ""}${digits(Math.abs(change))} %`);
  return s("svg", { class: "interval", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, mark(-most, "start"), mark(0, "middle"), mark(most, "end"));
}

const change = (row) => h("span", { class: "change" }, row.text && h("span", {}, row.text), row.word && h("span", { class: `badge ${row.tone}` }, row.word), row.n > 0 && h("span", { class: "quiet" }, `${row.n} pairs`));

const forest = (rows, margin, most, name, mean) => h("ul", { class: "forest" },
  h("li", { class: "heads", "aria-hidden": "true" }, h("span", {}), axis(most), h("span", {})),
  rows.map((row) => h("li", {}, name(row), interval(row, margin, most, row.tone), change(row))),
  mean && h("li", { class: "mean" }, h("span", {}, `mean of ${mean.n}`), interval(mean, margin, most, "ink"), h("span", { class: "change" }, mean.text)));

const about = (margin) => h("p", { class: "quiet" }, `A row is a change with its interval, paired by block. The band is ±${digits(margin)} %, which does not matter. A hollow mark is not decided.`);

const faultsOf = (faults) => faults.length > 0 && [h("h2", {}, "What does not work"), h("ul", {}, faults.map((fault) => h("li", {}, fault.vantage && h("strong", {}, `${fault.vantage}: `), fault.text)))];

function showAll(place, name, all) {
  const chosen = Number(new URLSearchParams(location.hash.split("?")[1]).get("of")) || 0;
  const comparison = all.comparisons[chosen] ?? all.comparisons[0];
  const encoded = encodeURIComponent(name);
  const which = h("select", { id: "comparison", onchange: () => { location.hash = `#/servers/${encoded}?of=${which.value}`; } }, all.comparisons.map((one, index) => h("option", { value: index, selected: one === comparison }, one.title)));
  place.append(h("p", {}, all.sentence));
  if (comparison) {
    const link = (row) => h("a", { href: `#/servers/${encoded}/${encodeURIComponent(row.server)}` }, row.server);
    place.append(h("div", { class: "bar" }, h("label", { for: "comparison" }, "Compared"), which), comparison.sentence && h("p", {}, comparison.sentence),
      forest(comparison.rows, comparison.margin, limitsOf([...comparison.rows, comparison.mean], comparison.margin), link, comparison.mean),
      about(comparison.margin));
  } else place.append(h("p", { class: "warning" }, "No server has times over both families to compare."));
}

// The values of each block, with links to its trials.
function blocks(name, spot) {
  const most = spot.values.map((trial) => trial.value ?? 0).reduce((a, b) => Math.max(a, b), 0);
  const [factor, unit] = scaleOf(most, spot.unit);
  const cell = (trial) => trial && h("a", { href: `#/result/${encodeURIComponent(name)}/${encodeURIComponent(trial.key)}`, "aria-label": `${trial.row}, block ${trial.block}` },
    trial.status !== "ok" ? trial.status : trial.value === null ? "no answer" : `${digits(trial.value / factor)} ${unit}`.trim());
  const numbers = [...new Set(spot.values.map((trial) => trial.block))].sort((a, b) => a - b);
  const last = new Map(spot.values.map((trial) => [`${trial.block}/${trial.row}`, trial]));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Blocks: ${spot.title}` }, h("table", { class: "values" },
    h("thead", {}, h("tr", {}, ["block", ...spot.rows].map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, numbers.map((number) => h("tr", {}, h("th", { scope: "row" }, number), spot.rows.map((row) => h("td", {}, cell(last.get(`${number}/${row}`)))))))));
}

function spotOf(name, spot) {
  const svg = s("svg", { class: "dots", role: "img" });
  drawDots(svg, spot, spot.rows, spot.values.filter((trial) => trial.value !== null), spot.colours);
  return h("section", { class: "combination" }, h("h2", {}, spot.title), h("div", { class: "plot" }, svg),
    h("details", { class: "folded" }, h("summary", {}, "Block by block"), blocks(name, spot)));
}

function showOne(place, name, one) {
  const [first] = one.changes;
  if (first) place.append(forest(one.changes, first.margin, limitsOf(one.changes, first.margin), (row) => h("span", {}, row.title), null), about(first.margin));
  place.append(...one.places.map((spot) => spotOf(name, spot)), h("p", { class: "quiet" }, "A dot is one trial; hollow dots are invalid trials, which no statistic uses."));
}

export async function showServers(place, name, server) {
  const encoded = encodeURIComponent(name);
  const answer = await ask(`/api/runs/${encoded}/servers${server === undefined ? "" : `?server=${encodeURIComponent(server)}`}`);
  place.append(h("p", { class: "kind" }, h("code", {}, name)), h("h1", {}, server ?? "Servers by their change"),
    h("p", { class: "links" }, server !== undefined && h("a", { href: `#/servers/${encoded}` }, "All servers"), h("a", { href: `#/result/${encoded}` }, "Result"), h("a", { href: `#/live/${encoded}` }, "Trials")));
  if (server === undefined) showAll(place, name, answer);
  else showOne(place, name, answer);
  place.append(...[faultsOf(answer.faults)].flat(Infinity).filter(Boolean));
}
