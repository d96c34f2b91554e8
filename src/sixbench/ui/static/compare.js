// Compared runs: the values of all, and the changes against one of them, the reference.

import { ask, date, h, s } from "./dom.js";
import { drawDots } from "./dots.js";
import { badge } from "./runs.js";

const scrolling = (label, table) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
const table = (heads, rows, kind) => h("table", { class: kind }, h("thead", {}, h("tr", {}, heads.map((head) => (head ? h("th", { scope: "col" }, head) : h("td", {}))))),
  h("tbody", {}, rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", {}, cell))))));

// The changes, number by number, with the colours of the report's verdicts. The last column has words in some rows, and
// is left out if all are empty.
const values = (heads, rows, tones) => {
  const shown = rows.some((row) => row[row.length - 1]) ? heads.length : heads.length - 1;
  return table(heads.slice(0, shown), rows.map((row, index) => [...row.slice(0, heads.length - 1), row.at(-1) && h("span", { class: `badge ${tones[index]}` }, row.at(-1))].slice(0, shown)), "values");
};

function against(comparison, heads) {
  const head = h("h2", {}, `${comparison.run} against ${comparison.reference}`);
  if (comparison.refused) return h("section", { class: "against" }, head, h("p", { class: "warning" }, comparison.refused));
  const settings = comparison.settings.length
    ? h("details", {}, h("summary", {}, comparison.settings.length === 1 ? "1 setting differs" : `${comparison.settings.length} settings differ`), scrolling("Settings that differ", table(["setting", comparison.reference, comparison.run], comparison.settings.map(({ name, old, new: now }) => [name, old ?? "", now ?? ""]))))
    : h("p", {}, "Machine, versions and experiment are the same.");
  return h("section", { class: "against" }, head, h("p", {}, comparison.conclusion), settings,
    comparison.tables.map(({ heading, rows, tones }) => [h("h3", {}, heading), scrolling(heading, values(heads.map((name) => ({ old: comparison.reference, new: comparison.run })[name] ?? name), rows, tones))]),
    comparison.left_out > 0 && h("p", { class: "quiet" }, `${comparison.left_out} more without a certain change: see sixbench compare --all.`),
    comparison.lacking.map((line) => h("p", { class: "warning" }, line)));
}

function place(combination) {
  const svg = s("svg", { class: "dots", role: "img" });
  drawDots(svg, combination, combination.rows, combination.values, combination.colours);
  return h("section", { class: "combination" }, h("h3", {}, combination.title), h("div", { class: "plot" }, svg));
}

export async function showCompare(screen, ...names) {
  const wanted = new URLSearchParams(location.hash.split("?")[1]).get("reference");
  const compared = await ask(`/api/compare?${names.map((name) => `run=${encodeURIComponent(name)}`).join("&")}${wanted === null ? "" : `&reference=${encodeURIComponent(wanted)}`}`);
  const reference = h("select", { id: "reference", onchange: () => { location.hash = `#/compare/${names.map(encodeURIComponent).join("/")}?reference=${encodeURIComponent(reference.value)}`; } },
    compared.runs.map((run, index) => h("option", { value: run.run, selected: run.run === compared.reference }, `${run.run}${index ? "" : " (the oldest)"}`)));
  screen.append(h("h1", {}, `${names.length} runs compared`), h("div", { class: "bar" }, h("label", { for: "reference" }, "against"), reference),
    h("ul", { class: "runs-list" }, compared.runs.map((run) => h("li", { class: "run" }, h("div", { class: "run-head" }, badge(run.problem ? "unreadable" : run.state), h("span", { class: "quiet" }, date(run.started_realtime_ns)), run.run === compared.reference && h("strong", {}, "reference")),
      h("p", {}, h("a", { href: `#/result/${encodeURIComponent(run.run)}` }, run.run), run.kernel && ` · Linux ${run.kernel}`, run.machine && ` · ${run.machine}`), h("p", { class: "answer" }, run.state === "running" || run.state === "interrupted" ? "The run has not reached its planned end." : run.answer)))),
    h("p", { class: "quiet" }, "Within a run, paths are compared pair by pair, each pair from one block. Trials of different runs come from different blocks and form no pairs, so runs are compared unpaired, by Welch's t. Better and worse are adjusted by Holm within each metric."),
    ...compared.against.map((comparison) => against(comparison, compared.heads)),
    h("h2", {}, "All trials"), ...compared.places.map(place), h("p", { class: "quiet" }, "A dot is one trial; hollow dots are invalid trials, which no statistic uses."));
}
