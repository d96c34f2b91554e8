// A dot for each value, a row for each path. The axis begins at 0, and invalid trials are hollow dots.

import { digits, s, scaleOf } from "./dom.js";

const LEFT = 96, RIGHT = 14, ROW = 26, WIDTH = 440, SHORT = 11, MANY = 300, LETTER = 7.4;

// After block 30, dots are moved up or down in their row, so that they do not hide each other.
const aside = (block) => (block > 30 ? (((block * 5) % 9) - 4) * 1.7 : 0);

// The ticks of an axis up to `most`: in steps of 1, 2, 2.5 or 5 times a power of ten, five ticks at most.
export function ticks(most) {
  if (!(most > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.25, 0.5, 1, 2].map((share) => share * power).find((width) => most / width < 5);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) => index * step);
}

// The values last drawn in each drawing, so that new dots are added to the present ones.
const drawn = new WeakMap();

// `values` have a row, a value, a status and a block; `colours` are those of the rows. Long names stand above their
// rows.
export function drawDots(svg, { metric, unit: base }, rows, values, colours) {
  const last = drawn.get(svg), before = last?.values === values ? last : { most: 0, count: 0 };
  const most = values.slice(before.count).reduce((a, b) => Math.max(a, b.value), before.most);
  const same = before === last && before.most === most;
  const above = rows.some((name) => name.length > SHORT);
  const left = above ? 12 : LEFT, row = above ? 40 : ROW, height = rows.length * row + 44;
  const [factor, unit] = scaleOf(most, base);
  const top = most > 0 ? most * 1.04 : 1;
  const x = (value) => left + (value / top) * (WIDTH - left - RIGHT);
  const y = (index) => index * row + (above ? 29 : 13);
  const places = new Map(rows.map((name, index) => [name, index]));
  const dot = (trial) => s("circle", { class: `dot ${trial.status} of-${colours[places.get(trial.row)]}`, cx: x(trial.value), cy: y(places.get(trial.row)) + aside(trial.block), r: 4.5 }, s("title", {}, `${trial.row}, block ${trial.block}: ${digits(trial.value / factor)} ${unit}, ${trial.status}`));
  svg.classList.toggle("dense", values.length > MANY);
  svg.setAttribute("aria-label", `${metric} of each trial, ${values.length} so far`);
  if (same) {
    svg.append(...values.slice(before.count).map(dot));
    before.count = values.length;
    return;
  }
  drawn.set(svg, { values, most, count: values.length });
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  const parts = ticks(most / factor).map((value) => s("g", {}, s("line", { class: "tick", x1: x(value * factor), x2: x(value * factor), y1: 0, y2: height - 40 }),
    s("text", { class: "axis", x: x(value * factor), y: height - 26, "text-anchor": value === 0 && above ? "start" : "middle" }, digits(value))));
  rows.forEach((name, index) => parts.push(above
    ? s("text", { class: "row-above", x: left, y: y(index) - 13 }, name)
    : s("text", { class: "row-name", x: left - 10, y: y(index) + 5 }, name),
  s("line", { class: "rail", x1: left, x2: WIDTH - RIGHT, y1: y(index), y2: y(index) })));
  const title = unit ? `${metric}, ${unit}` : metric, ends = left + title.length * LETTER > WIDTH;
  svg.replaceChildren(...parts, s("text", { class: "axis", x: ends ? WIDTH - 2 : left, y: height - 8, "text-anchor": ends ? "end" : "start" }, title), ...values.map(dot));
}
