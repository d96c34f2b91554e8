// A packet's path, step by step. All of it follows from the description of the network; nothing is sent.

import { ask, h } from "./dom.js";
import { drawTopology } from "./topology.js";

const SIZES = [128, 1280, 1400, 1500];

function packet(step) {
  const parts = [...step.headers.map((header) => ({ ...header, kind: header.name.toLowerCase().replace(/[^a-z0-9]/g, "") })), { name: "payload", bytes: step.payload_bytes, kind: "payload" }];
  const drawn = h("div", { class: "packet", "aria-hidden": "true" });
  for (const { name, bytes, kind } of parts) {
    if (!bytes) continue;
    const part = h("div", { class: `part ${kind}` }, h("span", {}, name), h("small", {}, `${bytes} B`));
    part.style.flexGrow = kind === "payload" ? 180 : Math.max(bytes, 14);
    drawn.append(part);
  }
  return drawn;
}

const headersTable = (step) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Headers" }, h("table", {},
  h("thead", {}, h("tr", {}, ["header", "bytes", "from", "to", "hop limit", "defined by"].map((head) => h("th", { scope: "col" }, head)))),
  h("tbody", {}, step.headers.map((header) => h("tr", {}, h("th", { scope: "row" }, header.name), h("td", {}, header.bytes), h("td", {}, header.source ?? ""), h("td", {}, header.destination ?? ""), h("td", {}, header.hop_limit ?? ""), h("td", {}, header.reference))))));

// The NAT44 of the node: the new source of the packet, and the ports from which it chooses one.
function nat(step) {
  const { outside, ports } = step.nat44;
  const known = ports.length > 3 ? `${ports.slice(0, 3).join(", ")} and ${ports.length - 3} more ranges` : ports.join(", ");
  return `${step.near} gives it the source ${outside} and ${ports.length ? `one of the ports ${known}` : "a free port"} (NAT44).`;
}

function words(step, before) {
  const text = change(step, before);
  if (!step.nat44) return text;
  return step.nat44.is_first ? `${nat(step)} Then ${text}` : `${text} Then ${nat(step)}`;
}

function change(step, before) {
  const names = (shownStep) => shownStep.headers.map((header) => header.name);
  const lost = before ? names(before).filter((name) => !names(step).includes(name)) : [];
  const gained = before ? names(step).filter((name) => !names(before).includes(name)) : [];
  const nets = (shownStep) => shownStep.headers.filter((header) => header.source).length;
  let text = before ? `${step.near} forwards it as it is.` : `${step.near} sends it.`;
  if (before && gained.length && lost.length) text = `${step.near} translates it: ${lost.join(", ")} becomes ${gained.join(", ")}.`;
  else if (before && (gained.length || nets(step) > nets(before))) text = `${step.near} puts ${gained.join(", ") || "a header"} before it.`;
  else if (before && (lost.length || nets(step) < nets(before))) text = `${step.near} takes ${lost.join(", ") || "a header"} off.`;
  else if (!before && nets(step) > 1) text = `${step.near} is itself an end of the tunnel: it sends the packet inside ${names(step)[0]}.`;
  return text;
}

const sizes = (list) => (list.length === 1 ? `${list[0]} bytes` : `${list.length} fragments of ${list.join(", ")} bytes`);

function outcome(lesson, index) {
  const step = lesson.steps[index];
  const whole = `${step.total_bytes} bytes with all headers, on a link of MTU ${step.mtu_bytes}: `;
  if (step.fits) return `${whole}it fits.`;
  const on = lesson.sizes_bytes?.[index];
  return `${whole}it is ${step.total_bytes - step.mtu_bytes} bytes too long.${on?.length ? ` It finally crosses as ${sizes(on)}.` : ""}`;
}

function ending(lesson) {
  if (lesson.not_predicted) return `Theory does not predict what happens: ${lesson.not_predicted}.`;
  const lost = lesson.lost_first ? ` Before that, ${lesson.lost_first === 1 ? "one packet is" : `${lesson.lost_first} packets are`} lost, from which the sender learns the path MTU.` : "";
  const outcomes = { delivered: "By theory it arrives.", lost: "By theory it is lost.", refused: "By theory it is not even sent." };
  return `${outcomes[lesson.outcome]}${lost}${lesson.reasons.length ? ` Why: ${lesson.reasons.join("; ")}.` : ""}`;
}

export async function showLearn(place, wanted, wantedSize) {
  const { topology, paths } = await ask("/api/learn");
  const known = paths.some((path) => path.name === wanted) ? wanted : "6in4";
  const size = /^[0-9]{2,4}$/.test(wantedSize ?? "") ? Number(wantedSize) : 1280;
  const lesson = await ask(`/api/learn/${encodeURIComponent(known)}?bytes=${size}`);
  const { svg, light } = drawTopology(topology, `The path of a packet over ${known}`);
  const go = (path, bytes) => { location.hash = `#/learn/${encodeURIComponent(path)}/${bytes}`; };
  const choice = h("select", { id: "path", onchange: () => go(choice.value, size) }, paths.map((path) => h("option", { value: path.name, selected: path.name === known }, path.name)));
  const bytes = h("select", { id: "bytes", onchange: () => go(known, bytes.value) }, [...new Set([...SIZES, size])].sort((a, b) => a - b).map((number) => h("option", { value: number, selected: number === size }, `${number} bytes`)));
  const step = h("div", { class: "step", "aria-live": "polite" });
  let at = 0;
  function turn(by) {
    at = Math.min(lesson.steps.length - 1, Math.max(0, at + by));
    const shownStep = lesson.steps[at];
    back.disabled = at === 0;
    next.disabled = at === lesson.steps.length - 1;
    light([{ ...shownStep, headers: shownStep.headers.filter((header) => header.source).map((header) => header.name.toLowerCase()) }]);
    step.replaceChildren(h("h2", {}, `Step ${at + 1} of ${lesson.steps.length}: from ${shownStep.near} to ${shownStep.far}`), h("p", {}, words(shownStep, lesson.steps[at - 1])), packet(shownStep), h("p", { class: shownStep.fits ? "" : "warning" }, outcome(lesson, at)), headersTable(shownStep));
  }
  const back = h("button", { onclick: () => turn(-1) }, "Back");
  const next = h("button", { onclick: () => turn(1) }, "Next");
  place.append(h("h1", {}, "A packet's path"), h("div", { class: "bar" }, h("label", { for: "path" }, "over"), choice, h("label", { for: "bytes" }, "a UDP packet that leaves the client with"), bytes),
    h("p", { class: "lead" }, lesson.summary), h("div", { class: "drawing" }, svg), h("div", { class: "bar" }, back, next), step,
    h("h2", {}, "Result"), h("p", {}, ending(lesson)), h("p", { class: "quiet" }, "Sizes are those of IP packets, without the 14 bytes of Ethernet. 1280 bytes is the smallest MTU of a link that carries IPv6 (RFC 8200 section 5)."));
  turn(0);
}
