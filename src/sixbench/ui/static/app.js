// Shows the screen that the part of the address after # names, so that reloading restores it.

import { showCompare } from "./compare.js";
import { h } from "./dom.js";
import { showLearn } from "./learn.js";
import { showLive } from "./live.js";
import { showMeasure } from "./measure.js";
import { showNew } from "./new.js";
import { showResult } from "./result.js";
import { showRuns } from "./runs.js";
import { showServers } from "./servers.js";
import { takeToken } from "./token.js";

const SCREENS = { runs: showRuns, live: showLive, result: showResult, learn: showLearn, new: showNew, measure: showMeasure, compare: showCompare, servers: showServers };
const PARENTS = { live: "runs", result: "runs", compare: "runs", servers: "runs" };
const main = document.getElementById("main");
let leave = () => {};
let turn = 0, shown = "";

// The parts of the address after #. A part that is not properly escaped is taken literally, and names nothing.
const decoded = (part) => {
  try { return decodeURIComponent(part); } catch { return part; }
};

async function show() {
  await takeToken();
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("?")[0].split("/").map(decoded);
  const screen = Object.hasOwn(SCREENS, name) ? name : "runs";
  const turnHere = ++turn;
  shown = screen;
  leave();
  leave = () => {};
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.screen === (PARENTS[screen] ?? screen)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const moment = h("p", { class: "quiet moment", role: "status" }, "Loading...");
  const place = h("div", { class: `screen ${screen}` }, moment);
  main.replaceChildren(place);
  try {
    const end = await SCREENS[screen](place, ...rest);
    moment.remove();
    if (turnHere !== turn) return end?.();
    leave = end ?? leave;
  } catch (error) {
    place.replaceChildren(h("h1", {}, "That did not work"), h("p", { class: "warning", role: "alert" }, error.message),
      h("p", {}, h("a", { href: "#/runs" }, "All runs")));
  }
  if (turnHere === turn) document.title = `${place.querySelector("h1")?.textContent ?? "sixbench"} – sixbench`;
}

// A choice that leads to the same screen keeps the focus, so that the arrow keys go through its values.
addEventListener("hashchange", async () => {
  const before = shown, focused = document.activeElement?.id;
  await show();
  const again = before === shown && focused ? document.getElementById(focused) : null;
  (again ?? main).focus({ preventScroll: true });
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
show();
