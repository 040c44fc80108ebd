// SPDX-License-Identifier: Apache-2.0
"use strict";
// Two kernels beside each other: a tab for source, PTX and SASS, two lists that scroll together.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SIDES = ["a", "b"];
const [SAME, RENAMED, CHANGED, ONLY_A, ONLY_B] = [0, 1, 2, 3, 4];
const state = { pane: "", at: -1, query: "", hits: [], hit: -1 };
let panes = [];

function el(tag, classes = "", ...children) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...children);
  return made;
}

const rowsOf = (pane) => data.panes[pane].rows;
const indexOf = (row, side) => rowsOf(state.pane)[3 * row + side];
const kindOf = (row) => rowsOf(state.pane)[3 * row + 2];
const textOf = (row, side) => (indexOf(row, side) < 0 ? "" : data.panes[state.pane].lines[side][indexOf(row, side)]);

function number(row, side) {
  const value = data.panes[state.pane].numbers[side][indexOf(row, side)];
  if (value === undefined || value < 0 || (state.pane !== "sass" && !value)) return "";
  return state.pane === "sass" ? value.toString(16).padStart(4, "0") : String(value);
}

function kindOfText(row, side) {
  return state.pane === "source" ? "python" : state.pane;
}

/** What differs between the two sides of a changed line, marked. */
function cells(row, side) {
  const text = textOf(row, side);
  return [el("span", "no wide", number(row, side)), code(kindOfText(row, side), text.replace(/^\t/, "  "))];
}

function classes(row, side) {
  const names = [], kind = kindOf(row);
  if (indexOf(row, side) < 0) names.push("gap");
  else if (kind === CHANGED) names.push("changed");
  else if (kind === ONLY_A) names.push("only-a");
  else if (kind === ONLY_B) names.push("only-b");
  if (state.pane === "sass" && data.panes.sass.numbers[side][indexOf(row, side)] < 0) names.push("heading");
  if (row === state.at) names.push("pinned");
  if (state.query && textOf(row, side).toLowerCase().includes(state.query)) names.push("found");
  return names.join(" ");
}

function counts(pane) {
  const found = [0, 0, 0, 0, 0], rows = rowsOf(pane);
  for (let i = 2; i < rows.length; i += 3) found[rows[i]]++;
  return found;
}

/** The rows at which something else begins to differ. */
function differences() {
  const found = [];
  const differs = (row) => row >= 0 && kindOf(row) > RENAMED;
  for (let row = 0; row < rowsOf(state.pane).length / 3; row++) if (differs(row) && !differs(row - 1)) found.push(row);
  return found;
}

function open(pane) {
  Object.assign(state, { pane, at: -1 });
  const count = rowsOf(pane).length / 3, widest = data.panes[pane].lines.flat().reduce((most, line) => Math.max(most, Math.min(line.length, 4000)), 0) + 16;
  panes = SIDES.map((name, side) => {
    const about = data.sides[side];
    return new Pane(name, data.titles[side], [about.target, about.compiler].filter(Boolean).join(" · "), count, widest, {
      cells: (row) => cells(row, side), classes: (row) => classes(row, side),
    });
  });
  panes.forEach((one, side) => {
    one.paintMap = paintMap(side);
    const other = panes[1 - side];
    one.rows.addEventListener("scroll", () => {
      if (other.rows.scrollTop !== one.rows.scrollTop) other.rows.scrollTop = one.rows.scrollTop;
      if (other.rows.scrollLeft !== one.rows.scrollLeft) other.rows.scrollLeft = one.rows.scrollLeft;
    }, { passive: true });
    one.rows.addEventListener("click", (event) => { const row = one.rowOf(event.target); if (row >= 0) goTo(row); });
  });
  $("panes").replaceChildren(...panes.map((one) => one.element));
  for (const button of $("tabs").children) button.setAttribute("aria-pressed", button.dataset.pane === pane);
  const places = differences();
  $("found").textContent = places.length ? `${places.length} differences` : "no differences";
  for (const one of panes) one.draw();
  if (places.length) goTo(places[0]);
}

