"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const NARROW = 480;

  function bare(text) {
    return text.replace(/^[=+\-@\t\r]/, (start) => "'" + start);
  }

  function csvCell(value) {
    if (value === null) return "";
    if (typeof value !== "string") return String(value);
    const text = bare(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }

  function contentOf(name, kind) {
    if (name === "result") return JSON.stringify(data.result, null, 2);
    const table = data.tables[name];
    if (kind === "csv") {
      return [table.columns, ...table.rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
    }
    const records = table.rows.map((row) => Object.fromEntries(table.columns.map((key, k) => [key, row[k]])));
    return JSON.stringify(records, null, 2);
  }

  function download(name, kind) {
    const type = kind === "csv" ? "text/csv" : "application/json";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([contentOf(name, kind)], { type }));
    link.download = "simtool-" + name + "." + kind;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function compare(a, b) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const numbers = [Number(a), Number(b)];
    return numbers.some(Number.isNaN) ? a.localeCompare(b) : numbers[0] - numbers[1];
  }

  function sort(head) {
    const body = head.closest("table").tBodies[0];
    const column = [...head.parentElement.children].indexOf(head);
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const one of head.parentElement.children) one.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const rows = [...body.rows].map((row) => [row.cells[column].dataset.value, row]);
    const empty = rows.filter(([value]) => value === "");
    const filled = rows.filter(([value]) => value !== "").sort(([a], [b]) => compare(a, b));
    if (falling) filled.reverse();
    body.append(...[...filled, ...empty].map(([, row]) => row));
  }

  const box = document.getElementById("definition");

  function define(element) {
    const text = data.glossary[element.dataset.term];
    if (!text) return;
    box.textContent = text;
    box.hidden = false;
    element.setAttribute("aria-describedby", "definition");
    const at = element.getBoundingClientRect();
    const size = box.getBoundingClientRect();
    const left = Math.min(Math.max(at.left, 8), document.documentElement.clientWidth - size.width - 8);
    const below = at.bottom + 6 + size.height <= window.innerHeight;
    box.style.left = left + "px";
    box.style.top = (below ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)) + "px";
  }

  function forget() {
    box.hidden = true;
    for (const one of document.querySelectorAll("[aria-describedby=definition]")) {
      one.removeAttribute("aria-describedby");
    }
  }

  function termAt(event) {
    return event.target instanceof Element ? event.target.closest("[data-term]") : null;
  }

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (button === null) return;
    if (button.dataset.download) download(button.dataset.download, button.dataset.kind);
    if (button.classList.contains("sort")) sort(button.closest("th"));
  });
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const element = termAt(event);
      if (element !== null) define(element);
    });
  }
  for (const kind of ["mouseout", "focusout"]) {
    document.addEventListener(kind, (event) => {
      if (termAt(event) !== null) forget();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") forget();
  });
  document.addEventListener("scroll", forget, { capture: true, passive: true });

  function hint(place) {
    const left = place.scrollWidth - place.clientWidth - place.scrollLeft;
    place.classList.toggle("more-left", place.scrollLeft > 1);
    place.classList.toggle("more-right", left > 1);
  }

  const sized = new ResizeObserver((entries) => entries.forEach((entry) => hint(entry.target)));
  for (const place of document.querySelectorAll(".scroll")) {
    sized.observe(place);
    place.addEventListener("scroll", () => hint(place), { passive: true });
  }

  const drawn = new Map();

  async function draw(place) {
    const narrow = place.clientWidth < NARROW;
    const held = drawn.get(place);
    if (held !== undefined && held.narrow === narrow) return;
    if (held !== undefined) held.result.finalize();
    const config = structuredClone(data.config);
    if (narrow) {
      config.legend.columns = place.clientWidth < 340 ? 1 : 2;
      config.axis.tickCount = 4;
    }
    const options = { mode: "vega-lite", renderer: "svg", actions: false, config, tooltip: { theme: "custom" } };
    try {
      const result = await window.vegaEmbed(place, structuredClone(data.specs[place.dataset.spec]), options);
      drawn.set(place, { narrow, result });
      place.style.minHeight = "";
    } catch (error) {
      const note = document.createElement("p");
      note.className = "failed";
      note.textContent = "This chart could not be drawn: " + error.message;
      place.replaceChildren(note);
      console.error(error);
    }
  }

  async function drawAll() {
    for (const place of document.querySelectorAll(".chart")) await draw(place);
    document.documentElement.dataset.charts = "drawn";
  }

  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  drawAll();
})();
