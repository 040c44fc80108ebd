// SPDX-License-Identifier: Apache-2.0
// What is known of one line: its source, its PTX with the table's words, its SASS field by field.

function table(rows) {
  const made = el("table");
  for (const [name, value] of rows) made.append(el("tr", "", el("td", "", name), el("td", "", value)));
  return made;
}

function card(title, note, ...children) {
  return el("div", "card", el("h3", "", title, " ", el("small", "", note)), ...children);
}

function placeOf(row) {
  const { lines, numbers } = data.source;
  let heading = row;
  while (heading > 0 && (numbers[heading] || lines[heading] === "⋯")) heading--;
  return `${lines[heading].split("/").pop()}:${numbers[row]}`;
}

function counters(pane, row) {
  return (heat ?? []).map(({ title, sums }) => [title, sums[pane][row].toLocaleString("en")]);
}

/** Stall, yield and scoreboards in words. */
function controlWords(field) {
  const fields = control(field);
  if (!fields) return [];
  const boards = (all) => all.map((n) => `SB${n}`).join(", ");
  return [
    ["stall", `${fields.stall} cycle${fields.stall === 1 ? "" : "s"} before the warp issues again`],
    ["yield", fields.yields ? "yes: the scheduler prefers another warp" : "no"],
    ["waits for", fields.waits.length ? boards(fields.waits) : "nothing"],
    ["sets", fields.write >= 0 ? `SB${fields.write}, until the result is written` : "no scoreboard for its result"],
    ...(fields.read >= 0 ? [["", `SB${fields.read}, until the operands are read`]] : []),
    ...(fields.reuse.length ? [["reuse", `operand ${fields.reuse.join(", ")} stays in the reuse cache`]] : []),
  ];
}

/** The field in a column: stall, yield, what is set, what is waited for. */
function controlCell(field) {
  const fields = control(field), cell = el("span", "ctl");
  if (!fields) return cell;
  const sets = (fields.write >= 0 ? `W${fields.write}` : "  ") + (fields.read >= 0 ? `R${fields.read}` : "  ");
  cell.append(
    el("i", "stalls", String(fields.stall).padStart(2)), el("i", "yields", fields.yields ? " Y " : "   "),
    el("i", "sets", sets), el("i", "awaits", fields.waits.length ? ` ←${fields.waits.join("")}` : ""),
  );
  return cell;
}

function sassCard(row) {
  const address = data.sass.address[row];
  const made = card("SASS", `0x${address.toString(16)}  ${data.sass.lines[row]}`, table(controlWords(data.sass.control[row])));
  if (data.sass.ranges.length) {
    const live = liveAt(row);
    const general = live.R ?? new Set(), last = Math.max(0, ...(data.sass.live.R ?? [0]), ...general);
    const grid = el("div", "registers");
    for (let n = 0; n <= Math.max(last, ...general); n++) {
      const box = el("i", general.has(n) ? "on" : "");
      box.title = `R${n}`;
      grid.append(box);
    }
    const counts = Object.entries(live).map(([kind, all]) => `${all.size} ${kind}`).join(", ");
    made.append(table([["live", counts || "none"]]), grid);
  }
  return made;
}

function ptxCard(row) {
  const { lines, op, help, helpers, live } = data.ptx;
  const made = card("PTX", `line ${row + 1}`);
  const rows = [];
  if (live[row] >= 0) rows.push(["live", `${live[row]} registers of the text before it`]);
  if (helpers[row]) rows.push(["written by", helpers[row].join(" in ")]);
  rows.push(...counters("ptx", row));
  const text = lines[row].trim();
  made.append(el("pre", "", text.length > 240 ? `${text.slice(0, 200)} … ${text.slice(-30)}` : text), table(rows));
  if (op[row] >= 0) made.append(el("pre", "words", help[op[row]][1]));
  const picture = data.ptx.pictures[op[row]];
  if (picture) {
    const button = el("button", "draw", "draw which lane holds what");
    button.addEventListener("click", () => showPicture(help[op[row]][0], picture));
    made.children[0].after(button);
  }
  return made;
}

