// SPDX-License-Identifier: Apache-2.0
// The page: three panes that follow each other, search, heat, keys.
const $ = (id) => document.getElementById(id);
const state = { pinned: null, hover: null, linked: linkedTo("ptx", -1), metric: 0, hits: [], hit: -1, query: "", tab: "line", hot: null };
const kinds = sourceKinds(data.source.lines, data.source.numbers);
const panes = {};
let timeline = null, tipTimer = 0;

// --- what stands in a row ------------------------------------------------------------------------

function heatCell(pane, row) {
  const cell = el("span", pane === "sass" ? "hot faint" : "hot");
  const { sums, most } = heat[state.metric], value = sums[pane][row];
  if (value > 0) {
    cell.textContent = short(value);
    cell.style.background = `rgb(${cssHeat} / ${(0.08 + 0.62 * Math.sqrt(value / most[pane])).toFixed(3)})`;
  }
  return cell;
}
let cssHeat = "232 89 12";

function markCell(pane, row) {
  const found = findingsAt[pane].get(row), cell = el("span", "mark");
  if (found) {
    cell.classList.add(found.some((one) => one.severity === "error") ? "error" : found[0].severity);
    cell.textContent = found.some((one) => one.severity === "error") ? "●" : "▲";
  }
  return cell;
}

function liveCell(count, most) {
  const cell = el("span", "live", el("b", "", count >= 0 ? String(count) : ""));
  if (count >= 0) cell.style.setProperty("--full", (count / Math.max(1, most)).toFixed(3));
  return cell;
}

const mostLive = { ptx: Math.max(1, data.ptx.live.reduce((a, b) => Math.max(a, b), 0)), sass: 255 };

const cellsOf = {
  source(row) {
    const { lines, numbers } = data.source;
    if (!numbers[row]) return [el("span", "code", lines[row])];
    return [...(heat ? [heatCell("source", row)] : []), el("span", "no", String(numbers[row])), markCell("source", row), code(kinds[row], lines[row])];
  },
  ptx(row) {
    return [
      ...(heat ? [heatCell("ptx", row)] : []), el("span", "no", String(row + 1)), markCell("ptx", row),
      liveCell(data.ptx.live[row], mostLive.ptx), code("ptx", data.ptx.lines[row].replace(/^\t/, "  ")),
    ];
  },
  sass(row) {
    const { address, lines, live } = data.sass;
    if (address[row] < 0) return [el("span", "code", lines[row])];
    return [
      ...(heat ? [heatCell("sass", row)] : []), el("span", "no wide", address[row].toString(16).padStart(4, "0")), markCell("sass", row),
      controlCell(data.sass.control[row]), ...(live.R ? [liveCell(live.R[numberOf[row]], mostLive.sass)] : []), code("sass", lines[row]),
    ];
  },
};

function classesOf(pane, row) {
  const classes = [];
  if (pane === "source" && !data.source.numbers[row]) classes.push("heading");
  if (pane === "sass" && data.sass.address[row] < 0) classes.push("heading");
  if (pane === "ptx" && /^\s*\.(loc|file)\b/.test(data.ptx.lines[row])) classes.push("aside");
  if (state.linked[pane].has(row)) classes.push("linked");
  else if (pane === "source" && state.linked.outer.has(row)) classes.push("outer");
  if (state.pinned?.pane === pane && state.pinned.row === row) classes.push("pinned");
  if (state.query && matches(pane, row)) classes.push(isHit(pane, row) ? "found found-now" : "found");
  return classes.join(" ");
}

// --- links ---------------------------------------------------------------------------------------

function restyle(anew = false) { for (const pane of Object.values(panes)) pane.restyle(anew); }

function relink() {
  const at = state.hover ?? state.pinned;
  state.linked = at ? linkedTo(at.pane, at.row) : linkedTo("ptx", -1);
  restyle();
}

/** Pins a line; the other panes go to the first line that it is linked to. */
function pin(pane, row, { centred = false } = {}) {
  const start = performance.now();
  state.pinned = { pane, row };
  state.hover = null;
  panes[pane].cursor = row;
  relink();
  panes[pane].show(row, centred);
  for (const other of PANES) {
    if (other === pane || !panes[other]) continue;
    const rows = state.linked[other];
    if (!rows.size) continue;
    const first = firstOf(other, rows);
    panes[other].cursor = first;
    panes[other].show(first);
  }
  restyle();
  showLine();
  document.documentElement.dataset.linkMs = (performance.now() - start).toFixed(1);
}

