// A dot for each value, a row for each path: the axis begins at 0, and invalid trials are among them, hollow.

import { digits, s, scaleOf } from "./dom.js";

const LEFT = 96, RIGHT = 14, ROW = 26, WIDTH = 440, SHORT = 11;

// `values` have a row, a value, a status and words of their own. Names of rows stand above them where they are long.
export function drawDots(svg, { metric, unit: base }, rows, values) {
  const above = rows.some((name) => name.length > SHORT);
  const left = above ? 12 : LEFT, row = above ? 40 : ROW, height = rows.length * row + 44;
  const most = Math.max(...values.map((one) => one.value), 0);
  const [factor, unit] = scaleOf(most, base);
  const top = most > 0 ? most * 1.04 : 1;
  const x = (value) => left + (value / top) * (WIDTH - left - RIGHT);
  const y = (index) => index * row + (above ? 29 : 13);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  svg.setAttribute("aria-label", `${metric} of each trial, ${values.length} so far`);
  const parts = [0, 0.5, 1].map((share) => s("g", {}, s("line", { class: "tick", x1: x(share * most), x2: x(share * most), y1: 0, y2: height - 40 }),
    s("text", { class: "axis", x: x(share * most), y: height - 26, "text-anchor": share === 1 ? "end" : share === 0 && above ? "start" : "middle" }, digits((share * most) / factor), share === 1 ? ` ${unit}` : "")));
  rows.forEach((name, index) => parts.push(above
    ? s("text", { class: "row-above", x: left, y: y(index) - 13 }, name)
    : s("text", { class: "row-name", x: left - 10, y: y(index) + 5 }, name),
  s("line", { class: "rail", x1: left, x2: WIDTH - RIGHT, y1: y(index), y2: y(index) })));
  for (const one of values) {
    parts.push(s("circle", { class: `dot ${one.status}`, cx: x(one.value), cy: y(rows.indexOf(one.row)), r: 4.5 }, s("title", {}, `${one.row}, block ${one.block}: ${digits(one.value / factor)} ${unit}, ${one.status}`)));
  }
  svg.replaceChildren(...parts, s("text", { class: "axis", x: left, y: height - 8 }, metric));
}
