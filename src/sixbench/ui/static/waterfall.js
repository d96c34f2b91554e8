// The last page that a trial loaded: a bar for each object, and those of another path's trial of the same block below
// them.

import { ticks } from "./dots.js";
import { digits, h, s, scaleOf } from "./dom.js";

const WIDTH = 440, LEFT = 34, RIGHT = 430, TOP = 4, HIGHEST = 22, LEAST = 4, BELOW = 42;
const MOST_LABELS = 12;

// `loads` have the name of a path, its colour, and the times of its objects.
export function drawWaterfall(loads) {
  const objects = Math.max(...loads.map(({ page }) => page.ended_ns.length));
  const most = Math.max(...loads.map(({ page }) => Math.max(...page.ended_ns)), 1);
  const row = Math.max(LEAST * loads.length, Math.min(HIGHEST, 360 / objects)), bar = (0.8 * row) / loads.length;
  const [factor, unit] = scaleOf(most, "ns");
  const bottom = TOP + objects * row, height = bottom + BELOW;
  const x = (ns) => LEFT + (ns / most) * (RIGHT - LEFT);
  const words = (ns) => `${digits(ns / factor)} ${unit}`;
  const part = (load, kind, index, from, to, y) => s("rect", { class: `object ${kind} of-${load.colour}`, x: x(from).toFixed(2), y: y.toFixed(2), width: (x(to) - x(from)).toFixed(2), height: bar.toFixed(2) },
    s("title", {}, `${load.path}, object ${index + 1}: asked for at ${words(load.page.begun_ns[index])}, answered from ${words(load.page.first_byte_ns[index])} to ${words(load.page.ended_ns[index])}`));
  const bars = loads.flatMap((load, number) => load.page.begun_ns.flatMap((begun, index) => {
    const y = TOP + index * row + 0.1 * row + number * bar, answered = load.page.first_byte_ns[index];
    return [part(load, "waiting", index, begun, answered, y), part(load, "arriving", index, answered, load.page.ended_ns[index], y)];
  }));
  const step = Math.ceil(objects / MOST_LABELS);
  const numbers = Array.from({ length: objects }, (_, index) => index).filter((index) => index % step === 0)
    .map((index) => s("text", { class: "axis", x: LEFT - 6, y: TOP + (index + 0.5) * row + 5, "text-anchor": "end" }, index + 1));
  const lines = ticks(most / factor).flatMap((value) => [s("line", { class: "tick", x1: x(value * factor), x2: x(value * factor), y1: TOP, y2: bottom }),
    s("text", { class: "axis", x: x(value * factor), y: bottom + 16, "text-anchor": value * factor > 0.95 * most ? "end" : "middle" }, digits(value))]);
  const took = loads.map(({ path, page }) => `${path}: ${words(page.page_ns)}`);
  const longest = Math.max(...loads.map(({ page }) => page.objects));
  const svg = s("svg", { class: "waterfall", role: "img", "aria-label": `Objects of the last page over time, ${longest} of them; ${took.join(", ")}`, viewBox: `0 0 ${WIDTH} ${height.toFixed(0)}` },
    lines, numbers, bars, s("text", { class: "axis", x: RIGHT, y: height - 8, "text-anchor": "end" }, `time, ${unit}`));
  return h("figure", { class: "plot" }, h("figcaption", {}, "Objects of the last page"),
    h("ul", { class: "key" }, loads.map(({ colour }, index) => h("li", { class: `of-${colour}` }, took[index]))), svg,
    h("p", { class: "quiet about" }, "Each object is a bar from its request to its end, pale until its answer began. Time counts from the start of the page.",
      longest > objects && ` The first ${objects} of ${longest} objects are drawn.`));
}
