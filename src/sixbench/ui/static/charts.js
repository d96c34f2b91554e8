// A quantity over time, drawn as received: nothing is smoothed, and the axes begin at 0.

import { digits, h, scaleOf } from "./dom.js";
import uPlot from "./vendor/uPlot.esm.js";

const HEIGHT = 150, WIDE_ENOUGH = 120;
const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3]];
const level = uPlot.paths.stepped({ align: -1 });

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Chart {
  // `of_intervals`: a value holds from the time before it to its own, and is drawn level. `about`: an explanation.
  constructor({ title, unit, about = "", of_intervals: ofIntervals = false }) {
    Object.assign(this, { title, unit, ofIntervals });
    this.readout = h("span", { class: "readout" });
    this.key = h("ul", { class: "key" });
    this.canvas = h("div", { class: "canvas", role: "img" });
    this.element = h("figure", { class: "plot", hidden: true }, h("figcaption", {}, h("span", {}, title), " ", this.readout), this.key, this.canvas, about && h("p", { class: "quiet about" }, about));
    this.sized = new ResizeObserver(() => this.plot?.setSize({ width: this.width(), height: HEIGHT }));
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => { this.drop(); this.draw(); };
    this.dark.addEventListener("change", this.recolour);
    this.colours = new Map();
    this.clear();
  }

  // Removes all lines, or only those of a path, whose names begin with the path.
  clear(path = null) {
    this.lines = new Map([...(this.lines ?? [])].filter(([name]) => path !== null && !name.startsWith(`${path} `)));
    this.drop();
    this.element.hidden = !this.lines.size;
  }

  close() {
    this.dark.removeEventListener("change", this.recolour);
    this.drop();
  }

  // Adds a value to a line; null makes a gap. `of`: the colour of its path. `from`: the start of the first interval.
  add(name, of, seconds, value, from) {
    if (!this.lines.has(name)) {
      this.colours.set(name, of);
      this.lines.set(name, [[], []]);
      this.drop();
    }
    const [times, values] = this.lines.get(name);
    if (this.ofIntervals && !times.length) {
      times.push(from);
      values.push(value);
    }
    times.push(seconds);
    values.push(value);
  }

  draw() {
    const all = [...this.lines.values()];
    if (!all.some(([, values]) => values.some((number) => number !== null))) return;
    this.element.hidden = false;
    const most = all.flatMap(([, values]) => values).reduce((a, b) => Math.max(a, b), 0);
    [this.factor, this.shown] = scaleOf(most, this.unit);
    const data = all.length > 1 ? uPlot.join(all) : all[0].map((column) => [...column]);
    if (this.plot) this.plot.setData(data);
    else this.make(data);
    const counts = all.map(([, values]) => values.filter((number) => number !== null).length - (this.ofIntervals ? 1 : 0)).reduce((a, b) => a + b);
    this.canvas.setAttribute("aria-label", `${this.title} over time: ${counts} values, ${this.words(most)} at most`);
    this.read(this.plot.cursor.idx);
  }

  make(data) {
    const names = [...this.lines.keys()];
    const ink = colour("--quiet"), line = colour("--line"), font = "12px system-ui, sans-serif";
    const stroke = (name) => colour(`--f-${this.colours.get(name)}`);
    const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    this.key.replaceChildren(...(names.length > 1 ? names.map((name, index) => h("li", { class: `key-${index % 4} of-${this.colours.get(name)}` }, name)) : []));
    this.plot = new uPlot({
      width: this.width(), height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false },
      hooks: { setCursor: [({ cursor }) => this.read(cursor.idx)] },
      scales: { x: { time: false, range: (_, __, most) => [0, most || 1] }, y: { range: (_, least, most) => [Math.min(0, least ?? 0), most > 0 ? most * 1.04 : 1] } },
      axes: [{ ...axis, size: 34, values: (_, marks) => marks.map((mark) => `${digits(mark)} s`) },
        { ...axis, size: 52, space: 26, values: (_, marks) => marks.map((mark) => digits(mark / this.factor)) }],
      series: [{}, ...names.map((name, index) => ({
        label: name, stroke: stroke(name), width: 2, fill: names.length > 1 ? undefined : `${stroke(name)}24`, fillTo: 0, dash: DASHES[index % 4], points: { show: (plot) => plot.data[0].length < 2, size: 6 }, spanGaps: false, paths: this.ofIntervals ? level : undefined,
      }))],
    }, data, this.canvas);
    this.sized.observe(this.canvas);
  }

  drop() {
    this.sized.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  width() { return Math.max(WIDE_ENOUGH, this.canvas.clientWidth); }

  words(value) { return `${digits(value / this.factor)} ${this.shown}`.trim(); }

  // Shows the values under the pointer, or else the last value of each line.
  read(index) {
    const single = this.lines.size === 1, untold = index === null || index === undefined;
    const parts = [...this.lines].map(([name, [times, values]], number) => {
      const value = untold ? values[values.length - 1] : this.plot.data[number + 1][index];
      const at = untold ? times[times.length - 1] : this.plot.data[0][index];
      if (value === null || value === undefined) return null;
      return h("span", {}, single ? "" : `${name} `, h("b", {}, this.words(value)), ` at ${digits(at)} s`);
    });
    this.readout.replaceChildren(...parts.filter(Boolean));
  }
}
