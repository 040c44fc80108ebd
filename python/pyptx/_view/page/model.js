// SPDX-License-Identifier: Apache-2.0
"use strict";
// The data of the page, and the links between its rows in both directions.
const data = JSON.parse(document.getElementById("data").textContent);
const PANES = ["source", "ptx", "sass"];
const LABELS = { source: "Source", ptx: "PTX", sass: "SASS" };
const NONE = [];

/** Groups of numbers by a key from 0: two flat arrays however many there are. */
class Groups {
  constructor(keys, pairs) {
    this.starts = new Uint32Array(keys + 1);
    for (let i = 0; i < pairs.length; i += 2) this.starts[pairs[i] + 1]++;
    for (let i = 0; i < keys; i++) this.starts[i + 1] += this.starts[i];
    const next = this.starts.slice();
    this.values = new Uint32Array(pairs.length / 2);
    for (let i = 0; i < pairs.length; i += 2) this.values[next[pairs[i]]++] = pairs[i + 1];
  }
  of(key) { return key < 0 ? NONE : this.values.subarray(this.starts[key], this.starts[key + 1]); }
}

const links = (() => {
  const { ptx, sass, source } = data;
  const up = [], down = [];
  ptx.chain.forEach((chain, row) => {
    if (chain >= 0) for (const line of ptx.chains[chain]) up.push(line, row);
  });
  sass.ptx.forEach((line, row) => { if (line >= 0 && sass.address[row] >= 0) down.push(line, row); });
  return { ptxOfSource: new Groups(source.lines.length, up), sassOfPtx: new Groups(ptx.lines.length, down) };
})();

function chainOf(ptxRow) {
  const chain = ptxRow >= 0 ? data.ptx.chain[ptxRow] : -1;
  return chain >= 0 ? data.ptx.chains[chain] : NONE;
}

/** The rows that a row is linked to: a set per pane, and the callers' lines apart. */
function linkedTo(pane, row) {
  const found = { source: new Set(), ptx: new Set(), sass: new Set(), outer: new Set() };
  if (pane === "source") {
    found.source.add(row);
    for (const line of links.ptxOfSource.of(row)) {
      found.ptx.add(line);
      for (const one of links.sassOfPtx.of(line)) found.sass.add(one);
    }
    return found;
  }
  const line = pane === "ptx" ? row : data.sass.address[row] >= 0 ? data.sass.ptx[row] : -1;
  if (pane === "sass") found.sass.add(row);
  if (line < 0) return found;
  found.ptx.add(line);
  for (const one of links.sassOfPtx.of(line)) found.sass.add(one);
  chainOf(line).forEach((one, depth) => (depth ? found.outer : found.source).add(one));
  return found;
}

/** Counters by pane, counter and row; of a source line what all its instructions have together. */
const heat = (() => {
  if (!data.heat) return null;
  return data.heat.metrics.map(([title, what], metric) => {
    const sums = Object.fromEntries(PANES.map((pane) => [pane, new Float64Array(data[pane].lines.length)]));
    for (const values of data.heat.ptx) {
      const row = values[0], value = values[metric + 1];
      sums.ptx[row] += value;
      for (const line of chainOf(row)) sums.source[line] += value;
      for (const one of links.sassOfPtx.of(row)) sums.sass[one] = value;
    }
    const most = Object.fromEntries(PANES.map((pane) => [pane, sums[pane].reduce((a, b) => Math.max(a, b), 0)]));
    return { title, what, sums, most, total: data.heat.totals[metric] };
  });
})();

/** Findings by pane and row. */
const findingsAt = Object.fromEntries(PANES.map((pane) => {
  const at = new Map();
  data.findings.forEach((finding) => finding[pane].forEach((row) => at.set(row, [...(at.get(row) ?? []), finding])));
  return [pane, at];
}));

/** The number of each machine instruction among the instructions, which its live registers go by. */
const numberOf = (() => {
  let next = 0;
  return data.sass.address.map((address) => (address >= 0 ? next++ : -1));
})();

function liveAt(row) {
  const { ranges, prefixes } = data.sass, found = {};
  for (let i = 0; i < ranges.length; i += 4) {
    if (ranges[i + 2] <= row && row <= ranges[i + 3]) (found[prefixes[ranges[i]]] ??= new Set()).add(ranges[i + 1]);
  }
  return found;
}

/** The 21 bits that say how an instruction is issued. See control.py. */
function control(field) {
  if (field < 0) return null;
  const write = (field >> 5) & 7, read = (field >> 8) & 7, bits = (from, count) =>
    [...Array(count).keys()].filter((n) => (field >> (from + n)) & 1);
  return {
    stall: field & 15, yields: !((field >> 4) & 1), write: write === 7 ? -1 : write, read: read === 7 ? -1 : read,
    waits: bits(11, 6), reuse: bits(17, 4),
  };
}

function short(value) {
  if (value < 10000) return String(value);
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (value >= size) return (value / size).toPrecision(3).replace(/\.?0+$/, "") + unit;
  }
  return String(value);
}

/** An element with classes and children; a text is never markup. */
function el(tag, classes = "", ...children) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...children);
  return made;
}
