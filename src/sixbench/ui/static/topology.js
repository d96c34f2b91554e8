// The network as a drawing: nodes in columns by their distance from the client, and the links in use highlighted.

import { s } from "./dom.js";

const COLUMN = 144, ROW = 70, LINE = 15, RADIUS = 23, SHORT = 5, MOST = 24, BETWEEN = 13;

// Breaks words into lines that fit between two nodes.
function lines(words) {
  const parts = [];
  for (const word of words.split(" ")) {
    const longer = parts.length ? `${parts.at(-1)} ${word}` : word;
    if (parts.length && longer.length <= BETWEEN) parts[parts.length - 1] = longer;
    else parts.push(word);
  }
  return parts;
}

const below = (link) => [link.rates, `MTU ${link.mtus}`].filter(Boolean).flatMap(lines);

function fill(text, words, x, first) {
  text.replaceChildren(...words.map((line, at) => s("tspan", { x, y: first + at * LINE }, line)));
}

function columns({ nodes, links, between }) {
  const distance = new Map([[between[0], 0]]);
  for (const near of distance.keys()) {
    for (const { ends } of links) {
      if (!ends.includes(near)) continue;
      const far = ends[0] === near ? ends[1] : ends[0];
      if (!distance.has(far)) distance.set(far, distance.get(near) + 1);
    }
  }
  const rows = new Map();
  const at = new Map();
  for (const { name } of nodes) {
    const column = distance.get(name) ?? 0;
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    at.set(name, { column, row });
  }
  return { at, wide: Math.max(...[...at.values()].map((position) => position.column)) + 1, high: Math.max(...rows.values()) };
}

// Draws the network, and returns the drawing and a function that highlights the links of a path.
export function drawTopology(topology, label) {
  if (!topology || topology.nodes.length > MOST) return { svg: null, light: () => {} };
  const { at, wide, high } = columns(topology);
  const row = ROW + LINE * Math.max(2, ...topology.links.map((link) => below(link).length));
  const place = (name) => ({ x: 42 + at.get(name).column * COLUMN, y: 58 + at.get(name).row * row });
  const svg = s("svg", { class: "topology", role: "img", "aria-label": label, viewBox: `0 0 ${84 + (wide - 1) * COLUMN} ${high * row + 4}` });
  const wires = new Map();
  for (const link of topology.links) {
    const [a, b] = link.ends.map(place);
    const line = s("line", { class: "wire", x1: a.x, y1: a.y, x2: b.x, y2: b.y });
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    const headers = s("text", { class: "headers" });
    const words = s("text", { class: "wire-words" });
    fill(words, below(link), middle.x, middle.y + 18);
    words.append(s("title", {}, link.words));
    svg.append(line, headers, words);
    wires.set(link.name, { line, headers, middle });
  }
  const shapes = new Map();
  for (const { name, kind } of topology.nodes) {
    const { x, y } = place(name);
    const shape = kind === "host"
      ? s("rect", { class: "node", x: x - RADIUS, y: y - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS, rx: 6 })
      : s("circle", { class: "node", cx: x, cy: y, r: RADIUS });
    shapes.set(name, shape);
    svg.append(shape, s("text", { class: "node-name", x, y: name.length > SHORT ? y - RADIUS - 7 : y + 5 }, name));
  }
  function light(steps) {
    for (const { line, headers } of wires.values()) {
      line.classList.remove("lit", "tunnelled", "ipv4", "ipv6");
      headers.textContent = "";
    }
    for (const shape of shapes.values()) shape.classList.remove("lit");
    for (const { link, near, far, headers } of steps) {
      const drawn = wires.get(link);
      if (!drawn) continue;
      const ip = headers.filter((name) => name === "ipv4" || name === "ipv6");
      drawn.line.classList.add("lit", ...ip.slice(0, 1));
      drawn.line.classList.toggle("tunnelled", ip.length > 1);
      const stack = lines(headers.map((name) => name.replace("ipv", "IPv").replace("gre", "GRE").replace("udp", "UDP").replace("vxlan", "VXLAN")).reverse().join(" in "));
      fill(drawn.headers, stack, drawn.middle.x, drawn.middle.y - 10 - LINE * (stack.length - 1));
      shapes.get(near)?.classList.add("lit");
      shapes.get(far)?.classList.add("lit");
    }
  }
  return { svg, light };
}