/** Of a source line's rows the innermost, which comes first in the set; of others the nearest to what is in sight. */
function firstOf(pane, rows) {
  if (pane === "source") return rows.values().next().value;
  const top = panes[pane].rows.scrollTop / ROW, bottom = top + panes[pane].page;
  let least = Infinity;
  for (const row of rows) {
    if (row >= top && row <= bottom) return row;
    least = Math.min(least, row);
  }
  return least;
}

function showLine() {
  const at = state.pinned;
  if (!at) return;
  $("line").replaceChildren(detail(at.pane, at.row));
}

function nextLinked(direction) {
  const pane = focused(), rows = [...state.linked[pane]].sort((a, b) => a - b);
  if (!rows.length) return;
  const at = panes[pane].cursor;
  const next = direction > 0 ? rows.find((row) => row > at) ?? rows[0] : rows.findLast((row) => row < at) ?? rows.at(-1);
  panes[pane].cursor = next;
  panes[pane].show(next, true);
}

// --- search --------------------------------------------------------------------------------------

function matches(pane, row) { return data[pane].lines[row].toLowerCase().includes(state.query); }
function isHit(pane, row) { const hit = state.hits[state.hit]; return hit && hit[0] === pane && hit[1] === row; }

function search(text) {
  state.query = text.toLowerCase();
  state.hits = [];
  if (state.query) {
    for (const pane of Object.keys(panes)) {
      data[pane].lines.forEach((line, row) => { if (line.toLowerCase().includes(state.query)) state.hits.push([pane, row]); });
    }
  }
  state.hit = -1;
  if (state.hits.length) goHit(1);
  else { $("found").textContent = state.query ? "none" : ""; restyle(); }
}

function goHit(direction) {
  if (!state.hits.length) return;
  state.hit = (state.hit + direction + state.hits.length) % state.hits.length;
  const [pane, row] = state.hits[state.hit];
  $("found").textContent = `${state.hit + 1} of ${state.hits.length}`;
  reveal(pane);
  pin(pane, row, { centred: true });
}

// --- heat ----------------------------------------------------------------------------------------

function setMetric(index) {
  if (!heat?.length) return;
  state.metric = (index + heat.length) % heat.length;
  $("heat").selectedIndex = state.metric;
  $("heat-label").title = `${heat[state.metric].what}: ${heat[state.metric].total.toLocaleString("en")} in all`;
  restyle(true);
}

function hottest(direction) {
  if (!heat) return;
  const pane = focused(), sums = heat[state.metric].sums[pane];
  const order = [...sums.keys()].filter((row) => sums[row] > 0).sort((a, b) => sums[b] - sums[a] || a - b);
  if (!order.length) return;
  // From the hottest on, as long as nobody goes elsewhere in between.
  const last = state.hot, goesOn = last?.pane === pane && last.metric === state.metric && order[last.at] === panes[pane].cursor;
  const at = goesOn ? (last.at + direction + order.length) % order.length : 0;
  pin(pane, order[at], { centred: true });
  state.hot = { pane, metric: state.metric, at };
}

function paintMap(pane) {
  return (pen, width, height, size) => {
    const place = (row) => (row / panes[pane].count) * height;
    if (heat) {
      const { sums, most } = heat[state.metric], best = new Float64Array(Math.ceil(height) + 1);
      sums[pane].forEach((value, row) => { const y = Math.floor(place(row)); best[y] = Math.max(best[y], value); });
      best.forEach((value, y) => {
        if (!value) return;
        pen.fillStyle = `rgb(${cssHeat} / ${0.1 + 0.8 * Math.sqrt(value / most[pane])})`;
        pen.fillRect(0, y, width / 2, Math.max(1, size));
      });
    }
    pen.fillStyle = colourOf("--link-edge");
    let last = -1;
    for (const row of state.linked[pane]) {
      const y = Math.floor(place(row));
      if (y !== last) pen.fillRect(width / 2, y, width / 2, size);
      last = y;
    }
    for (const [row, found] of findingsAt[pane]) {
      pen.fillStyle = colourOf(found[0].severity === "error" ? "--error" : "--warning");
      pen.fillRect(0, place(row), width, size);
    }
  };
}

// --- what is around the panes ---------------------------------------------------------------------

function reveal(pane) {
  if (innerWidth > 960 || panes[pane].element.classList.contains("shown")) {
    if (innerWidth > 960 && panes[pane].element.hidden) toggle(pane);
    return;
  }
  for (const other of Object.values(panes)) other.element.classList.toggle("shown", other.name === pane);
  drawTabs();
}

