// A run under way: the current trial, the status of each trial, and a dot for each value. No verdict and no interval is
// shown before the planned end, because a viewer might then stop the run at a pleasing moment.

import { ask, blockWords, clock, h, s } from "./dom.js";
import { drawDots } from "./dots.js";
import { badge } from "./runs.js";
import { Stream } from "./stream.js";
import { drawPathMtus } from "./hops.js";
import { drawTopology } from "./topology.js";
import { Within } from "./within.js";

const MARKS = { ok: "✓", invalid: "!", failed: "×", now: "…" };
const RULES = { blocks: "all blocks are done", precision: "the precision is reached", deviation: "the values are steady enough", decided: "every answer is decided", time: "the time is over" };
const WAIT_MS = 1000;

class Grid {
  // The trials of one combination: a row for each path, a column for each block, and the values as dots.
  constructor(combination, paths, blocks, tell, colours) {
    this.tell = tell;
    this.colours = paths.map((path) => colours.get(path));
    this.paths = paths;
    this.blocks = 0;
    this.combination = combination;
    this.cells = new Map();
    this.values = [];
    this.head = h("tr", {}, h("th", { scope: "col" }, "path \\ block"));
    this.rows = new Map(paths.map((path) => [path, h("tr", {}, h("th", { scope: "row" }, path))]));
    this.plot = s("svg", { class: "dots", role: "img", "aria-label": `${combination.metric} of each trial, none so far` });
    this.note = h("p", { class: "quiet" });
    this.section = h("section", { class: "combination", hidden: true }, h("h2", {}, combination.title),
      h("div", { class: "pair" },
        this.scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Trials: ${combination.title}` }, h("table", { class: "grid" }, h("thead", {}, this.head), h("tbody", {}, [...this.rows.values()]))),
        h("div", { class: "plot" }, this.plot)), this.note);
    this.grow(blocks);
  }

  grow(blocks) {
    while (this.blocks < blocks) {
      this.blocks += 1;
      this.head.append(h("th", { scope: "col" }, this.blocks));
      for (const [path, row] of this.rows) {
        const cell = h("td", { class: "planned" }, "·");
        this.cells.set(`${this.blocks}/${path}`, cell);
        row.append(cell);
      }
    }
  }

  // Combinations without a started trial are only named, below the others.
  get hasBegun() { return !this.section.hidden; }

  begin(block, path) {
    this.section.hidden = false;
    this.grow(block);
    const cell = this.cells.get(`${block}/${path}`);
    if (!cell) return;
    this.mark(cell, "now", MARKS.now, "under way");
    this.follow = cell;
  }

  // Scrolls to the trial under way, unless the viewer is scrolling.
  showNow() {
    const cell = this.follow, scroll = this.scroll;
    this.follow = null;
    if (!cell || scroll.matches(":hover, :focus-within")) return;
    const names = this.head.firstChild.offsetWidth, from = scroll.scrollLeft + names, to = scroll.scrollLeft + scroll.clientWidth;
    if (cell.offsetLeft < from || cell.offsetLeft + cell.offsetWidth > to) scroll.scrollLeft = cell.offsetLeft - names - (scroll.clientWidth - names) / 2;
  }

  end(event) {
    this.section.hidden = false;
    this.grow(event.block);
    const cell = this.cells.get(`${event.block}/${event.path}`);
    if (!cell) return;
    if (event.status === "ok") this.mark(cell, "ok", MARKS.ok, "ok");
    else {
      cell.className = event.status;
      cell.replaceChildren(h("button", { "aria-label": `${event.path}, block ${event.block}: ${event.status}. Why?`, onclick: () => this.tell(event, this.combination) }, MARKS[event.status]));
    }
    if (event.value !== undefined) this.values.push({ ...event, row: event.path });
    this.dirty = true;
  }

  mark(cell, kind, mark, words) {
    cell.className = kind;
    cell.replaceChildren(h("span", { "aria-hidden": "true" }, mark), h("span", { class: "hidden" }, words));
  }

  draw() {
    if (!this.dirty) return;
    this.dirty = false;
    drawDots(this.plot, this.combination, this.paths, this.values, this.colours);
  }
}

async function described(place, name) {
  // A run that has just been started has no directory yet, and a run that waits for others has none until it begins.
  for (;;) {
    const run = await ask(`/api/runs/${encodeURIComponent(name)}`);
    if (!run.preparing) return run;
    if (!place.isConnected) throw new Error("The viewer has left this screen.");
    place.querySelector(".moment").textContent = "The run is being prepared. If another run is measuring on this machine, it waits for that run to end.";
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
}

export async function showLive(place, name) {
  const run = await described(place, name);
  const steps = new Map(run.paths.map((path) => [path.name, path.steps]));
  const colours = new Map(run.paths.map((path) => [path.name, path.colour]));
  const { svg, light } = drawTopology(run.topology, `The network of ${run.title}`);
  const now = new Within();
  const state = h("span", {}, badge(run.state));
  const counts = h("p", { class: "counts", role: "status" }, "");
  const bar = h("progress", { "aria-label": "Trials done", max: 1, value: 0 });
  const cut = h("p", { class: "warning", role: "status", hidden: true });
  const reason = h("dialog", { "aria-labelledby": "why" });
  const stop = h("button", { hidden: true }, "Stop and keep finished trials");
  const resume = h("button", { hidden: true }, "Resume");
  const stopping = h("p", { class: "stopping", role: "status" });
  const tally = { ok: 0, invalid: 0, failed: 0 };
  if (run.servers.length) now.tell("The first trial begins.");
  let grids = new Map(), done = 0, expected = 0, left = "", current = null, queued = false, isNews = false;
  const place_of_grids = h("div", {}), hops = h("div", {}), later = h("details", { class: "folded", hidden: true });

  function tell(event, combination) {
    reason.replaceChildren(h("h2", { id: "why" }, `${event.path}, block ${blockWords(event)}: ${event.status}`), h("p", { class: "quiet" }, combination.title),
      h("ul", {}, event.reasons.map((reason) => h("li", {}, reason.text, " ", h("code", {}, reason.kind)))), h("form", { method: "dialog" }, h("button", {}, "Close")));
    reason.showModal();
  }

  function reset() {
    grids = new Map(run.combinations.map((combination) => [combination.name, new Grid(combination, combination.paths, run.blocks.min, tell, colours)]));
    Object.assign(tally, { ok: 0, invalid: 0, failed: 0 });
    done = expected = 0;
    current = null;
    place_of_grids.replaceChildren(...[...grids.values()].map((grid) => grid.section));
  }

  // Between two machines, the last trial of each family stays visible.
  const end = (words) => (run.topology ? now.begin(words) : now.tell(words));

  const HANDLERS = {
    planned() { state.replaceChildren(badge("running")); },
    built() {},
    "trial-started"(event) {
      ({ done, expected } = event);
      left = `${clock(event.remaining_ns)} left`;
      if (event.decided !== undefined) left += `, ${event.decided} of ${run.combinations.length} combinations decided`;
      current = event;
      grids.get(event.combination)?.begin(event.block, event.path);
      light(steps.get(event.path) ?? []);
      now.begin(`Now: ${event.path}, block ${blockWords(event)}, ${grids.get(event.combination)?.combination.title ?? event.combination}`, run.topology ? null : event.path, colours.get(event.path));
    },
    values(event) { if (event.key === current?.key) now.arrived(event); },
    "sender-values"(event) { if (event.key === current?.key) now.sampled(event); },
    "trial-ended"(event) {
      tally[event.status] += 1;
      done = tally.ok + tally.invalid + tally.failed;
      grids.get(event.combination)?.end(event);
      isNews = true;
    },
    "block-done"() {},
    stopped(event) {
      const grid = grids.get(event.combination);
      if (grid) grid.note.textContent = `No more blocks after ${event.blocks}: ${event.rules.map((rule) => RULES[rule] ?? rule).join(", ")}.`;
    },
    ended(event) {
      left = "";
      light([]);
      end(event.state === "interrupted" ? "The run was interrupted. Its finished trials are kept." : "All trials are done. The report is being written.");
    },
    "report-written"() { end("The report is written."); },
  };

  function draw() {
    queued = false;
    const whole = Math.max(expected, done, run.blocks.min * run.combinations.reduce((sum, combination) => sum + combination.paths.length, 0));
    bar.max = whole;
    bar.value = done;
    counts.textContent = [`${done} of ${whole} trials`, tally.invalid && `${tally.invalid} invalid`, tally.failed && `${tally.failed} failed`, left].filter(Boolean).join(", ");
    for (const grid of grids.values()) {
      grid.draw();
      grid.showNow();
    }
    drawLater();
    now.draw();
    if (isNews && run.combinations.some((combination) => combination.workload === "pmtu")) drawPathMtus(hops, name).catch((error) => { hops.textContent = error.message; });
    isNews = false;
  }

  function drawLater() {
    const titles = [...grids.values()].filter((grid) => !grid.hasBegun).map((grid) => grid.combination.title);
    if (later.dataset.count === String(titles.length)) return;
    later.dataset.count = titles.length;
    later.hidden = !titles.length;
    later.replaceChildren(h("summary", {}, h("h2", {}, `Not started yet: ${titles.length} of ${grids.size} combinations`)), h("ul", {}, titles.map((title) => h("li", {}, title))));
  }

  const queue = () => { if (!queued) { queued = true; requestAnimationFrame(draw); } };
  reset();
  const stream = new Stream(`/api/runs/${encodeURIComponent(name)}/events`, {
    open() { cut.hidden = true; },
    cut(isTriedAgain) {
      cut.hidden = false;
      cut.textContent = isTriedAgain
        ? "sixbench ui does not answer. The run continues without it, and this page continues when it answers."
        : "This page gets no more news from sixbench ui: reload it, or open the address that sixbench ui printed last. The run continues without it.";
    },
    reset() { reset(); queue(); },
    run(events) {
      for (const event of events) HANDLERS[event.event]?.(event);
      queue();
    },
    over({ state: over }) {
      stream.close();
      state.replaceChildren(badge(over));
      left = "";
      stop.hidden = true;
      stopping.textContent = "";
      resume.hidden = over !== "interrupted" || !run.is_resumable;
      light([]);
      end(over === "interrupted" ? `The run was stopped or killed. Its finished trials are kept. To resume it: sixbench resume ${name}` : "The run is over.");
      queue();
      place.dataset.over = over;
    },
  });
  ask("/api/jobs").then(({ jobs }) => {
    const job = jobs.find((job) => job.run === name && job.state !== "ended");
    stop.hidden = place.dataset.over !== undefined || (!job && run.state !== "running");
    if (job?.state === "waiting") now.tell("The run waits until earlier runs have ended.");
  }, () => {});
  // Stopping takes seconds, because the network is removed and finished trials are written.
  stop.addEventListener("click", async () => {
    stop.disabled = true;
    stopping.textContent = `Stopping...${run.topology ? " The network is being removed." : ""} Finished trials are kept.`;
    try {
      await ask(`/api/runs/${encodeURIComponent(name)}/stop`, {});
    } catch (error) {
      stop.disabled = false;
      stopping.textContent = error.message;
    }
  });

  resume.addEventListener("click", async () => {
    resume.disabled = true;
    try {
      await ask(`/api/runs/${encodeURIComponent(name)}/resume`, {});
      location.hash = "#/runs";
    } catch (error) {
      now.words.textContent = error.message;
      resume.disabled = false;
    }
  });

  place.append(h("p", { class: "kind" }, state, " ", h("code", {}, name)), h("h1", {}, run.title),
    h("div", { class: "done" }, counts, h("p", { class: "links" }, h("a", { href: `#/result/${encodeURIComponent(name)}` }, "Result"), run.servers.length > 0 && !["running", "interrupted"].includes(run.state) && h("a", { href: `#/servers/${encodeURIComponent(name)}` }, "Servers"), stop, resume)), stopping, bar, cut,
    h("div", { class: "stage" }, now.words, svg && h("div", { class: "drawing" }, svg)), now.element, hops, place_of_grids, later,
    h("p", { class: "quiet" }, "A dot is one trial; hollow dots are invalid trials, which no statistic uses. Verdicts and intervals are in the report, which is made at the planned end."), reason);
  draw();
  return () => { stream.close(); now.close(); };
}