/** A drawing, as an image: whatever is in it, nothing of it runs. */
function showPicture(title, svg) {
  const image = document.createElement("img");
  image.alt = title;
  image.src = `data:image/svg+xml;base64,${btoa(Array.from(new TextEncoder().encode(svg), (byte) => String.fromCharCode(byte)).join(""))}`;
  const dialog = document.getElementById("picture");
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector("div").replaceChildren(image);
  dialog.showModal();
}

function sourceCard(rows, outer) {
  const made = card("Source", rows.map(placeOf).join(", "));
  for (const row of rows) made.append(el("pre", "", data.source.lines[row].trim()));
  if (outer.length) {
    made.append(table(outer.map((row) => ["called from", `${placeOf(row)}   ${data.source.lines[row].trim()}`])));
  }
  if (heat && rows.length === 1) made.append(table(counters("source", rows[0])));
  return made;
}

/** Everything about a row and what it is linked to. */
function detail(pane, row) {
  const linked = linkedTo(pane, row), made = el("div", "columns3");
  const [ptx, sass] = [[...linked.ptx], [...linked.sass]];
  for (const finding of findingsAt[pane].get(row) ?? []) made.append(findingBox(finding));
  if (linked.source.size) made.append(sourceCard([...linked.source].slice(0, 4), [...linked.outer]));
  if (ptx.length === 1) made.append(ptxCard(ptx[0]));
  else if (ptx.length) made.append(card("PTX", `${ptx.length} lines`, el("pre", "", some(ptx, (one) => data.ptx.lines[one].trim()))));
  if (pane === "sass" && data.sass.address[row] >= 0) made.append(sassCard(row));
  else if (sass.length === 1) made.append(sassCard(sass[0]));
  else if (sass.length) made.append(card("SASS", `${sass.length} instructions`, el("pre", "", some(sass, (one) => data.sass.lines[one]))));
  return made;
}

function some(rows, text) {
  const shown = rows.slice(0, 12).map(text);
  if (rows.length > shown.length) shown.push(`and ${rows.length - shown.length} more`);
  return shown.join("\n");
}

function findingBox(finding, go) {
  const box = el("div", `finding ${finding.severity}`);
  const head = el("h3", "", finding.title, " ", el("code", "", finding.code));
  box.append(head);
  const places = PANES.flatMap((pane) => finding[pane].slice(0, 1).map((row) => [pane, row]));
  if (go && places.length) {
    const button = el("button", "", "show the line");
    button.addEventListener("click", () => go(...places[0]));
    box.append(button);
  }
  if (finding.text !== finding.title) box.append(el("pre", "", finding.text));
  return box;
}

/** A few words for the pointer. */
function tipOf(pane, row) {
  const said = (findingsAt[pane].get(row) ?? []).map((one) => one.text);
  const linked = linkedTo(pane, row);
  if (pane === "source" && data.source.numbers[row] && linked.ptx.size) {
    said.push(`${linked.ptx.size} PTX, ${linked.sass.size} SASS`);
  }
  if (pane === "ptx" && data.ptx.op[row] >= 0) said.push(data.ptx.help[data.ptx.op[row]][1].split("\n\n")[0]);
  if (pane === "sass") said.push(controlWords(data.sass.control[row]).map(([a, b]) => `${a.padEnd(10)}${b}`).join("\n"));
  if (linked.outer.size) said.push([...linked.outer].map((one) => `called from ${placeOf(one)}`).join("\n"));
  if (heat && (pane !== "sass" || linked.ptx.size)) {
    const counts = heat.filter(({ sums }) => sums[pane][row]).map(({ title, sums }) => `${sums[pane][row].toLocaleString("en")} ${title}`);
    if (counts.length) said.push((pane === "sass" ? "of its PTX line: " : "") + counts.join(", "));
  }
  return said.filter(Boolean).join("\n\n");
}