function toggle(pane) {
  if (!panes[pane]) return;
  if (innerWidth <= 960) {
    reveal(pane);
    // What was linked while the pane was away is shown now.
    const rows = state.linked[pane];
    panes[pane].show(rows.size ? firstOf(pane, rows) : panes[pane].cursor, true);
    return;
  }
  const shown = Object.values(panes).filter((one) => !one.element.hidden);
  if (shown.length === 1 && shown[0].name === pane) return;
  panes[pane].element.hidden = !panes[pane].element.hidden;
}

function drawTabs() {
  for (const button of $("tabs").children) button.setAttribute("aria-pressed", panes[button.dataset.pane].element.classList.contains("shown"));
}

function openTab(name) {
  state.tab = name;
  for (const button of document.querySelectorAll("[data-tab]")) button.setAttribute("aria-selected", button.dataset.tab === name);
  for (const body of document.querySelectorAll("[data-body]")) body.hidden = body.dataset.body !== name;
  $("drawer").classList.remove("folded");
  $("drawer").classList.toggle("tall", name === "time");
  timeline?.draw();
}

function fold() { $("drawer").classList.toggle("folded"); }

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  palette.clear();
  cssHeat = getComputedStyle(document.documentElement).getPropertyValue("--heat").trim();
  restyle(true);
  timeline?.draw();
}

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function tip(text, event) {
  const box = $("tip");
  clearTimeout(tipTimer);
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  box.style.top = `${event.clientY + 18 + height > innerHeight ? Math.max(4, event.clientY - height - 12) : event.clientY + 18}px`;
}

function focused() {
  const at = PANES.find((pane) => panes[pane]?.rows === document.activeElement);
  return at ?? state.pinned?.pane ?? Object.keys(panes)[0];
}

function focusBeside(direction) {
  const shown = PANES.filter((pane) => panes[pane] && !panes[pane].element.hidden);
  const next = shown[Math.max(0, Math.min(shown.length - 1, shown.indexOf(focused()) + direction))];
  reveal(next);
  panes[next].rows.focus();
  const linked = state.linked[next].size ? firstOf(next, state.linked[next]) : panes[next].cursor;
  pin(next, linked);
}

function move(steps) {
  const pane = focused(), row = Math.max(0, Math.min(panes[pane].count - 1, panes[pane].cursor + steps));
  pin(pane, row);
}

const KEYS = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1), j: () => move(1), k: () => move(-1),
  PageDown: () => move(panes[focused()].page), PageUp: () => move(-panes[focused()].page),
  Home: () => move(-1e9), End: () => move(1e9), ArrowLeft: () => focusBeside(-1), ArrowRight: () => focusBeside(1),
  Enter: () => { const pane = focused(); pin(pane, panes[pane].cursor, { centred: true }); },
  n: () => nextLinked(1), N: () => nextLinked(-1), "/": () => $("search").focus(),
  h: () => setMetric(state.metric + 1), H: () => setMetric(state.metric - 1), g: () => hottest(1), G: () => hottest(-1),
  1: () => toggle("source"), 2: () => toggle("ptx"), 3: () => toggle("sass"),
  l: () => openTab("line"), f: () => openTab("findings"), t: () => openTab("time"), c: () => openTab("counts"),
  x: fold, d: () => setTheme(isDark() ? "light" : "dark"), "?": () => $("help").showModal(),
  Escape: () => { state.pinned = state.hover = null; relink(); },
};

function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target === $("search")) {
      if (event.key === "Enter") { goHit(event.shiftKey ? -1 : 1); event.preventDefault(); }
      if (event.key === "Escape") { $("search").value = ""; search(""); panes[focused()].rows.focus(); }
      return;
    }
    if (event.target.tagName === "SELECT" || (event.target.tagName === "BUTTON" && event.key === "Enter")) return;
    const action = KEYS[event.key];
    if (action) { action(); event.preventDefault(); }
  });
  $("search").addEventListener("input", (event) => search(event.target.value));
  $("heat").addEventListener("change", (event) => setMetric(event.target.selectedIndex));
  $("theme").addEventListener("click", KEYS.d);
  $("keys").addEventListener("click", KEYS["?"]);
  $("fold").addEventListener("click", fold);
  for (const button of document.querySelectorAll("[data-tab]")) button.addEventListener("click", () => openTab(button.dataset.tab));
  for (const pane of Object.values(panes)) {
    const point = (event) => {
      const row = pane.rowOf(event.target);
      if (row < 0 || (state.hover?.pane === pane.name && state.hover.row === row)) return;
      state.hover = { pane: pane.name, row };
      relink();
      tip("", event);
      tipTimer = setTimeout(() => tip(tipOf(pane.name, row), event), 450);
    };
    pane.rows.addEventListener("pointermove", point);
    pane.rows.addEventListener("pointerleave", (event) => { state.hover = null; relink(); tip("", event); });
    pane.rows.addEventListener("click", (event) => { const row = pane.rowOf(event.target); if (row >= 0) pin(pane.name, row); tip("", event); });
  }
}

