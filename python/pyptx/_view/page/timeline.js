// SPDX-License-Identifier: Apache-2.0
// The timeline: a lane per warp with what it has under way, a lane per mbarrier with its phases. A
// wait that ended has an arrow from who ended it, drawn for the wait under the pointer.
const LANE = 15, GUTTER = 170, AXIS = 18, FLIGHT = 6;

class Timeline {
  constructor(root, timeline, { onPick, onTip }) {
    Object.assign(this, { timeline, onPick, onTip, from: 0, to: Math.max(1, timeline.end), chosen: null });
    this.bar = el("div", "time-bar");
    for (const [name, colour] of [["runs", "--run"], ["waits", "--wait"], ["copy under way", "--copy"], ["matrix work under way", "--math"], ["phase of an mbarrier", "--phase"]]) {
      const key = el("i");
      key.style.background = `var(${colour})`;
      this.bar.append(el("span", "", key, name));
    }
    const left = timeline.dropped ? `; ${timeline.dropped} events are left out` : "";
    const ctas = new Set(timeline.tracks.map((track) => track.cta)).size;
    this.bar.append(el("span", "", `${timeline.end} steps; ${ctas} of ${timeline.ctas} CTAs${left}`));
    this.scroll = el("div", "time-scroll");
    this.canvas = el("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("aria-label", "Timeline: plus, minus and 0 zoom, arrows move");
    this.scroll.append(this.canvas);
    root.replaceChildren(this.bar, this.scroll);
    this.lay();
    new ResizeObserver(() => this.draw()).observe(this.scroll);
    this.listen();
  }

  /** Where each lane stands; matrix instructions and copies share a strip below their warp. */
  lay() {
    let y = AXIS, cta = null;
    this.lanes = this.timeline.tracks.map((track) => {
      if (track.cta !== cta) { cta = track.cta; y += LANE; }
      const depth = this.pack(track);
      const lane = { track, y, height: LANE + depth * FLIGHT };
      y += lane.height + 2;
      return lane;
    });
    this.height = y + 8;
  }

  /** Flights that overlap go below each other, at most four deep. */
  pack(track) {
    const ends = [];
    track.depth = [];
    for (let i = 0; i < track.flights.length; i += 4) {
      const start = track.flights[i], end = start + track.flights[i + 1];
      let at = ends.findIndex((last) => last <= start);
      if (at < 0) at = ends.length < 4 ? ends.length : 3;
      ends[at] = Math.max(end, ends[at] ?? 0);
      track.depth.push(at);
    }
    return ends.length;
  }

  x(step) { return GUTTER + ((step - this.from) / (this.to - this.from)) * (this.width - GUTTER); }
  step(x) { return this.from + ((x - GUTTER) / (this.width - GUTTER)) * (this.to - this.from); }

  draw() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      const scale = devicePixelRatio || 1;
      this.width = this.scroll.clientWidth;
      if (!this.width) return;
      this.canvas.style.width = `${this.width}px`;
      this.canvas.style.height = `${this.height}px`;
      this.canvas.width = this.width * scale;
      this.canvas.height = this.height * scale;
      this.pen = this.canvas.getContext("2d");
      this.pen.scale(scale, scale);
      this.paint();
    });
  }

  paint() {
    const { pen } = this;
    pen.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
    pen.textBaseline = "middle";
    this.axis();
    let cta = null;
    for (const lane of this.lanes) {
      if (lane.track.cta !== cta) {
        cta = lane.track.cta;
        pen.fillStyle = colourOf("--text");
        pen.fillText(cta, 8, lane.y - LANE / 2);
      }
      this.lane(lane);
    }
    if (this.chosen) this.arrow(this.chosen);
  }

  axis() {
    const { pen } = this, span = this.to - this.from;
    const step = 10 ** Math.floor(Math.log10(span / 4)) * (span / 10 ** Math.floor(Math.log10(span / 4)) > 20 ? 5 : 1) || 1;
    pen.fillStyle = colourOf("--dim");
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += Math.max(1, step)) {
      const x = this.x(at);
      pen.fillRect(x, 0, 1, 5);
      pen.fillText(String(Math.round(at)), x + 3, 9);
      pen.fillStyle = colourOf("--line");
      pen.fillRect(x, AXIS, 1, this.height);
      pen.fillStyle = colourOf("--dim");
    }
  }

  lane({ track, y }) {
    const { pen } = this;
    pen.fillStyle = colourOf("--dim");
    pen.fillText(track.name, 18, y + LANE / 2, GUTTER - 24);
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, 0, this.width - GUTTER, this.height);
    pen.clip();
    this.boxes(track.steps, 3, y, LANE - 3, () => colourOf("--run"));
    this.boxes(track.waits, 7, y + 3, LANE - 9, () => colourOf("--wait", 0.75));
    this.boxes(track.phases, 6, y + 1, LANE - 4, (i) => colourOf(track.phases[i + 2] % 2 ? "--phase2" : "--phase"), (i) => `${track.phases[i + 2]}`);
    this.boxes(track.flights, 4, y + LANE - 1, FLIGHT - 1, (i) => colourOf(this.isMatrix(track.flights[i + 2]) ? "--math" : "--copy"), null, (i) => track.depth[i / 4] * FLIGHT);
    pen.restore();
  }

  isMatrix(row) { return /\b(wgmma|mma|tcgen05\.(mma|cp|shift))/.test(data.ptx.lines[row] ?? ""); }

  /** Boxes that fall on the same pixel are drawn as one. */
  boxes(values, width, y, height, colour, label = null, shift = () => 0) {
    const { pen } = this;
    let last = -1;
    for (let i = 0; i < values.length; i += width) {
      const start = values[i], end = start + values[i + 1];
      if (end < this.from || start > this.to) continue;
      const left = this.x(start), right = Math.max(left + 1, this.x(end) - 0.5);
      if (width === 3 && right <= last) continue;
      last = right;
      pen.fillStyle = colour(i);
      pen.fillRect(left, y + shift(i), right - left, height);
      if (label && right - left > 14) {
        pen.fillStyle = colourOf("--text");
        pen.fillText(label(i), Math.max(left, GUTTER) + 3, y + height / 2 + 0.5);
      }
    }
  }

  arrow({ lane, i }) {
    const { waits } = lane.track, by = waits[i + 4];
    const from = by >= 0 ? this.lanes[by] : null, end = waits[i] + waits[i + 1];
    const { pen } = this, x = this.x(end);
    pen.strokeStyle = pen.fillStyle = colourOf("--text");
    pen.lineWidth = 1.5;
    pen.strokeRect(this.x(waits[i]), lane.y + 2, x - this.x(waits[i]), LANE - 7);
    if (!from || from === lane) return;
    const y0 = from.y + LANE / 2, y1 = lane.y + LANE / 2 - 1;
    pen.beginPath();
    pen.moveTo(x, y0);
    pen.lineTo(x, y1 + (y0 < y1 ? -6 : 6));
    pen.stroke();
    pen.beginPath();
    pen.arc(x, y0, 3, 0, 7);
    pen.moveTo(x, y1);
    pen.lineTo(x - 4, y1 + (y0 < y1 ? -7 : 7));
    pen.lineTo(x + 4, y1 + (y0 < y1 ? -7 : 7));
    pen.fill();
  }

  /** What is under the pointer: its lane, what it is, its number and its instruction. */
  at(x, y) {
    const lane = this.lanes.find((one) => y >= one.y && y < one.y + one.height);
    if (!lane || x < GUTTER) return null;
    const { track } = lane, step = this.step(x), slack = (this.to - this.from) / this.width;
    const find = (values, width, is = () => true) => {
      for (let i = values.length - width; i >= 0; i -= width) {
        if (values[i] - slack <= step && step <= values[i] + values[i + 1] + slack && is(i)) return i;
      }
      return -1;
    };
    const depth = Math.floor((y - lane.y - LANE + 1) / FLIGHT);
    if (depth >= 0) {
      const i = find(track.flights, 4, (n) => track.depth[n / 4] === depth);
      return i < 0 ? null : { lane, kind: "flight", i, row: track.flights[i + 2] };
    }
    for (const [kind, width, row] of [["phases", 6, 4], ["steps", 3, 2], ["waits", 7, 2]]) {
      const i = find(track[kind], width);
      if (i >= 0) return { lane, kind, i, row: track[kind][i + row] };
    }
    return null;
  }

  describe({ lane, kind, i, row }) {
    const { track } = lane, line = (data.ptx.lines[row] ?? "").trim().slice(0, 160);
    const values = track[kind === "flight" ? "flights" : kind];
    const when = `${track.cta}, ${track.name}, step ${values[i]}` + (kind === "steps" ? "" : ` to ${values[i] + values[i + 1]}`);
    const cause = (by, at, isCopy) => {
      if (at < 0) return "";
      const who = by >= 0 ? `${this.lanes[by].track.name} of ${this.lanes[by].track.cta}` : "a CTA that is not shown";
      return `\nended by ${isCopy ? "what was under way of " : ""}${who}:\n  ${(data.ptx.lines[at] ?? "").trim().slice(0, 160)}`;
    };
    if (kind === "steps") return `${when}\n${line}`;
    if (kind === "flight") return `${when}: ${values[i + 3]} bytes under way\n${line}`;
    if (kind === "waits") return `${when}: waits for ${this.timeline.names[values[i + 3]]}\n${line}${cause(values[i + 4], values[i + 5], values[i + 6])}`;
    return `${when}: phase ${values[i + 2]}${cause(values[i + 3], values[i + 4], values[i + 5])}`;
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    const span = Math.min(this.timeline.end, Math.max(8, (this.to - this.from) * factor));
    const share = (around - this.from) / (this.to - this.from);
    this.set(around - share * span, span);
  }

  set(from, span) {
    this.from = Math.max(0, Math.min(from, this.timeline.end - span));
    this.to = this.from + span;
    this.draw();
  }

  listen() {
    const point = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let drag = null;
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX) && this.scroll.scrollHeight > this.scroll.clientHeight + 4 && point(event)[0] < GUTTER) return;
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.set(this.from + ((event.deltaX || event.deltaY) / this.width) * (this.to - this.from), this.to - this.from);
      } else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.step(point(event)[0]));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => { drag = { x: point(event)[0], from: this.from, moved: false }; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", (event) => {
      const [x, y] = point(event);
      if (drag) {
        drag.moved ||= Math.abs(x - drag.x) > 3;
        if (drag.moved) this.set(drag.from - ((x - drag.x) / (this.width - GUTTER)) * (this.to - this.from), this.to - this.from);
        return;
      }
      const found = this.at(x, y), chosen = found?.kind === "waits" ? found : null;
      if (chosen?.i !== this.chosen?.i || chosen?.lane !== this.chosen?.lane) { this.chosen = chosen; this.draw(); }
      this.onTip(found ? this.describe(found) : "", event);
    });
    this.canvas.addEventListener("pointerleave", () => this.onTip("", null));
    this.canvas.addEventListener("pointerup", (event) => {
      const found = drag && !drag.moved ? this.at(...point(event)) : null;
      drag = null;
      if (found && found.row >= 0) this.onPick(found.row);
    });
    this.canvas.addEventListener("keydown", (event) => {
      const span = this.to - this.from, moves = { "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1.6), "0": () => this.set(0, this.timeline.end), ArrowLeft: () => this.set(this.from - span / 6, span), ArrowRight: () => this.set(this.from + span / 6, span) };
      if (!moves[event.key]) return;
      moves[event.key]();
      event.preventDefault();
      event.stopPropagation();
    });
  }
}
