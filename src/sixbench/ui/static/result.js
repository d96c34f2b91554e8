// The report of a run, whole in itself, and the files to download.

import { ask, h } from "./dom.js";
import { badge } from "./runs.js";

export async function showResult(place, name) {
  const run = await ask(`/api/runs/${encodeURIComponent(name)}`);
  if (run.preparing) throw new Error("The run is being prepared; it has no result yet.");
  const base = `/runs/${encodeURIComponent(name)}`;
  const has = run.files.some((file) => file.name === "report.html");
  place.append(h("p", { class: "kind" }, badge(run.state), " ", h("code", {}, name)), h("h1", {}, run.title),
    h("p", { class: "quiet" }, `Linux ${run.kernel}, ${run.machine}`),
    h("p", { class: "links" }, h("a", { href: `#/live/${encodeURIComponent(name)}` }, "Trials")),
    h("h2", {}, "Files"), h("ul", { class: "files" }, run.files.map((file) => h("li", {}, h("a", { href: `${base}/${file.name}?download` , download: file.name }, file.name), h("span", { class: "quiet" }, ` ${file.what}`)))),
    h("h2", {}, "Report"), has
      ? h("iframe", { src: `${base}/report.html`, sandbox: "allow-scripts", title: `Report of ${run.title}` })
      : h("p", { class: "warning" }, "There is no report yet. It is written when the run ends, or with: ", h("code", {}, `sixbench report ${name} --format html`)));
}