function build() {
  $("title").textContent = data.title;
  $("about").textContent = [data.target, data.compiler].filter(Boolean).join(" · ");
  for (const [name, value, title] of data.facts) {
    const fact = el("div", name === "spills" && value !== "none" ? "bad" : "", el("dt", "", name), el("dd", "", value));
    fact.title = title;
    $("facts").append(fact);
  }
  $("notices").hidden = !data.notices.length;
  $("notices").append(...data.notices.map((text) => el("li", "", text)));
  const count = (pane) => (pane === "source" ? "" : pane === "ptx" ? `${data.ptx.op.filter((one) => one >= 0).length} instructions` : `${data.sass.address.filter((one) => one >= 0).length} instructions`);
  const columns = { ptx: "live", sass: "stall yield sets ←waits" + (data.sass.live.R ? "  live" : "") };
  for (const pane of PANES) {
    if (!data[pane].lines.length) continue;
    const widest = data[pane].lines.reduce((most, line) => Math.max(most, Math.min(line.length, 4000)), 0) + 40;
    panes[pane] = new Pane(pane, LABELS[pane], count(pane), data[pane].lines.length, widest, {
      cells: cellsOf[pane], classes: (row) => classesOf(pane, row), columns: columns[pane],
    });
    panes[pane].paintMap = paintMap(pane);
    $("panes").append(panes[pane].element);
    const button = el("button", "", LABELS[pane]);
    button.dataset.pane = pane;
    button.addEventListener("click", () => toggle(pane));
    $("tabs").append(button);
  }
  if (innerWidth <= 960) for (const pane of Object.values(panes)) pane.element.classList.toggle("shown", pane === Object.values(panes)[0]);
  drawTabs();
  buildDrawer();
}

function buildDrawer() {
  const tabs = Object.fromEntries([...document.querySelectorAll("[data-tab]")].map((tab) => [tab.dataset.tab, tab]));
  tabs.time.hidden = !data.timeline;
  tabs.counts.hidden = !data.heat;
  tabs.findings.hidden = !data.findings.length;
  $("heat-label").hidden = !heat;
  if (heat) {
    $("heat").append(...heat.map(({ title }) => el("option", "", title)));
    $("counts").append(el("pre", "", data.heat.table));
  }
  $("finding-count").textContent = data.findings.length || "";
  $("finding-count").classList.toggle("mild", data.findings.every((one) => one.severity === "advice"));
  $("findings").append(...data.findings.map((one) => findingBox(one, (pane, row) => { reveal(pane); pin(pane, row, { centred: true }); openTab("findings"); })));
  if (data.timeline) {
    timeline = new Timeline($("time"), data.timeline, { onPick: (row) => pin("ptx", row, { centred: true }), onTip: tip });
  }
  $("line").append(el("p", "empty", "Point at a line to see what it is linked to; click it, or press Enter, to stay there. ? lists the keys."));
}

build();
listen();
cssHeat = getComputedStyle(document.documentElement).getPropertyValue("--heat").trim();
if (heat) setMetric(0);
for (const pane of Object.values(panes)) pane.draw();
{
  // The first line of the kernel that became anything, or what was found about it.
  const worst = data.findings.find((one) => one.severity === "error" && PANES.some((pane) => panes[pane] && one[pane].length));
  const first = worst ? PANES.map((pane) => [pane, worst[pane][0]]).find(([pane, row]) => panes[pane] && row !== undefined)
    : ["ptx", data.ptx.chain.findIndex((one) => one >= 0)];
  if (first && first[1] >= 0 && panes[first[0]]) pin(...first, { centred: true });
  if (worst) openTab("findings");
}
document.documentElement.dataset.readyMs = performance.now().toFixed(1);
