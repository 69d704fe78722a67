"use strict";
// Draws the pictures of a report: the numbers come from the page, the drawing is Apache ECharts'.

// The library keeps the widths of texts in a plain object, by the text: one that every object has (`__proto__`,
// `constructor`) would be found there, and written to. Such names, which come from files, begin with a space.
const INHERITED = Object.getOwnPropertyNames(Object.prototype);
const named = (_, value) =>
  (typeof value === "string" && INHERITED.some((name) => value.startsWith(name)) ? " " + value : value);
const specs = JSON.parse(document.getElementById("charts").textContent, named);

// Lines have colours that both themes and most eyes tell apart (after Okabe and Ito, 2008).
const LINES = {
  light: ["#0072b2", "#d55e00", "#007a5a", "#b3567f", "#a07a00", "#3d9ccf", "#5b6472", "#7d3fa8"],
  dark: ["#56b4e9", "#ff9a4d", "#2fd0a0", "#f0a3c8", "#f0d34a", "#8fd0ff", "#b7c0cc", "#c59bf0"],
};
// Causes of latency, by the part of the path: the host, the drive's front, its dies, the service itself.
const CAUSES = {
  nr_requests: "#1f4e79", tag: "#3b82c4", scheduler: "#93c1ea", controller: "#5b4a8a", link: "#8b7fc0",
  flush: "#b8aee0", slot: "#7c3f7c", host_read: "#2e7d4f", host_program: "#74b884", collection: "#d1495b",
  merge: "#e58a2b", map: "#f2c14e", wear: "#a65a2e", erase: "#7a1f2b", suspension: "#b0a18f", channel: "#6d7a88",
  served: "#22a6a1",
};
const HEAT = {
  light: ["#f2f6fa", "#b9d7ee", "#6aaed6", "#2879b9", "#08306b"],
  dark: ["#1d232d", "#1f4e79", "#2f86c1", "#7cc4f0", "#e8f6ff"],
};
const NINES = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"];

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const digits = (value) => (value === 0 ? "0" : String(Number(value.toPrecision(3))));

/** A value in the largest unit that keeps it at least one. */
function scaled(value, units) {
  let [name, factor] = units[0];
  for (const [larger, size] of units) {
    if (Math.abs(value) >= size) [name, factor] = [larger, size];
  }
  return digits(value / factor) + " " + name;
}

const FORMATS = {
  time: (ns) => scaled(ns, [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]]),
  rate: (value) => scaled(value, [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]]),
  size: (value) => scaled(value, [["B", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824]]),
  number: (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : digits(value)),
  share: (value) => digits(value * 100) + " %",
  erases: (value) => digits(value) + " erases",
};
const seconds = (value) => digits(value) + " s";
// The library writes tooltips as HTML; names come from files.
const escaped = (text) => echarts.format.encodeHTML(String(text));

function axis(options) {
  return Object.assign({
    axisLine: { lineStyle: { color: css("--quiet") } },
    axisLabel: { color: css("--ink"), hideOverlap: true },
    nameTextStyle: { color: css("--quiet") },
    splitLine: { lineStyle: { color: css("--line") } },
    nameLocation: "middle",
  }, options);
}

function base(theme, options) {
  return Object.assign({
    animation: false,
    backgroundColor: "transparent",
    color: LINES[theme],
    textStyle: { fontFamily: "system-ui, sans-serif", color: css("--ink") },
    grid: { left: 80, right: 24, top: 48, bottom: 52 },
    legend: {
      top: 4, itemWidth: 34, type: "scroll", textStyle: { color: css("--ink") }, pageTextStyle: { color: css("--ink") },
    },
    tooltip: {
      backgroundColor: css("--page"), borderColor: css("--line"), textStyle: { color: css("--ink") }, confine: true,
    },
  }, options);
}

/** Dashes tell lines apart where colours do not: on paper, to some eyes. */
const dash = (at) => ["solid", "dashed", "dotted"][at % 3];

function percentiles(spec, theme) {
  const options = base(theme, {
    xAxis: axis({
      type: "value", min: 0, max: 4, interval: 1, name: "share of requests", nameGap: 30,
      axisLabel: { color: css("--ink"), formatter: (nines) => NINES[nines] ?? "" },
    }),
    yAxis: axis({ type: "log", axisLabel: { color: css("--ink"), formatter: FORMATS.time } }),
    series: spec.lines.map(({ name, points }, at) => ({
      name, type: "line", showSymbol: points.length === 7, lineStyle: { width: 2, type: dash(at) },
      data: points.map(([nines, ns]) => [nines, Math.max(ns, 1)]),
    })),
  });
  const share = (nines) => digits(100 - 100 / 10 ** nines) + " %";
  options.tooltip.formatter = ({ seriesName, value: [nines, ns] }) =>
    escaped(`${seriesName}: ${share(nines)} within ${FORMATS.time(ns)}`);
  return options;
}

