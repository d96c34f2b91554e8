// A new run: of a shipped experiment or of one written here, with the messages that sixbench run would print.

import { ask, h } from "./dom.js";
import { drawTopology } from "./topology.js";

const TYPING_MS = 500;

export async function showNew(place) {
  const { experiments } = await ask("/api/gallery");
  const editor = h("textarea", { id: "editor", rows: 22, spellcheck: "false", autocomplete: "off", wrap: "off" });
  const quick = h("input", { type: "checkbox", id: "quick", checked: true });
  const blocks = h("input", { type: "number", id: "blocks", min: 1, step: 1, placeholder: "as in the file" });
  const settings = h("textarea", { id: "settings", rows: 3, spellcheck: "false", autocomplete: "off", placeholder: "workloads.*.duration=1s" });
  const messages = h("div", { class: "said", role: "status" });
  const start = h("button", { class: "primary", disabled: true }, "Start");
  const drawing = h("div", { class: "drawing" });
  let shipped = null, lastTurn = 0, choice = 0, timer = 0;

  const asked = () => ({ quick: quick.checked, settings: settings.value.split("\n").map((line) => line.trim()).filter(Boolean),
    ...(blocks.value && { blocks: Number(blocks.value) }), ...(shipped !== null && shipped.text === editor.value ? { name: shipped.name } : { text: editor.value }) });

  // Selects a line of the experiment, and scrolls to it.
  function goTo(line) {
    const lines = editor.value.split("\n"), at = Math.min(line, lines.length) - 1;
    const from = lines.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0);
    editor.focus();
    editor.setSelectionRange(from, from + lines[at].length);
    editor.scrollTop = Math.max(0, (at / lines.length) * editor.scrollHeight - editor.clientHeight / 2);
  }

  function problem(words) {
    const place = /^experiment\.yaml:([0-9]+):/.exec(words);
    return h("li", {}, place ? h("button", { onclick: () => goTo(Number(place[1])) }, words) : words);
  }

  async function check() {
    const turn = ++lastTurn;
    start.disabled = true;
    if (!editor.value.trim()) { messages.replaceChildren(); return; }
    let answer;
    try { answer = await ask("/api/check", asked()); } catch (error) { answer = { problems: [error.message] }; }
    if (turn !== lastTurn) return;
    drawing.replaceChildren();
    if (answer.problems) {
      messages.replaceChildren(h("p", { class: "warning" }, answer.problems.length === 1 ? "One thing is wrong:" : `${answer.problems.length} things are wrong:`), h("ol", { class: "problems" }, answer.problems.map(problem)));
      return;
    }
    start.disabled = false;
    const { svg, light } = drawTopology(answer.topology, `The network of ${answer.title}`);
    if (svg) drawing.append(svg);
    light([]);
    messages.replaceChildren(h("p", {}, h("strong", {}, `${answer.trials} trials, ${answer.duration}`), ` over ${answer.paths.map((path) => path.name).join(", ")}`), h("p", { class: "quiet" }, "The same command in a terminal:"), h("pre", { tabindex: "0" }, answer.command));
  }

  editor.addEventListener("input", () => { choice += 1; });
  const soon = () => { clearTimeout(timer); timer = setTimeout(check, TYPING_MS); };
  for (const input of [editor, blocks, settings]) input.addEventListener("input", soon);
  quick.addEventListener("change", check);
  start.addEventListener("click", async () => {
    start.disabled = true;
    try {
      const job = await ask("/api/start", asked());
      if (job.problems) throw new Error(job.problems.join("\n"));
      location.hash = job.waits ? "#/runs" : `#/live/${encodeURIComponent(job.run)}`;
    } catch (error) {
      messages.replaceChildren(h("p", { class: "warning", role: "alert" }, error.message));
    }
  });
  // The last choice, or text typed meanwhile, stays: an answer that arrives later is dropped.
  async function choose(name) {
    const turn = ++choice;
    const { text } = await ask(`/api/gallery/${encodeURIComponent(name)}`);
    if (turn !== choice) return false;
    shipped = { name, text };
    editor.value = text;
    for (const [shown, button] of buttons) button.setAttribute("aria-pressed", String(shown === name));
    await check();
    return turn === choice;
  }
  const fromGallery = (name) => choose(name).then((shown) => shown && editor.scrollIntoView({ block: "nearest" }), (error) => { messages.textContent = error.message; });
  const buttons = new Map(experiments.map((experiment) => [experiment.name, h("button", { onclick: () => fromGallery(experiment.name) }, h("strong", {}, experiment.name), h("span", {}, experiment.title))]));
  const gallery = h("ul", { class: "gallery" }, [...buttons.values()].map((button) => h("li", {}, button)));
  place.append(h("h1", {}, "New"), h("p", { class: "lead" }, "Choose an experiment, change it if you like, and start it. One runs at a time; others wait."), gallery,
    h("div", { class: "pair" }, h("div", {}, h("label", { for: "editor" }, "Experiment (YAML)"), editor),
      h("div", {}, h("p", { class: "bar" }, quick, h("label", { for: "quick" }, "quick: fewer blocks, shorter trials"), start),
        h("details", {}, h("summary", {}, "Change some of it"),
          h("div", { class: "field" }, h("label", { for: "blocks" }, "Blocks"), blocks),
          h("div", { class: "field" }, h("label", { for: "settings" }, "Values, one per line, as a.b=c"), settings)),
        messages, drawing)));
  choose("quickstart").catch((error) => { messages.textContent = error.message; });
  return () => clearTimeout(timer);
}
