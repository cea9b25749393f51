"use strict";
// Draws the figures of the page from the data beside them, and filters tables of claims. It asks nobody for anything,
// and puts names into the page as text only.
(() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const LEFT = 58, RIGHT = 10, TOP = 24, BELOW = 12, PLOT = 118, AXIS = 34;
  // With more steps of a curve, or flows, than these in view they are shown as they are from afar.
  const MOST_STEPS = 4000, MOST_BARS = 400, THICKEST = 12;
  const TIMES = [["s", 1], ["ms", 1e3], ["us", 1e6], ["ns", 1e9]];

  const shape = (parent, tag, attributes, text) => {
    const made = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  };
  const part = (parent, tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  };
  const SIZES = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]];
  const duration = (seconds) => {
    const [unit, scale] = TIMES.find(([, one]) => seconds * one >= 1) || TIMES[TIMES.length - 1];
    return `${short(seconds * scale)} ${unit}`;
  };
  const size = (bytes) => {
    const [unit, scale] = SIZES.find(([, one]) => bytes >= one) || SIZES[SIZES.length - 1];
    return `${short(bytes / scale)} ${unit}`;
  };
  const short = (value) => String(Number(value.toPrecision(4)));

  // At most about so many round numbers between two values.
  const ticks = (low, high, most) => {
    const rough = (high - low) / most || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step);
    return found;
  };
  // A number as the axis has it, without the noise of its multiplication.
  const label = (value) => String(Number(value.toPrecision(10)));

  // The last step that has begun by a time.
  const step = (times, time) => {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle + 1; else high = middle;
    }
    return low - 1;
  };

  class Figure {
    constructor(host) {
      this.host = host;
      this.data = JSON.parse(host.querySelector("script").textContent);
      this.packed = host.querySelector("script.detail");
      this.from = this.data.start;
      this.to = this.data.end;
      this.hidden = new Set();
      this.peers = [];
      this.legend = part(host, "div", "legend");
      this.svg = shape(host, "svg", { role: "img", "aria-label": this.data.rows.map((row) => row.title).join("; ") });
      this.tip = part(host, "div", "tip");
      this.tip.hidden = true;
      this.names();
      this.listen();
      new ResizeObserver(() => this.draw()).observe(host);
    }

    names() {
      const seen = new Map();
      for (const row of this.data.rows) for (const curve of row.curves) {
        if (!seen.has(curve.name)) seen.set(curve.name, curve.colour);
      }
      for (const [name, colour] of seen) {
        const button = part(this.legend, "button");
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        part(button, "i").style.background = colour;
        button.append(name);
        button.addEventListener("click", () => {
          if (!this.hidden.delete(name)) this.hidden.add(name);
          button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
          this.draw();
        });
      }
      for (const { kind, name } of this.data.shading) {
        const entry = part(this.legend, "span", "key");
        part(entry, "i", `swatch ${kind}`);
        entry.append(name);
      }
      this.reset = part(this.legend, "button", "", "whole time");
      this.reset.type = "button";
      this.reset.hidden = true;
      this.reset.addEventListener("click", () => this.zoom(this.data.start, this.data.end));
    }

    // Figures beside each other show one time.
    zoom(from, to) {
      this.zoomed(from, to);
      for (const peer of this.peers) peer.zoomed(from, to);
    }

    zoomed(from, to) {
      if (this.packed) this.unpack();
      this.from = Math.max(from, this.data.start);
      this.to = Math.min(to, this.data.end);
      this.reset.hidden = this.from === this.data.start && this.to === this.data.end;
      this.draw();
    }

    // Reads the short steps and the flows, at the first zoom.
    async unpack() {
      const packed = Uint8Array.from(atob(this.packed.textContent), (letter) => letter.charCodeAt(0));
      this.packed = null;
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
      const { rows = [], flows } = JSON.parse(await new Response(stream).text());
      for (const row of this.data.rows) {
        const finer = rows.find((one) => one.label === row.label);
        row.finer = finer?.title;
        for (const curve of finer ? row.curves : []) curve.finer = finer.curves.find((one) => one.name === curve.name);
      }
      if (flows) this.flows = this.timed(flows);
      this.draw();
      for (const peer of this.peers) peer.draw();
    }

    timed(flows) {
      let at = 0;
      flows.start = flows.start.map((later) => (at += later) / 1e9);
      flows.end = flows.start.map((start, i) => flows.fct[i] === null ? this.data.ended ?? this.data.end : start + flows.fct[i] / 1e9);
      return flows;
    }

    // A curve as it is shown: with the short steps where few of them are in view.
    shown(curve) {
      const { finer } = curve;
      if (!finer || finer.time.length <= curve.time.length) return curve;
      const steps = step(finer.time, this.to) - step(finer.time, this.from);
      return steps > MOST_STEPS ? curve : { ...finer, colour: curve.colour, isFiner: true };
    }

    // The numbers of the flows in view; none if they are too many.
    inView() {
      if (!this.flows) return [];
      const found = [], last = step(this.flows.start, this.to);
      for (let i = 0; i <= last; i += 1) {
        if (this.flows.end[i] <= this.from) continue;
        if (found.push(i) > MOST_BARS) return [];
      }
      return found;
    }

    x(time) { return LEFT + (time - this.from) / (this.to - this.from) * this.inner; }
    time(x) { return this.from + Math.min(Math.max((x - LEFT) / this.inner, 0), 1) * (this.to - this.from); }

    draw() {
      const width = this.host.clientWidth;
      if (!width) return;
      this.width = width;
      this.inner = width - LEFT - RIGHT;
      const each = TOP + PLOT + BELOW, rows = this.data.rows;
      this.each = each;
      const height = rows.length * each + AXIS;
      this.svg.replaceChildren();
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.setAttribute("height", height);
      const span = this.to - this.from;
      [this.unit, this.scale] = TIMES.find(([, scale]) => span * scale >= 2) || TIMES[TIMES.length - 1];
      const marks = ticks(this.from * this.scale, this.to * this.scale, Math.max(3, this.inner / 110));
      rows.forEach((row, number) => this.row(row, number * each + TOP, marks));
      const bottom = rows.length * each;
      for (const mark of marks) {
        shape(this.svg, "text", { x: this.x(mark / this.scale), y: bottom + 4, "text-anchor": "middle" }, label(mark));
      }
      shape(this.svg, "text", { x: LEFT + this.inner / 2, y: bottom + 22, "text-anchor": "middle" },
        `${this.data.xlabel} [${this.unit}]`);
      this.cursor = shape(this.svg, "line", { class: "cursor", y1: TOP, y2: bottom - BELOW, visibility: "hidden" });
      this.chosen = shape(this.svg, "rect", { class: "chosen", y: TOP, height: bottom - BELOW - TOP, width: 0 });
    }

    row(row, top, marks) {
      const shown = row.curves.filter((curve) => !this.hidden.has(curve.name)).map((curve) => this.shown(curve));
      const flows = row.kind === "flows" && shown.length ? this.inView() : [];
      // Rows of one name have one scale in all of them.
      const alike = this.peers.map((peer) => peer.highest(peer.data.rows.find((one) => one.label === row.label)));
      const limit = Math.max(this.highest(row), ...alike) * 1.08 || 1;
      const y = (value) => top + PLOT - Math.max(0, value) / limit * PLOT;
      this.shade(top);
      for (const mark of flows.length ? [] : ticks(0, limit, 4)) {
        shape(this.svg, "line", { class: "grid", x1: LEFT, x2: LEFT + this.inner, y1: y(mark), y2: y(mark) });
        shape(this.svg, "text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end" }, label(mark));
      }
      for (const mark of marks) {
        const x = this.x(mark / this.scale);
        shape(this.svg, "line", { class: "grid", x1: x, x2: x, y1: top, y2: top + PLOT });
      }
      shape(this.svg, "path", { class: "axis", fill: "none", d: `M${LEFT} ${top}V${top + PLOT}H${LEFT + this.inner}` });
      if (row.kind === "flows") this.bars = this.lanes(flows, top);
      if (!flows.length) for (const curve of shown) this.curve(curve, y);
      this.ending(top);
      const name = flows.length ? `Flows, the ${flows.length} in view` : `${row.label} [${row.unit}]`;
      const title = shape(this.svg, "text", { class: "title", x: 0, y: top - 8 }, name);
      shape(title, "title", {}, shown.some((curve) => curve.isFiner) ? row.finer : row.title);
    }

    // A thin line where the run has ended before the figure does.
    ending(top) {
      const { ended } = this.data;
      if (ended === null || ended <= this.from || ended >= this.to) return;
      const x = this.x(ended), isLeft = x > LEFT + this.inner - 80;
      shape(this.svg, "line", { class: "ended", x1: x, x2: x, y1: top, y2: top + PLOT });
      shape(this.svg, "text", { x: x + (isLeft ? -4 : 4), y: top + 10, "text-anchor": isLeft ? "end" : "start" },
        "end of run");
    }

    // A bar for each flow, in the first lane that is free when it starts.
    lanes(flows, top) {
      const free = [], bars = [];
      for (const i of flows) {
        const [start, end] = [this.flows.start[i], this.flows.end[i]];
        let lane = free.findIndex((until) => until <= start);
        if (lane < 0) lane = free.push(0) - 1;
        free[lane] = end;
        const x = this.x(Math.max(start, this.from));
        bars.push({ i, lane, x, width: Math.max(1.5, this.x(Math.min(end, this.to)) - x) });
      }
      const each = Math.min(THICKEST, PLOT / free.length);
      for (const bar of bars) {
        bar.y = top + bar.lane * each;
        bar.height = each * 0.8;
        shape(this.svg, "rect", { class: "flow", x: bar.x, y: bar.y, width: bar.width, height: bar.height });
      }
      return bars;
    }

    // The greatest value of a row that is shown.
    highest(row) {
      let found = 0;
      for (const curve of row ? row.curves : []) {
        if (this.hidden.has(curve.name)) continue;
        const { time, value, high } = this.shown(curve), last = step(time, this.to);
        for (let at = Math.max(0, step(time, this.from)); at <= last; at += 1) {
          found = Math.max(found, value[at] || 0, high ? high[at] || 0 : 0);
        }
      }
      return found;
    }

    shade(top) {
      for (const { kind, spans } of this.data.shading) {
        const inside = spans.filter(([start, end]) => end > this.from && start < this.to);
        // Bands that are too narrow to be told apart would only be a tone.
        if (inside.length > this.inner / 6) continue;
        for (const [start, end] of inside) {
          const x = this.x(Math.max(start, this.from));
          shape(this.svg, "rect", { class: kind, x, y: top, height: PLOT, width: this.x(Math.min(end, this.to)) - x });
        }
      }
    }

    // A value holds from its time to that of the next one.
    curve(curve, y) {
      const first = Math.max(0, step(curve.time, this.from)), last = step(curve.time, this.to);
      let line = "", gap = true;
      const up = [], down = [];
      for (let at = first; at <= last; at += 1) {
        const value = curve.value[at];
        if (value === null) { gap = true; continue; }
        const start = this.x(Math.max(curve.time[at], this.from)).toFixed(1);
        const next = at + 1 < curve.time.length ? curve.time[at + 1] : this.data.end;
        const end = this.x(Math.min(next, this.to)).toFixed(1);
        line += `${gap ? "M" : "L"}${start} ${y(value).toFixed(1)}H${end}`;
        gap = false;
        if (curve.low && curve.low[at] !== null) {
          up.push(`${start} ${y(curve.high[at]).toFixed(1)}`, `${end} ${y(curve.high[at]).toFixed(1)}`);
          down.unshift(`${end} ${y(curve.low[at]).toFixed(1)}`, `${start} ${y(curve.low[at]).toFixed(1)}`);
        }
      }
      if (up.length) {
        shape(this.svg, "path", { d: `M${up.join("L")}L${down.join("L")}Z`, fill: curve.colour, opacity: 0.22 });
      }
      const dash = curve.dash ? { "stroke-dasharray": curve.dash } : {};
      shape(this.svg, "path", { d: line || "M0 0", fill: "none", stroke: curve.colour, "stroke-width": 1.4, ...dash });
    }

    listen() {
      let start = null;
      const place = (event) => {
        const box = this.svg.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
      this.svg.addEventListener("pointerdown", (event) => {
        [start] = place(event);
        this.svg.setPointerCapture(event.pointerId);
        this.show(...place(event));
      });
      this.svg.addEventListener("pointermove", (event) => {
        const [x, y] = place(event);
        this.show(x, y);
        if (start === null) return;
        this.chosen.setAttribute("x", Math.max(LEFT, Math.min(start, x)));
        this.chosen.setAttribute("width", Math.abs(x - start));
      });
      this.svg.addEventListener("pointerup", (event) => {
        const [x] = place(event), from = start;
        start = null;
        this.chosen.setAttribute("width", 0);
        if (from === null || Math.abs(x - from) < 8) return;
        const [one, other] = [this.time(from), this.time(x)];
        if (one !== other) this.zoom(Math.min(one, other), Math.max(one, other));
      });
      this.svg.addEventListener("pointercancel", () => {
        start = null;
        this.chosen.setAttribute("width", 0);
        this.hide();
      });
      this.svg.addEventListener("pointerleave", () => this.hide());
      this.svg.addEventListener("dblclick", () => this.zoom(this.data.start, this.data.end));
    }

    hide() {
      for (const one of [this, ...this.peers]) {
        one.tip.hidden = true;
        if (one.cursor) one.cursor.setAttribute("visibility", "hidden");
      }
    }

    // A time in the axis' unit, to a thousandth of what is in view.
    precise(time) {
      const power = Math.floor(Math.log10((this.to - this.from) * this.scale));
      return (time * this.scale).toFixed(Math.min(Math.max(3 - power, 0), 9));
    }

    // What is known of a flow, in the tip.
    flow(i) {
      const { name, start, fct, bytes, slowdown } = this.flows;
      const facts = [
        ["flow", name[i]], ["size", bytes[i] === null ? "unlimited" : size(bytes[i])], ["start", duration(start[i])],
        ["FCT", fct[i] === null ? "did not end" : duration(fct[i] / 1e9)],
        ["slowdown", slowdown[i] === null ? "-" : short(slowdown[i])],
      ];
      for (const [fact, value] of facts) {
        const line = part(this.tip, "div");
        part(line, "span", "", fact);
        part(line, "b", "", value);
      }
    }

    // Shows the time of the pointer, without a tip: that is for the figure under it.
    mark(time) {
      if (!this.cursor) return;
      for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.x(time));
      this.cursor.setAttribute("visibility", "visible");
    }

    show(x, y) {
      const row = this.data.rows[Math.floor(y / this.each)];
      if (!row || x < LEFT || x > LEFT + this.inner) { this.hide(); return; }
      const time = this.time(x);
      for (const one of [this, ...this.peers]) one.mark(time);
      this.tip.replaceChildren();
      part(this.tip, "strong", "", `${this.precise(time)} ${this.unit}`);
      const bar = row.kind === "flows" && this.bars.find((one) => x >= one.x - 2 && x <= one.x + one.width + 2
        && y >= one.y - 1 && y <= one.y + one.height + 1);
      if (bar) this.flow(bar.i);
      for (const given of bar ? [] : row.curves.filter((one) => !this.hidden.has(one.name))) {
        const curve = this.shown(given);
        const at = step(curve.time, time), value = at < 0 ? null : curve.value[at];
        const line = part(this.tip, "div");
        part(line, "i").style.background = curve.colour;
        part(line, "span", "", curve.name);
        part(line, "b", "", value === null ? "-" : `${short(value)} ${row.unit}`);
      }
      this.tip.hidden = false;
      const wide = this.tip.offsetWidth, from = this.svg.offsetTop || this.legend.offsetHeight + 8;
      this.tip.style.left = `${x + wide + 16 > this.width ? Math.max(0, x - wide - 12) : x + 12}px`;
      this.tip.style.top = `${from + y + 14}px`;
    }
  }

  const figures = new Map();
  for (const host of document.querySelectorAll(".figure")) figures.set(host, new Figure(host));
  for (const beside of document.querySelectorAll(".beside")) {
    const together = [...beside.querySelectorAll(".figure")].map((host) => figures.get(host));
    for (const one of together) one.peers = together.filter((other) => other !== one);
  }

  for (const button of document.querySelectorAll(".filter button")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const cell of button.closest("section").querySelectorAll("td .verdict")) {
        if (cell.textContent === button.dataset.verdict) cell.closest("tr").hidden = !shown;
      }
    });
  }
})();