function lines(spec, theme) {
  const format = FORMATS[spec.unit];
  const options = base(theme, {
    xAxis: axis({ type: "value", max: spec.x.at(-1), name: "simulated time in s", nameGap: 30,
      axisLabel: { color: css("--ink"), showMaxLabel: false } }),
    yAxis: axis({
      type: spec.unit === "time" ? "log" : "value", scale: spec.unit === "time",
      axisLabel: { color: css("--ink"), formatter: format },
    }),
    series: spec.lines.map(({ name, values }, at) => ({
      name, type: "line", showSymbol: values.length === 1, lineStyle: { width: 1.5, type: dash(at) },
      data: values.map((value, point) => [spec.x[point], value]),
    })),
  });
  options.legend.show = spec.lines.length > 1;
  options.tooltip.trigger = "axis";
  options.tooltip.formatter = (points) => [seconds(points[0].value[0])].concat(points
    .filter(({ value }) => value[1] !== null && value[1] !== undefined)
    .map(({ seriesName, value }) => escaped(`${seriesName}: ${format(value[1])}`))).join("<br>");
  return options;
}

function stack(spec, theme) {
  const label = { color: css("--ink"), width: 190, overflow: "truncate" };
  const options = base(theme, {
    grid: { left: 210, right: 32, top: 64, bottom: 52 },
    xAxis: axis({ type: "value", axisLabel: { color: css("--ink"), formatter: FORMATS.time },
      name: "mean latency", nameGap: 30 }),
    yAxis: axis({ type: "category", inverse: true, data: spec.bars, axisLabel: label }),
    series: spec.causes.map(({ name, values }) => ({
      name, type: "bar", stack: "causes", data: values, barMaxWidth: 34,
      itemStyle: { color: CAUSES[name], borderColor: css("--page"), borderWidth: 0.5 },
    })),
  });
  options.legend.type = "plain";
  options.tooltip.formatter = ({ name, seriesName, value }) =>
    escaped(`${name}, ${seriesName}: ${FORMATS.time(value)}`);
  return options;
}

function heat(spec, theme) {
  const format = FORMATS[spec.unit];
  const isTime = spec.unit === "share";
  const cells = spec.rows.flatMap((row, y) => row.map((value, x) => [x, y, value]));
  const column = (at) => (isTime ? seconds(spec.columns[at]) : "block " + spec.columns[at]);
  const [least, most] = cells.reduce(([low, high], [, , v]) => [Math.min(low, v), Math.max(high, v)], [Infinity, 0]);
  // Shares to the next tenth, so that colours of two maps can be compared and those of an idle one still differ.
  const top = isTime ? 0.1 * Math.max(1, Math.ceil(10 * most - 1e-9)) : most;
  const options = base(theme, {
    grid: { left: 110, right: 24, top: 16, bottom: 96 },
    xAxis: axis({ type: "category", data: spec.columns.map((_, at) => column(at)), splitLine: { show: false },
      name: isTime ? "simulated time" : "place in the plane", nameGap: 30 }),
    yAxis: axis({ type: "category", inverse: true, data: spec.names, splitLine: { show: false } }),
    visualMap: {
      min: isTime ? 0 : Math.min(least, most), max: top, orient: "horizontal", left: "center", bottom: 0,
      calculable: false, text: [format(top), format(isTime ? 0 : least)], itemHeight: 160,
      textStyle: { color: css("--ink") }, inRange: { color: HEAT[theme] },
    },
    series: [{ type: "heatmap", data: cells, progressive: 0 }],
  });
  options.tooltip.formatter = ({ value: [x, y, value] }) =>
    escaped(`${spec.names[y]}, ${column(x)}: ${format(value)}`);
  return options;
}

function front(spec, theme) {
  const sorted = [...spec.points].sort((a, b) => a[0] - b[0]);
  const middle = (sorted[0][0] + sorted.at(-1)[0]) / 2;
  const named = (isOn) => sorted.filter((point) => point[3] === isOn).map((value) => ({
    value, label: { position: value[0] > middle ? "left" : "right" },
  }));
  const format = FORMATS[spec.unit];
  const label = { show: true, color: css("--ink"), distance: 8, formatter: ({ value }) => value[2] };
  const common = { encode: { x: 0, y: 1 }, label, labelLayout: { hideOverlap: true } };
  // Of many runs only those on the front have their names beside them.
  const isCrowded = sorted.length > 40;
  const options = base(theme, {
    grid: { left: 96, right: 32, top: 48, bottom: 52 },
    xAxis: axis({ type: "value", scale: true, name: spec.x, nameGap: 30 }),
    yAxis: axis({ type: "value", scale: true, name: spec.y, nameGap: 72,
      axisLabel: { color: css("--ink"), formatter: format } }),
    series: [
      { ...common, name: "on the front", type: "line", step: "end", symbol: "circle", symbolSize: 11,
        data: named(true) },
      { ...common, name: "other runs", type: "scatter", symbol: "diamond", symbolSize: isCrowded ? 6 : 11,
        label: { ...label, show: !isCrowded }, data: named(false) },
    ],
  });
  options.legend.itemWidth = 14;
  options.tooltip.formatter = ({ value: [x, y, name] }) =>
    escaped(`${name}: ${FORMATS.number(x)} ${spec.x}, ${format(y)}`);
  return options;
}

