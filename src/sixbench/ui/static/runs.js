// All runs: state, question, first answer, machine.

import { ask, date, h } from "./dom.js";

const EVERY_MS = 5000;
const MOST_COMPARED = 6;
const MARKS = { complete: "✓", partial: "!", interrupted: "–", running: "…", waiting: "…", unreadable: "×" };

export const badge = (state) => h("span", { class: `badge ${state}` }, h("span", { "aria-hidden": "true" }, `${MARKS[state] ?? "?"} `), state);

function row(run, job, ticked, tick) {
  const state = run.problem ? "unreadable" : job && job.state !== "ended" ? job.state : run.state;
  const screen = ["running", "waiting", "interrupted"].includes(state) ? "live" : "result";
  const counts = [[run.ok_trials, "ok"], [run.invalid_trials, "invalid"], [run.failed_trials, "failed"]].filter(([number]) => number);
  return h("li", { class: "run" },
    h("div", { class: "run-head" }, badge(state), h("span", { class: "quiet" }, date(run.started_realtime_ns)), run.is_quick && h("span", { class: "quiet" }, "quick")),
    h("h2", {}, run.problem ? run.run : h("a", { href: `#/${screen}/${encodeURIComponent(run.run)}` }, run.title || run.experiment)),
    h("p", { class: "answer" }, run.problem ?? (run.state === "running" ? "Measuring. The answer comes at the planned end." : run.unread ? "Its trials are being read." : run.answer ?? "No answer yet.")),
    !run.problem && h("p", { class: "quiet properties" }, h("code", {}, run.run), counts.length > 0 && ` · ${counts.map(([number, word]) => `${number} ${word}`).join(", ")}`,
      run.kernel && ` · Linux ${run.kernel}`, run.machine && ` · ${run.machine}`),
    !run.problem && h("p", { class: "links" }, h("a", { href: `#/live/${encodeURIComponent(run.run)}`, "aria-label": `Trials of ${run.run}` }, "Trials"),
      h("a", { href: `#/result/${encodeURIComponent(run.run)}`, "aria-label": `Result of ${run.run}` }, "Result"),
      h("label", { class: "tick-run" }, h("input", { type: "checkbox", checked: ticked.has(run.run), "aria-label": `Compare ${run.run}`, onchange: (event) => tick(run.run, event.target.checked) }), "compare")),
    job?.words && h("pre", {}, job.words));
}

const jobRow = (job) => h("li", { class: "run" },
  h("div", { class: "run-head" }, badge(job.state === "ended" ? (job.exit_code === 0 ? "complete" : "interrupted") : job.state), h("span", { class: "quiet" }, "started here")),
  h("h2", {}, job.state === "waiting" ? job.title : h("a", { href: `#/live/${encodeURIComponent(job.run)}` }, job.title)),
  h("p", { class: "quiet properties" }, h("code", {}, job.run)), job.words && h("pre", {}, job.words),
  job.state !== "ended" && h("p", {}, h("button", { onclick: (event) => stop(event.target, job) }, job.state === "waiting" ? "Remove from the queue" : "Stop")));

function stop(button, job) {
  button.disabled = true;
  if (job.state !== "waiting") button.textContent = "Stopping...";
  ask(`/api/runs/${encodeURIComponent(job.run)}/stop`, {}).catch((error) => button.replaceWith(h("span", { role: "alert" }, error.message)));
}

const INPUTS = "a, button, input";

// Puts rows into a list, and does not touch rows that are in place. The focus stays where it is, also in a row that
// replaces an older one.
function arrange(list, rows, instead) {
  const old = [...list.children].find((row) => row.contains(document.activeElement));
  const at = old ? [...old.querySelectorAll(INPUTS)].indexOf(document.activeElement) : -1;
  const wanted = new Set(rows);
  for (const row of [...list.children]) if (!wanted.has(row)) row.remove();
  rows.forEach((element, index) => { if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null); });
  if (at >= 0 && !old.isConnected) instead.get(old)?.querySelectorAll(INPUTS)[at]?.focus({ preventScroll: true });
}

export async function showRuns(place) {
  const list = h("ul", { class: "runs-list" });
  const machine = h("p", { class: "quiet", role: "status" }, "Checking what this machine can do...");
  const where = h("p", { class: "quiet" });
  const search = h("input", { type: "search", id: "filter", placeholder: "part of a name", oninput: () => draw() });
  const ticked = new Set();
  const compare = h("button", { disabled: true, onclick: () => { location.hash = `#/compare/${[...ticked].map(encodeURIComponent).join("/")}`; } }, "Compare ticked runs");
  const tick = (name, is) => {
    if (is) ticked.add(name);
    else ticked.delete(name);
    compare.disabled = ticked.size < 2 || ticked.size > MOST_COMPARED;
    compare.textContent = ticked.size > MOST_COMPARED ? `At most ${MOST_COMPARED} runs are compared` : "Compare ticked runs";
  };
  let known = { runs: [], jobs: [] };
  let drawn = "", rows = new Map();

  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const has = new Set(known.runs.map((run) => run.run));
    const fits = (run) => !wanted || [run.run, run.title, run.experiment, run.state, run.answer, run.kernel, run.machine].some((text) => text?.toLowerCase().includes(wanted));
    const before = rows;
    const kept = (name, what, make) => {
      const old = before.get(name), words = JSON.stringify(what);
      return [name, old?.words === words ? old : { words, element: make() }];
    };
    rows = new Map([...known.jobs.filter((job) => !has.has(job.run)).reverse().map((job) => kept(job.run, job, () => jobRow(job))),
      ...known.runs.filter(fits).map((run) => {
        const job = known.jobs.find((job) => job.run === run.run);
        return kept(run.run, [run, job], () => row(run, job, ticked, tick));
      })]);
    arrange(list, [...rows.values()].map((item) => item.element), new Map([...rows].map(([name, item]) => [before.get(name)?.element, item.element])));
    where.textContent = known.runs.length || known.jobs.length ? `${known.runs.length} in ${known.directory}` : `There are no runs in ${known.directory} yet. Start one with New.`;
  }

  async function look() {
    known = await ask("/api/runs");
    const now = JSON.stringify(known);
    if (now !== drawn) draw();
    drawn = now;
  }

  await look();
  place.append(h("h1", {}, "Runs"), machine,
    h("div", { class: "bar" }, h("label", { for: "filter" }, "Show only"), search, compare, where), list);
  const doctor = () => ask("/api/doctor").then(({ sentence }) => { if (sentence) { machine.textContent = `This machine: ${sentence}`; clearInterval(asking); } }, () => {});
  const asking = setInterval(doctor, 2000);
  doctor();
  const timer = setInterval(() => look().catch((error) => { where.textContent = error.message; }), EVERY_MS);
  return () => { clearInterval(timer); clearInterval(asking); };
}
