// The trial under way: its arrivals and the state of its senders, interval by interval.

import { Chart } from "./charts.js";
import { h } from "./dom.js";

const CHARTS = {
  goodput: { title: "What arrives", unit: "bit/s", of_intervals: true },
  lost: { title: "Datagrams lost in each interval", unit: "", of_intervals: true },
  jitter: { title: "UDP's jitter", unit: "ns", about: "RFC 3550 section 6.4.1: a running mean of the differences between the transit times of successive datagrams, smoothed by 1/16." },
  rtt: { title: "TCP's round trip, smoothed", unit: "ns" },
  window: { title: "Congestion window", unit: "packets" },
  retransmits: { title: "Retransmits in each interval", unit: "", of_intervals: true },
};

// The colour of a path that the run does not name.
const FIRST = "blue";

export class Within {
  constructor() {
    this.words = h("p", { class: "now" }, "The network is being built.");
    this.charts = Object.fromEntries(Object.entries(CHARTS).map(([name, about]) => [name, new Chart(about)]));
    this.element = h("div", { class: "all-series within" }, Object.values(this.charts).map((chart) => chart.element));
    this.begin("");
  }

  // Begins a trial of a path with that colour. `path`: removes only its values, and keeps the last trial of each other
  // path.
  begin(words, path = null, colour = FIRST) {
    if (words) this.words.textContent = words;
    this.colour = colour;
    this.path = path;
    this.samples = new Map();
    for (const chart of Object.values(this.charts)) chart.clear(path);
    this.dirty = path !== null;
  }

  // Changes only the words; the charts stay.
  tell(words) { this.words.textContent = words; }

  name(event) { return [this.path, event.flow, event.direction].filter(Boolean).join(" "); }

  arrived(event) {
    const name = this.name(event), from = event.from_ns / 1e9, to = event.to_ns / 1e9;
    this.charts.goodput.add(name, this.colour, to, (8 * event.received_bytes) / (to - from), from);
    if (event.lost_middle !== undefined) this.charts.lost.add(name, this.colour, to, event.lost_middle, from);
    // Without a datagram there is no jitter, which makes a gap.
    if (event.datagrams !== undefined) this.charts.jitter.add(name, this.colour, to, event.jitter_rfc3550_ns ?? null);
    this.dirty = true;
  }

  sampled(event) {
    const name = this.name(event), at = event.t_ns / 1e9, before = this.samples.get(name) ?? { t_ns: 0, retransmits: 0 };
    if (event.rtt_ns !== undefined) this.charts.rtt.add(name, this.colour, at, event.rtt_ns);
    if (event.cwnd_packets !== undefined) this.charts.window.add(name, this.colour, at, event.cwnd_packets);
    // Retransmits are counted from the start of the measured window, when there are none.
    if (event.retransmits !== undefined && event.t_ns > before.t_ns) this.charts.retransmits.add(name, this.colour, at, event.retransmits - before.retransmits, before.t_ns / 1e9);
    if (event.retransmits !== undefined) this.samples.set(name, event);
    this.dirty = true;
  }

  draw() {
    if (!this.dirty) return;
    this.dirty = false;
    for (const chart of Object.values(this.charts)) chart.draw();
  }

  close() { for (const chart of Object.values(this.charts)) chart.close(); }
}

