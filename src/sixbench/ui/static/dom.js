// Builds elements from values: text is always text, never markup.

import { fetchOwn } from "./token.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" },
  };
  let answer;
  try {
    answer = await fetchOwn(path, options);
  } catch {
    throw new Error("sixbench ui does not answer: it has ended, or it is busy. Runs continue without it.");
  }
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok && !data.problems) throw new Error(data.error ?? `the answer was ${answer.status}`);
  return data;
}

// The words of an answer that is a refusal.
export const refusal = async (answer) => (await answer.json().catch(() => ({}))).error ?? `the answer was ${answer.status}`;

// Downloads a file of the page's server: a link cannot show the token.
async function save(path, name) {
  const answer = await fetchOwn(path);
  if (!answer.ok) throw new Error(await refusal(answer));
  const link = h("a", { href: URL.createObjectURL(await answer.blob()), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVED_MS);
}

// A link to a file that is downloaded under that name. If that fails, the error stands after the link.
export function saving(path, name) {
  const problem = h("span", { class: "warning", role: "alert" });
  const link = h("a", { href: path, onclick: (event) => {
    event.preventDefault();
    problem.replaceChildren();
    save(path, name).catch((error) => { problem.textContent = ` ${error.message}`; });
  } }, name);
  return [link, problem];
}

const SAVED_MS = 60_000;
const SCALES = { "bit/s": [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]], ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] };
const WORDS = { "1": "" };

// The scale for values up to `most`: a divisor and a unit.
export function scaleOf(most, unit) {
  return (SCALES[unit] ?? []).find(([factor]) => most >= factor) ?? [1, WORDS[unit] ?? unit];
}

export const digits = (value) => (value === 0 ? "0" : Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 }));

export function clock(ns) {
  const seconds = Math.max(0, Math.round(ns / 1e9));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [hours, minutes, rest] = parts;
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${String(rest).padStart(2, "0")}` : `${minutes}:${String(rest).padStart(2, "0")}`;
}

// A trial's block, and the number of its repeat.
export const blockWords = ({ block, repeat }) => `${block}${repeat ? `, repeat ${repeat}` : ""}`;

export const date = (ns) => (ns === null || ns === undefined ? "" : new Date(ns / 1e6).toLocaleString("sv").slice(0, 16));