function paintMap(side) {
  const colours = { [CHANGED]: "--warning", [ONLY_A]: "--error", [ONLY_B]: "--good" };
  return (pen, width, height, size) => {
    const count = panes[side].count;
    for (let row = 0; row < count; row++) {
      const colour = colours[kindOf(row)];
      if (!colour || indexOf(row, side) < 0) continue;
      pen.fillStyle = colourOf(colour);
      pen.fillRect(0, (row / count) * height, width, size);
    }
  };
}

function goTo(row) {
  state.at = row;
  for (const one of panes) { one.cursor = row; one.restyle(); one.show(row); }
}

function step(direction) {
  const places = differences();
  if (!places.length) return;
  const next = direction > 0 ? places.find((row) => row > state.at) ?? places[0] : places.findLast((row) => row < state.at) ?? places.at(-1);
  $("found").textContent = `${places.indexOf(next) + 1} of ${places.length} differences`;
  goTo(next);
}

function search(text) {
  state.query = text.toLowerCase();
  state.hits = [];
  for (let row = 0; state.query && row < rowsOf(state.pane).length / 3; row++) {
    if (SIDES.some((_, side) => textOf(row, side).toLowerCase().includes(state.query))) state.hits.push(row);
  }
  state.hit = -1;
  $("found").textContent = state.query ? "none" : "";
  for (const one of panes) one.restyle();
  goHit(1);
}

function goHit(direction) {
  if (!state.hits.length) return;
  state.hit = (state.hit + direction + state.hits.length) % state.hits.length;
  $("found").textContent = `${state.hit + 1} of ${state.hits.length}`;
  goTo(state.hits[state.hit]);
}

function theme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  palette.clear();
  for (const one of panes) one.drawMap();
}

function move(steps) { goTo(Math.max(0, Math.min(panes[0].count - 1, state.at + steps))); }

const KEYS = {
  n: () => step(1), p: () => step(-1), d: theme, "/": () => $("search").focus(),
  ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(panes[0].page), PageUp: () => move(-panes[0].page),
  Home: () => move(-1e9), End: () => move(1e9), 1: () => open("source"), 2: () => open("ptx"), 3: () => open("sass"),
};

function facts() {
  const names = [...new Set(data.sides.flatMap((side) => side.facts.map(([name]) => name)))];
  const value = (side, name) => side.facts.find(([one]) => one === name)?.[1] ?? "–";
  $("facts").append(...names.map((name) => {
    const [a, b] = data.sides.map((side) => value(side, name));
    return el("tr", "", el("td", "", name), el("td", a === b ? "" : "differs", a), el("td", a === b ? "" : "differs", b));
  }));
}

$("title").textContent = data.titles.join("  |  ");
facts();
{
  const notices = data.sides.flatMap((side, index) => side.notices.map((text) => `${data.titles[index]}: ${text}`));
  $("notices").hidden = !notices.length;
  $("notices").append(...notices.map((text) => el("li", "", text)));
}
for (const [pane, label] of [["source", "Source"], ["ptx", "PTX"], ["sass", "SASS"]]) {
  if (!rowsOf(pane).length) continue;
  const found = counts(pane), changed = found[CHANGED] + found[ONLY_A] + found[ONLY_B];
  const button = el("button", "", `${label}  ${changed ? `${found[SAME] + found[RENAMED]} alike, ${changed} not` : "alike"}`);
  button.dataset.pane = pane;
  button.addEventListener("click", () => open(pane));
  $("tabs").append(button);
}
$("next").addEventListener("click", KEYS.n);
$("previous").addEventListener("click", KEYS.p);
$("theme").addEventListener("click", theme);
$("search").addEventListener("input", (event) => search(event.target.value));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === $("search")) {
    if (event.key === "Enter") goHit(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { $("search").value = ""; search(""); panes[0].rows.focus(); }
    return;
  }
  if (KEYS[event.key]) { KEYS[event.key](); event.preventDefault(); }
});
open(["sass", "ptx", "source"].find((pane) => rowsOf(pane).length) ?? "ptx");
document.documentElement.dataset.readyMs = performance.now().toFixed(1);