/** Whether numbers are to be seen on a logarithmic axis. */
function wide(numbers) {
  const [least, most] = numbers.reduce(([low, high], n) => [Math.min(low, n), Math.max(high, n)], [Infinity, 0]);
  return least > 0 && most >= 30 * least;
}

/** A point for each combination; values have places, or stand to scale. */
function values(spec, theme) {
  const format = FORMATS[spec.unit];
  const numbers = spec.points.map(([x]) => x);
  const ends = { min: numbers.reduce((a, b) => Math.min(a, b)), max: numbers.reduce((a, b) => Math.max(a, b)) };
  const scale = { type: wide(numbers) ? "log" : "value", scale: true, ...ends };
  const place = (x) => (spec.places ? spec.places[x] : FORMATS[spec.measure](x));
  const options = base(theme, {
    grid: { left: 96, right: 32, top: 48, bottom: 52 },
    xAxis: axis({
      ...(spec.places ? { type: "category", data: spec.places } : scale), name: spec.key, nameGap: 30,
      axisLabel: { color: css("--ink"), hideOverlap: true, ...(spec.places ? {} : { formatter: place }) },
    }),
    yAxis: axis({
      type: wide(spec.points.map(([, y]) => y)) ? "log" : "value", scale: true, name: spec.y, nameGap: 72,
      axisLabel: { color: css("--ink"), formatter: format },
    }),
    series: [
      { name: "mean", type: "line", symbol: "diamond", symbolSize: 11, z: 3,
        lineStyle: { width: spec.joined ? 2 : 0 },
        data: spec.means },
      { name: "combinations", type: "scatter", symbolSize: 6, itemStyle: { opacity: 0.6 },
        data: spec.points },
    ],
  });
  options.legend.itemWidth = 14;
  options.tooltip.formatter = ({ seriesName, value: [x, y, name] }) =>
    escaped(seriesName === "mean" ? `${name}: mean ${format(y)}` : `${name}: ${format(y)}`);
  return options;
}

const KINDS = { percentiles, lines, stack, heat, front, values };
let charts = [];

function draw(theme) {
  document.documentElement.dataset.theme = theme;
  charts.forEach(({ chart }) => chart.dispose());
  charts = specs.map(({ id, kind, spec }) => {
    const element = document.getElementById(id);
    if (kind === "heat") element.style.height = Math.max(180, 130 + 16 * spec.names.length) + "px";
    const chart = echarts.init(element, null, { renderer: "svg" });
    chart.setOption(KINDS[kind](spec, theme));
    return { chart, element };
  });
}

/** Arrow keys show one point after the other of a picture that has the focus, as the pointer does. */
function step(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const drawn = charts.find(({ element }) => element === event.target);
  if (!by || !drawn) return;
  const { data } = drawn.chart.getOption().series[0];
  const isEmpty = (point) => Array.isArray(point) && (point[1] === null || point[1] === undefined);
  let point = drawn.point ?? (by > 0 ? -1 : 0);
  for (let left = data.length; left > 0; left -= 1) {
    point = (point + by + data.length) % data.length;
    if (!isEmpty(data[point])) break;
  }
  drawn.point = point;
  drawn.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: drawn.point });
  event.preventDefault();
}

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
let theme = prefersDark.matches ? "dark" : "light";

function choose(chosen) {
  theme = chosen;
  button.setAttribute("aria-pressed", String(theme === "dark"));
  draw(theme);
}

button.addEventListener("click", () => choose(theme === "dark" ? "light" : "dark"));
prefersDark.addEventListener("change", () => choose(prefersDark.matches ? "dark" : "light"));
document.addEventListener("keydown", step);
window.addEventListener("resize", () => charts.forEach(({ chart }) => chart.resize()));
// Paper is white, and narrower than most windows.
window.addEventListener("beforeprint", () => {
  draw("light");
  charts.forEach(({ chart }) => chart.resize({ width: 680 }));
});
window.addEventListener("afterprint", () => draw(theme));
choose(theme);
