// A measurement to another machine that runs sixbench serve: its address, its key, and iperf3's options. The key is not
// stored.

import { ask, h } from "./dom.js";

const TYPING_MS = 400;
const LETTERS = [["-46", "TCP over both families"], ["-46 -R", "TCP, the other machine sends"], ["-u -b 10M -46", "UDP at 10 Mbit/s"], ["--pmtu -46", "path MTU, hop by hop"], ["-46 --workload tcp-rr", "round trips"]];

export async function showMeasure(place) {
  const field = (id, attributes) => h("input", { id, autocomplete: "off", spellcheck: "false", ...attributes });
  const host = field("host", { type: "text", placeholder: "server.example or 192.0.2.1,2001:db8::1" });
  const port = field("port", { type: "number", min: 1, max: 65535, value: 5210 });
  const key = field("key", { type: "password", "aria-describedby": "about-key" });
  const options = field("options", { type: "text", value: "-46" });
  const messages = h("div", { class: "said", role: "status" });
  const start = h("button", { class: "primary", type: "submit", disabled: true }, "Start");
  let timer = 0, lastTurn = 0;

  const asked = () => ({ host: host.value, port: Number(port.value), key: key.value, options: options.value });
  const wrong = (problems) => messages.replaceChildren(h("pre", { class: "problems", tabindex: "0" }, problems.join("\n")));

  async function check() {
    const turn = ++lastTurn;
    start.disabled = true;
    if (!host.value.trim()) { messages.replaceChildren(); return; }
    let answer;
    try { answer = await ask("/api/measure/check", asked()); } catch (error) { answer = { problems: [error.message] }; }
    if (turn !== lastTurn) return;
    if (answer.problems) { wrong(answer.problems); return; }
    start.disabled = false;
    messages.replaceChildren(h("p", { class: "quiet" }, "The same command in a terminal:"), h("pre", { tabindex: "0" }, answer.command));
  }

  async function begin(event) {
    event.preventDefault();
    start.disabled = true;
    try {
      const job = await ask("/api/measure/start", asked());
      if (job.problems) { wrong(job.problems); return; }
      key.value = "";
      location.hash = job.waits ? "#/runs" : `#/live/${encodeURIComponent(job.run)}`;
    } catch (error) {
      wrong([error.message]);
    }
  }

  const soon = () => { clearTimeout(timer); timer = setTimeout(check, TYPING_MS); };
  const labelled = (input, words, about) => h("div", { class: "field" }, h("label", { for: input.id }, words), input, about);
  const form = h("form", { onsubmit: begin, oninput: soon },
    labelled(host, "Machine"), labelled(port, "Port"),
    labelled(key, "Key", h("p", { class: "quiet", id: "about-key" }, "64 hexadecimal digits, as made by sixbench key; empty for a machine without a key. The page does not store it, and it is in no file and no command line.")),
    labelled(options, "Options, as for iperf3 and sixbench measure"),
    h("ul", { class: "choices", "aria-label": "Options to start with" }, LETTERS.map(([letters, words]) => h("li", {}, h("button", { type: "button", onclick: () => { options.value = letters; check(); } }, h("code", {}, letters), ` ${words}`)))),
    start, messages);
  place.append(h("h1", {}, "Two machines"), h("p", { class: "lead" }, "The other machine runs sixbench serve. No network is built: packets cross the real network between the machines, so there is no proof of their path."),
    h("pre", { tabindex: "0" }, "sixbench key bench.key\nsixbench serve -B 0.0.0.0,:: --key bench.key"), form);
  return () => clearTimeout(timer);
}
