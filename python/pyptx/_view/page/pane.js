// SPDX-License-Identifier: Apache-2.0
// A list of lines of which only those in sight are in the document, and a map of all of them.
const ROW = 18;
const SPARE = 12; // rows beyond what is in sight, so that scrolling shows no gaps

class Pane {
  /** `cells(row)` makes what stands in a row, `classes(row)` says how it looks now. */
  constructor(name, title, note, count, widest, { cells, classes, columns = "" }) {
    Object.assign(this, { name, count, cells, classes, cursor: 0, live: new Map() });
    this.rows = el("div", "rows");
    this.rows.tabIndex = 0;
    this.rows.setAttribute("role", "listbox");
    this.rows.setAttribute("aria-label", title);
    this.canvas = el("div", "canvas");
    this.canvas.style.height = `${count * ROW}px`;
    this.canvas.style.minWidth = `${widest}ch`;
    this.rows.append(this.canvas);
    this.map = el("canvas", "map");
    const head = el("h2", "", title, el("small", "", note));
    if (columns) head.append(el("span", "columns", columns));
    this.element = el("section", "pane shown", head, el("div", "body", this.rows, this.map));
    this.element.id = `${name}-pane`;
    this.rows.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.rows);
    const jump = (event) => {
      const box = this.map.getBoundingClientRect();
      this.show(Math.floor(((event.clientY - box.top) / box.height) * this.count), true);
    };
    this.map.addEventListener("pointerdown", (event) => { this.map.setPointerCapture(event.pointerId); jump(event); });
    this.map.addEventListener("pointermove", (event) => { if (event.buttons) jump(event); });
  }

  get page() { return Math.max(1, Math.floor(this.rows.clientHeight / ROW) - 1); }

  /** The row under the pointer; -1 for none. */
  rowOf(target) {
    const row = target.closest?.(".row");
    return row ? Number(row.dataset.row) : -1;
  }

  show(row, centred = false) {
    const top = row * ROW, height = this.rows.clientHeight, from = this.rows.scrollTop;
    const isOut = top < from + ROW || top + 2 * ROW > from + height;
    if (centred || isOut) this.rows.scrollTop = top - height / 2 + ROW;
    this.draw();
  }

  /** Makes the rows in sight, keeps those that are there, and lets the others go. */
  draw() {
    const first = Math.max(0, Math.floor(this.rows.scrollTop / ROW) - SPARE);
    const last = Math.min(this.count, Math.ceil((this.rows.scrollTop + this.rows.clientHeight) / ROW) + SPARE);
    for (const [row, element] of this.live) {
      if (row < first || row >= last) { element.remove(); this.live.delete(row); }
    }
    const fresh = document.createDocumentFragment();
    for (let row = first; row < last; row++) {
      if (this.live.has(row)) continue;
      const element = el("div", "", ...this.cells(row));
      element.dataset.row = row;
      element.id = `${this.name}-${row}`;
      element.setAttribute("role", "option");
      element.style.top = `${row * ROW}px`;
      element.className = `row ${this.classes(row)}`;
      this.live.set(row, element);
      fresh.append(element);
    }
    this.canvas.append(fresh);
    this.drawMap();
  }

  /** What is shown looks otherwise now; with `anew` it says something else, too. */
  restyle(anew = false) {
    for (const [row, element] of this.live) {
      if (anew) element.replaceChildren(...this.cells(row));
      element.className = `row ${this.classes(row)}`;
    }
    this.rows.setAttribute("aria-activedescendant", `${this.name}-${this.cursor}`);
    this.drawMap();
  }

  drawMap() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      const width = this.map.clientWidth, height = this.map.clientHeight, scale = devicePixelRatio || 1;
      if (!width || !height) return;
      this.map.width = width * scale;
      this.map.height = height * scale;
      const pen = this.map.getContext("2d");
      pen.scale(scale, scale);
      this.paintMap?.(pen, width, height, Math.max(2, height / this.count));
      pen.fillStyle = colourOf("--dim", 0.22);
      const all = this.count * ROW;
      pen.fillRect(0, (this.rows.scrollTop / all) * height, width, Math.min(height, (this.rows.clientHeight / all) * height));
    });
  }
}

/** A colour of the palette as the canvas takes it; `palette.clear()` when the palette changes. */
const palette = new Map();
function colourOf(name, alpha = 1) {
  if (!palette.has(name)) {
    const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const hex = value.match(/^#(..)(..)(..)$/);
    palette.set(name, (hex ? hex.slice(1).map((part) => parseInt(part, 16)) : value.split(/\s+/)).join(" "));
  }
  return `rgb(${palette.get(name)} / ${alpha})`;
}
