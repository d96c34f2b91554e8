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
      head.tabIndex = 0;
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
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
      });
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

  // What the markers of figures say.
  const tip = document.getElementById("tip");
  document.addEventListener("pointermove", (event) => {
    const marked = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = marked === null;
    if (marked === null) return;
    tip.textContent = marked.dataset.tip;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
  });

  // Paper has no way to open what is folded.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
})();
