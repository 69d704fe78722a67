"use strict";
// Pictures over the drive's clock, as SVG: axes with few marks, lines, and bars that stand on one another. Colours come
// from the style sheet by class, so that a change of theme needs no drawing.

const element = (id) => document.getElementById(id);
const digits = (value) => (value === 0 ? "0" : String(Number(value.toPrecision(3))));

/** A value in the largest of the units that keeps it at least one. */
function scaled(value, units) {
  let [name, factor] = units[0];
  for (const [larger, size] of units) {
    if (Math.abs(value) >= size) [name, factor] = [larger, size];
  }
  return digits(value / factor) + " " + name;
}

const TIMES = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]];
const RATES = [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]];
const PAGES = [["pages/s", 1], ["1000 pages/s", 1e3], ["million pages/s", 1e6]];
const time = (ns) => scaled(ns, TIMES);
const rate = (value) => scaled(value, RATES);
const size = (value) => scaled(value, [["B", 1], ["KiB", 1024], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]]);
const count = (value) => Math.round(value).toLocaleString("en");
const share = (part, whole) => (whole > 0 ? Number((100 * part / whole).toFixed(1)) : 0) + " %";

/** An element of a picture. */
function drawn(kind, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Round numbers from `low` to `high`, about `wanted` of them. */
function marks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-12); at += 1) found.push(at * step);
  return found;
}

/** The unit of a scale whose largest number is this, and its factor. */
function unitOf(most, units) {
  let unit = units[0];
  for (const larger of units) {
    if (most >= larger[1]) unit = larger;
  }
  return unit;
}

/** A mark in its unit, without the noise of fractions. */
const marked = (value, factor) => String(Number((value / factor).toPrecision(6)));

const LEFT = 50, RIGHT = 10, TOP = 20, BOTTOM = 34;

/**
 * Draws a picture: `lines` of points [ns, value, ...] with a class, and `bars` of [from, to, [value, ...]] with the
 * classes of their values. A value that is null interrupts a line. `units` are those of the vertical axis, which is
 * logarithmic if that is said.
 */
function draw(svg, { span: [from, to], lines = [], bars = [], classes = [], units, isLog = false, least = 0 }) {
  const { width, height } = svg.getBoundingClientRect();
  if (width === 0) return;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value).filter((value) => value !== null));
  const sums = bars.map(([, , parts]) => parts.reduce((sum, part) => sum + part, 0));
  const [right, bottom] = [width - RIGHT, height - BOTTOM];
  const parts = [];
  const isEmpty = values.length + sums.length === 0 || to <= from;
  let [low, high] = [least, [...values, ...sums].reduce((most, value) => Math.max(most, value), 0)];
  let ticks;
  if (isLog) {
    const positive = values.filter((value) => value > 0);
    low = 10 ** Math.floor(Math.log10(positive.reduce((fewest, value) => Math.min(fewest, value), high || 1)) + 1e-9);
    high = 10 ** Math.ceil(Math.log10(Math.max(high, low * 1.01)) - 1e-9);
    ticks = [];
    for (let at = low; at <= high * 1.01; at *= 10) ticks.push(at);
  } else {
    high = Math.max(high, least) > low ? high * 1.08 : low + 1;
    ticks = marks(low, high, 4);
  }
  const y = (value) => (isLog
    ? bottom - (Math.log(Math.max(value, low)) - Math.log(low)) / (Math.log(high) - Math.log(low)) * (bottom - TOP)
    : bottom - (value - low) / (high - low) * (bottom - TOP));
  const x = (ns) => LEFT + (ns - from) / (to - from) * (right - LEFT);

  const [verticalUnit, factor] = unitOf(high, units);
  if (!isEmpty) {
    for (const tick of ticks) {
      const at = y(tick).toFixed(1);
      parts.push(drawn("path", { class: "grid", d: `M${LEFT} ${at}H${right}` }));
      const label = isLog ? time(tick) : marked(tick, factor);
      parts.push(drawn("text", { x: LEFT - 5, y: Number(at) + 4, "text-anchor": "end" }, label));
    }
    parts.push(drawn("text", { class: "unit", x: 2, y: 11 }, isLog ? "" : verticalUnit));
    const [clockUnit, clockFactor] = unitOf(to - from > 1e7 ? Math.max(to - from, 1e9) : to - from, TIMES);
    for (const tick of marks(from, to, Math.max(2, Math.floor((right - LEFT) / 55)))) {
      const at = x(tick);
      parts.push(drawn("path", { class: "axis", d: `M${at.toFixed(1)} ${bottom}v4` }));
      if (at > LEFT + 12 && at < right - 12) {
        const [where, text] = [{ x: at.toFixed(1), y: bottom + 16 }, marked(tick, clockFactor)];
        parts.push(drawn("text", { ...where, "text-anchor": "middle" }, text));
      }
    }
    const clock = { class: "unit", x: right, y: height - 3, "text-anchor": "end" };
    parts.push(drawn("text", clock, `the drive's clock, ${clockUnit}`));
  } else {
    const middle = { class: "unit", x: (LEFT + right) / 2, y: (TOP + bottom) / 2, "text-anchor": "middle" };
    parts.push(drawn("text", middle, "No requests yet"));
  }
  parts.push(drawn("path", { class: "axis", d: `M${LEFT} ${bottom}H${right}` }));

  if (!isEmpty) {
    const beneath = bars.map(() => 0);
    classes.forEach((name, at) => {
      const path = bars.map(([since, until, stack], bar) => {
        if (stack[at] === 0) return "";
        const [foot, head] = [y(beneath[bar]), y(beneath[bar] += stack[at])].map((value) => value.toFixed(1));
        const [left, end] = [x(since), Math.max(x(until), x(since) + 0.7)].map((value) => value.toFixed(1));
        return `M${left} ${foot}V${head}H${end}V${foot}Z`;
      });
      parts.push(drawn("path", { class: `area ${name}`, d: path.join("") }));
    });
    for (const { points, name } of lines) {
      let pen = "M";
      const path = points.map(([at, value], number) => {
        if (value === null) {
          pen = "M";
          return "";
        }
        const place = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
        // A point that stands alone is drawn, too.
        const isAlone = pen === "M" && (number + 1 === points.length || points[number + 1][1] === null);
        const step = isAlone ? `M${place}h1` : pen + place;
        pen = "L";
        return step;
      });
      parts.push(drawn("path", { class: `line ${name}`, d: path.join("") }));
    }
  }
  svg.replaceChildren(...parts);
}

/** A bar of parts [class, value] of a whole, which is not less than their sum. */
function bar(parts, whole) {
  const svg = drawn("svg", { class: "bar", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" });
  let from = 0;
  for (const [name, value] of parts) {
    const width = whole > 0 ? 100 * value / whole : 0;
    svg.append(drawn("rect", { class: `area ${name}`, x: from.toFixed(3), y: 0, width: width.toFixed(3), height: 1 }));
    from += width;
  }
  return svg;
}
