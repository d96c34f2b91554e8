// The report of a run, which begins with the answers; below it each trial with its series and packets,
// tables for a paper, and the files to download.

import { ask, h, refusal, saving } from "./dom.js";
import { badge } from "./runs.js";
import { fetchOwn } from "./token.js";
import { showTrials } from "./trial.js";

// A part that is loaded when it is first opened.
function folded(words, fill, open = false) {
  const inside = h("div", {});
  let asked = false;
  async function once() {
    if (asked) return;
    asked = true;
    try {
      await fill(inside);
    } catch (error) {
      inside.append(h("p", { class: "warning", role: "alert" }, error.message));
    }
  }
  return h("details", { class: "folded", open, ontoggle: once }, h("summary", {}, h("h2", {}, words)), inside);
}

const FORMS = { latex: "LaTeX", md: "Markdown", csv: "CSV" };

async function showTables(place, base, name) {
  const { tables } = await ask(`${base}/tables`);
  const which = h("select", { id: "which-table" }, h("option", { value: "" }, "The whole report"), tables.map((table) => h("option", { value: table.name }, `${table.name}: ${table.title}`)));
  const text = h("textarea", { readonly: true, rows: 16, "aria-label": "The tables", spellcheck: "false", hidden: true });
  const words = h("span", { class: "quiet", role: "status" });
  const copy = h("button", { hidden: true, onclick: async () => {
    text.select();
    try {
      await navigator.clipboard.writeText(text.value);
      words.textContent = "Copied.";
    } catch {
      words.textContent = "The text is selected. Copy it with Ctrl-C.";
    }
  } }, "Copy");
  const save = h("a", { hidden: true }, "Download");
  const problem = h("p", { class: "warning", role: "alert", hidden: true });
  async function show(form) {
    words.textContent = "Loading...";
    try {
      const written = await ask(`${base}/tables/${form}${which.value && `?table=${encodeURIComponent(which.value)}`}`);
      text.value = written.text;
      URL.revokeObjectURL(save.href);
      save.href = URL.createObjectURL(new Blob([written.text], { type: "text/plain" }));
      save.download = `${name}${written.suffix}`;
      text.hidden = copy.hidden = save.hidden = false;
      problem.hidden = true;
      words.textContent = "";
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      words.textContent = "";
    }
  }
  if (tables.length) place.append(h("div", { class: "field" }, h("label", { for: "which-table" }, "Which"), which, h("p", { class: "quiet" }, "A table of the paper has the paper's columns and units, with our values in a row below each of the paper's.")));
  place.append(h("div", { class: "bar" }, Object.entries(FORMS).map(([form, words]) => h("button", { onclick: () => show(form) }, words)), copy, save, words), problem, text);
}

async function reportOrProblem(path) {
  try {
    const answer = await fetchOwn(path);
    if (answer.ok) return [await answer.text(), undefined];
    return [undefined, await refusal(answer)];
  } catch {
    return [undefined, "The report could not be read: the page's server has ended or cannot be reached."];
  }
}

// The report is handed to its frame, which cannot load it itself, because the address of a frame cannot show the token.
function reportFrame(path, title) {
  const frame = h("iframe", { src: "/report", sandbox: "allow-scripts", title, onload: give });
  let isGiven = false;
  async function give() {
    if (isGiven) return;
    isGiven = true;
    const [report, problem] = await reportOrProblem(path);
    if (!frame.isConnected) return; // the reader has left this screen
    if (report !== undefined) frame.contentWindow.postMessage({ report }, "*"); // the frame has no origin to name
    else frame.replaceWith(h("p", { class: "warning", role: "alert" }, problem));
  }
  return frame;
}

export async function showResult(place, name, key) {
  const base = `/api/runs/${encodeURIComponent(name)}`;
  const run = await ask(base);
  if (run.preparing) throw new Error("The run is being prepared; it has no result yet.");
  const files = `/runs/${encodeURIComponent(name)}`;
  const has = run.files.some((file) => file.name === "report.html");
  place.append(h("p", { class: "kind" }, badge(run.state), " ", h("code", {}, name)), h("h1", {}, run.title),
    h("p", { class: "quiet" }, `Linux ${run.kernel}, ${run.machine} · `, h("a", { href: `#/live/${encodeURIComponent(name)}` }, "Trials"),
      run.servers.length > 0 && [" · ", h("a", { href: `#/servers/${encodeURIComponent(name)}` }, "Servers")]),
    has ? reportFrame(`${files}/report.html`, `Report of ${run.title}`)
      : h("p", { class: "warning" }, "There is no report yet. It is written when the run ends, or with: ", h("code", {}, `sixbench report ${name} --format html`)),
    folded("Series and packets of each trial", (inside) => showTrials(inside, run, key), key !== undefined),
    folded("Tables for a paper or a spreadsheet", (inside) => showTables(inside, base, name)),
    folded("Files", (inside) => inside.append(h("ul", { class: "files" }, run.files.map((file) => h("li", {}, saving(`${files}/${file.name}`, file.name), h("span", { class: "quiet" }, ` ${file.what}`))))), true));
}
