"use strict";
(() => {
  // Sorting and filtering of the findings.
  const table = document.getElementById("findings-table");
  if (table) {
    const body = table.tBodies[0];
    const all = [...body.rows];
    const value = (row, column) => {
      const cell = row.cells[column];
      return "v" in cell.dataset ? cell.dataset.v : cell.textContent.trim();
    };
    const compare = (a, b) => {
      if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
      return isNaN(a) || isNaN(b) ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    };
    [...table.tHead.rows[0].cells].forEach((head, column, heads) => {
      head.setAttribute("aria-sort", "none");
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      const sort = () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = all.slice().sort((a, b) => {
          const x = value(a, column), y = value(b, column);
          const order = compare(x, y);
          return x === "" || y === "" || up ? order : -order;
        });
        body.append(...rows);
      };
      button.addEventListener("click", sort);
    });

    const form = document.querySelector(".filters");
    const shown = document.getElementById("shown");
    const filter = () => {
      let count = 0;
      for (const row of all) {
        row.hidden = [...form.querySelectorAll("[data-filter]")].some((control) =>
          control.type === "checkbox"
            ? control.checked && !("headline" in row.dataset)
            : control.value !== "" && control.value !== row.dataset[control.dataset.filter]);
        count += row.hidden ? 0 : 1;
      }
      shown.textContent = `${count} of ${all.length} findings`;
    };
    form.hidden = false;
    if (!all.some((row) => "headline" in row.dataset)) form.querySelector("[type=checkbox]").checked = false;
    form.addEventListener("input", filter);
    filter();
  }

  // What the markers of figures say: to a pointer, a finger and the keyboard. A figure is one stop of the Tab key; the
  // arrow keys go from marker to marker.
  const tip = document.getElementById("tip");
  const REACH = { mouse: 8, pen: 12, touch: 24 }; // CSS pixels from the middle of a marker
  const middle = (marker) => {
    const box = marker.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  let told = null;
  const tell = (marker) => {
    if (told === marker) return;
    told = marker;
    tip.hidden = marker === null;
    if (marker === null) return;
    tip.textContent = marker.dataset.tip;
    const [x, y] = middle(marker), box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 16 + box.height > innerHeight ? Math.max(4, y - box.height - 14) : y + 16}px`;
  };
  const figures = [...document.querySelectorAll("svg")].map((svg) => [svg, [...svg.querySelectorAll("[data-tip]")]]);
  for (const [svg, markers] of figures) {
    if (!markers.length) continue;
    const nearest = (event) => {
      const own = event.target.closest("[data-tip]");
      if (own) return own;
      let best = null, least = REACH[event.pointerType] ?? REACH.mouse;
      for (const marker of markers) {
        const [x, y] = middle(marker), distance = Math.hypot(x - event.clientX, y - event.clientY);
        if (distance <= least) [best, least] = [marker, distance];
      }
      return best;
    };
    markers.forEach((marker, index) => {
      marker.setAttribute("role", "img");
      marker.setAttribute("aria-label", marker.dataset.tip);
      marker.setAttribute("tabindex", index ? "-1" : "0");
      marker.addEventListener("focus", () => tell(marker));
      marker.addEventListener("blur", () => tell(null));
    });
    svg.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") tell(nearest(event)); });
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") tell(null); });
    svg.addEventListener("click", (event) => tell(nearest(event)));
    svg.addEventListener("keydown", (event) => {
      const at = markers.indexOf(event.target);
      const last = markers.length - 1;
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
      if (event.key === "Escape") tell(null);
      if (at < 0 || to === undefined) return;
      event.preventDefault();
      const next = markers[Math.max(0, Math.min(last, to))];
      markers[at].setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }
  addEventListener("click", (event) => { if (!event.target.closest("svg")) tell(null); });
  addEventListener("scroll", () => { if (told && document.activeElement !== told) tell(null); }, { passive: true });

  // What scrolls sideways can be scrolled by keyboard, and nothing else stops the Tab key.
  const boxes = [...document.querySelectorAll(".scroll, pre, nav")];
  const reach = () => boxes.forEach((box) => {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  reach();
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);

  // Paper has no way to open what is folded.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
})();
