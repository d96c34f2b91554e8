// The path MTU of each direction: the results of three methods, and the hops with the one that limits it.

import { ask, h } from "./dom.js";

const OPEN_WAYS = 4; // more of them are folded, since each has a table

const placeOf = (direction) => h("ol", { class: "hops", start: "0" },
  h("li", { class: direction.limiting === 0 && "limiting" }, "this machine's link", direction.limiting === 0 && h("strong", {}, " limits it")),
  direction.hops.map((hop) => h("li", { class: direction.limiting === hop.index && "limiting" }, hop.address ?? "no answer", direction.limiting === hop.index && h("strong", {}, " limits it"))));

const wayOf = (direction) => h("section", {}, h("h3", {}, `${direction.path}, ${direction.direction}`),
  h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Path MTU, ${direction.path} ${direction.direction}` }, h("table", {}, h("tbody", {}, direction.facts.map((fact) => h("tr", {}, h("th", { scope: "row" }, fact.name), h("td", {}, fact.value)))))),
  direction.hops.length ? [h("p", { class: "quiet" }, "Hops, from 0:"), placeOf(direction)] : h("p", { class: "quiet" }, "The hops were not measured, because packets of the interface's MTU arrive."));

export async function drawPathMtus(place, name) {
  const { ways } = await ask(`/api/runs/${encodeURIComponent(name)}/path-mtu`);
  const sections = h("div", { class: "all-series" }, ways.map(wayOf));
  const shown = ways.length > OPEN_WAYS ? h("details", { class: "folded" }, h("summary", {}, `${ways.length} directions of paths`), sections) : sections;
  place.replaceChildren(...(ways.length ? [h("h2", {}, "Path MTU"), shown] : []));
}
