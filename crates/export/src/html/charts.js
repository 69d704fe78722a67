"use strict";
// Pictures of a report: the numbers come from the page, the drawing is Apache ECharts'. Each kind of picture is a
// function of its numbers that returns the library's options and the items of the legend.

// The library keeps the widths of texts in a plain object, by the text: one that every object has (`__proto__`,
// `constructor`) would be found there, and written to. Such names, which come from files, begin with a space.
const INHERITED = Object.getOwnPropertyNames(Object.prototype);
const harmless = (_, value) =>
  (typeof value === "string" && INHERITED.some((name) => value.startsWith(name)) ? " " + value : value);
const specs = JSON.parse(document.getElementById("charts").textContent, harmless);

// Colours of lines, which eyes that lack one kind of cones tell apart, too: tests/html/palette.rs computes how far they
// are from one another and from the page. Dashes do the same on paper.
const LINES = {
  light: ["#0c54b4", "#d86c18", "#601848", "#309c90", "#9c78fc", "#605400", "#300c90", "#84486c"],
  dark: ["#18b4f0", "#f09060", "#c03c60", "#84fcf0", "#fce40c", "#6c60d8", "#c078a8", "#c06c0c"],
};
const DASHES = [[], [9, 4], [2, 3], [9, 3, 2, 3], [5, 3], [9, 3, 2, 3, 2, 3], [16, 4], [1, 5]];
// Causes of latency, by the part of the path: the host, the drive's front, its dies, the service itself.
const CAUSES = {
  nr_requests: "#1f4e79", tag: "#3b82c4", scheduler: "#93c1ea", controller: "#5b4a8a", link: "#8b7fc0",
  flush: "#b8aee0", slot: "#7c3f7c", host_read: "#2e7d4f", host_program: "#74b884", collection: "#d1495b",
  merge: "#e58a2b", map: "#f2c14e", wear: "#a65a2e", erase: "#7a1f2b", suspension: "#b0a18f", channel: "#6d7a88",
  served: "#22a6a1", retry: "#0e5a57", fold: "#e8a3ab",
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

/** The least and the largest of some numbers. */
const extent = (numbers) =>
  numbers.reduce(([low, high], n) => [Math.min(low, n), Math.max(high, n)], [Infinity, -Infinity]);

function axis({ axisLabel, ...options }) {
  return {
    axisLine: { lineStyle: { color: css("--quiet") } },
    // Far enough from the line that the first labels of both axes do not meet in the corner.
    axisLabel: { color: css("--ink"), hideOverlap: true, margin: 12, ...axisLabel },
    nameTextStyle: { color: css("--quiet") },
    splitLine: { lineStyle: { color: css("--line") } },
    nameLocation: "middle",
    nameGap: 30,
    ...options,
  };
}

/** What a vertical axis is called stands above it, where it takes no width. */
const upright = (name) => ({ name, nameLocation: "end", nameGap: 14,
  nameTextStyle: { color: css("--quiet"), align: "left", padding: [0, 0, 0, -56] } });

/** Marks of a logarithmic axis: powers of ten, or more of them where there are few. */
function marks(min, max) {
  const among = (steps) => {
    const found = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power += 1) {
      found.push(...steps.map((step) => Number(`${step}e${power}`)));
    }
    return found.filter((mark) => mark >= min && mark <= max);
  };
  const every = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]].map(among);
  return every.find((found) => found.length >= 4) ?? every.at(-1);
}

/** Numbers that are far apart lie on a logarithmic axis. */
function isWide(numbers, times) {
  const [least, most] = extent(numbers);
  return least > 0 && most >= times * least;
}

/** An axis that begins where its numbers do: a logarithmic one begins and ends just beyond them, another at zero
    unless it would be empty up to half. */
function fitted(numbers, isLogarithmic, { axisLabel, ...options }) {
  const [least, most] = extent(numbers);
  if (!isLogarithmic) {
    return axis({ type: "value", scale: !(least <= most / 2), axisLabel, ...options });
  }
  const [min, max] = [least / 1.1, most * 1.1];
  const customValues = marks(min, max);
  return axis({
    type: "log", min, max, axisTick: { customValues }, axisLabel: { customValues, ...axisLabel }, ...options,
    splitLine: { customValues, lineStyle: { color: css("--line") } },
  });
}

function base(theme, options) {
  return {
    animation: false,
    backgroundColor: "transparent",
    color: LINES[theme],
    textStyle: { fontFamily: "system-ui, sans-serif", color: css("--ink") },
    grid: { left: 64, right: 30, top: 36, bottom: 48 },
    // The page has legends of its own; this one only knows what they have hidden.
    legend: { show: false },
    tooltip: {
      backgroundColor: css("--page"), borderColor: css("--line"), textStyle: { color: css("--ink") }, confine: true,
    },
    ...options,
  };
}

/** Items of a legend for lines, by name. */
const lined = (names, theme) => names.map((name, at) => ({ name, colour: LINES[theme][at % 8], dash: DASHES[at % 8] }));

function percentiles({ lines }, theme) {
  // The quickest hundredth of the requests would have most of the picture to itself.
  const numbers = lines.flatMap(({ points }) => points.filter(([nines]) => nines >= -Math.log10(0.99)))
    .map(([, ns]) => ns).filter((ns) => ns > 0);
  const isLogarithmic = isWide(numbers, 3);
  const y = fitted(numbers, isLogarithmic, { ...upright("latency"), axisLabel: { formatter: FORMATS.time } });
  // What is below the axis lies on its lower edge.
  const drawn = (ns) => Math.max(ns, isLogarithmic ? y.min : extent(numbers)[0]);
  const options = base(theme, {
    xAxis: axis({
      type: "value", min: 0, max: NINES.length - 1, interval: 1, name: "share of requests",
      axisLabel: { formatter: (nines) => NINES[nines] ?? "" },
    }),
    yAxis: y,
    series: lines.map(({ points }, at) => ({
      name: String(at), type: "line", showSymbol: points.length <= 7, lineStyle: { width: 2, type: DASHES[at % 8] },
      data: points.map(([nines, ns]) => [nines, drawn(ns), ns]),
    })),
  });
  const share = (nines) => digits(100 - 100 / 10 ** nines) + " %";
  options.tooltip.formatter = ({ seriesIndex, value: [nines, , ns] }) =>
    escaped(`${lines[seriesIndex].name}: ${share(nines)} within ${FORMATS.time(ns)}`);
  return { options, items: lined(lines.map(({ name }) => name), theme) };
}

function lines(spec, theme) {
  const format = FORMATS[spec.unit];
  const isGiven = (value) => value !== null && value !== undefined;
  const numbers = spec.lines.flatMap(({ values }) => values.filter(isGiven));
  const isLogarithmic = spec.unit === "time" && isWide(numbers, 3);
  const options = base(theme, {
    grid: { left: 64, right: 30, top: 14, bottom: 48 },
    xAxis: axis({
      type: "value", max: spec.x.at(-1), name: "simulated time in s", axisLabel: { showMaxLabel: false },
    }),
    yAxis: fitted(numbers, isLogarithmic, { axisLabel: { formatter: format } }),
    series: spec.lines.map(({ values }, at) => ({
      name: String(at), type: "line", showSymbol: values.length === 1, lineStyle: { width: 1.5, type: DASHES[at % 8] },
      data: values.map((value, point) => [spec.x[point], value]),
    })),
  });
  options.tooltip.trigger = "axis";
  options.tooltip.formatter = (points) => [seconds(points[0].value[0])].concat(points
    .filter(({ value }) => isGiven(value[1]))
    .map(({ seriesIndex, value }) => escaped(`${spec.lines[seriesIndex].name}: ${format(value[1])}`))).join("<br>");
  const names = spec.lines.map(({ name }) => name);
  return { options, items: names.length > 1 ? lined(names, theme) : [] };
}

const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif";

/** A text in at most three lines that fit a width. The library would measure each line that it breaks by itself, and
    so find a name that every object has; here such lines are made harmless. */
function wrapped(text, width) {
  const fits = (line) => pen.measureText(line).width <= width;
  const lines = [""];
  for (const piece of text.split(/(?<= )/).flatMap((word) => (fits(word) ? [word] : [...word]))) {
    if (lines.at(-1) !== "" && !fits(lines.at(-1) + piece.trim())) lines.push("");
    lines.push(lines.pop() + piece);
  }
  if (lines.length > 3) lines.splice(2, Infinity, lines[2].slice(0, -2) + "...");
  return lines.map((line) => harmless("", line.trim())).join("\n");
}

function stack({ bars, causes }, theme, width) {
  const room = Math.min(190, 0.3 * width);
  const options = base(theme, {
    grid: { left: room + 20, right: 30, top: 12, bottom: 48 },
    xAxis: axis({ type: "value", axisLabel: { formatter: FORMATS.time }, name: "mean latency" }),
    yAxis: axis({ type: "category", inverse: true, data: bars.map((name) => wrapped(name, room)),
      axisLabel: { lineHeight: 14, hideOverlap: false, interval: 0 } }),
    series: causes.map(({ name, values }, at) => ({
      name: String(at), type: "bar", stack: "causes", data: values, barMaxWidth: 34,
      itemStyle: { color: CAUSES[name], borderColor: css("--page"), borderWidth: 0.5 },
    })),
  });
  options.tooltip.formatter = ({ dataIndex, seriesIndex, value }) =>
    escaped(`${bars[dataIndex]}, ${causes[seriesIndex].name}: ${FORMATS.time(value)}`);
  const items = causes.map(({ name }) => ({ name, colour: CAUSES[name], symbol: "rect" }));
  return { options, items, height: 80 + 52 * bars.length };
}

function heat(spec, theme) {
  const format = FORMATS[spec.unit];
  const isTime = spec.unit === "share";
  const cells = spec.rows.flatMap((row, y) => row.map((value, x) => [x, y, value]));
  const column = (at) => (isTime ? seconds(spec.columns[at]) : "block " + spec.columns[at]);
  const [least, most] = extent(cells.map(([, , value]) => value).concat(0));
  // Shares to the next tenth, so that colours of two maps can be compared and those of an idle one still differ.
  const top = isTime ? 0.1 * Math.max(1, Math.ceil(10 * most - 1e-9)) : most;
  const bottom = isTime ? 0 : Math.min(...extent(cells.map(([, , value]) => value)));
  const options = base(theme, {
    grid: { left: 84, right: 24, top: 16, bottom: 96 },
    xAxis: axis({ type: "category", data: spec.columns.map((_, at) => column(at)), splitLine: { show: false },
      name: isTime ? "simulated time" : "place in the plane" }),
    yAxis: axis({ type: "category", inverse: true, data: spec.names, splitLine: { show: false } }),
    visualMap: {
      min: bottom, max: top, orient: "horizontal", left: "center", bottom: 0,
      calculable: false, text: [format(top), format(bottom)], itemHeight: 160,
      textStyle: { color: css("--ink") }, inRange: { color: HEAT[theme] },
    },
    series: [{ type: "heatmap", data: cells, progressive: 0 }],
  });
  options.tooltip.formatter = ({ value: [x, y, value] }) =>
    escaped(`${spec.names[y]}, ${column(x)}: ${format(value)}`);
  return { options, items: [], height: Math.max(180, 130 + 16 * spec.names.length) };
}

/** A point for each combination; values have places, or stand to scale. */
function values(spec, theme) {
  const format = FORMATS[spec.unit];
  const place = (x) => (spec.places ? spec.places[x] : FORMATS[spec.measure](x));
  const numbers = spec.points.map(([x]) => x);
  const [min, max] = extent(numbers);
  const heights = spec.points.map(([, y]) => y);
  const [light, strong] = [LINES[theme][1], LINES[theme][0]];
  const options = base(theme, {
    xAxis: axis(spec.places ? { type: "category", data: spec.places, name: spec.key }
      : { type: isWide(numbers, 30) ? "log" : "value", scale: true, min, max, name: spec.key,
        axisLabel: { formatter: place } }),
    yAxis: fitted(heights, isWide(heights, 30), { ...upright(spec.y), axisLabel: { formatter: format } }),
    series: [
      { name: "0", type: "line", symbol: "diamond", symbolSize: 11, z: 3, data: spec.means,
        lineStyle: { width: spec.joined ? 2 : 0 } },
      { name: "1", type: "scatter", symbolSize: 6, itemStyle: { opacity: 0.6 }, data: spec.points },
    ],
  });
  options.tooltip.formatter = ({ seriesIndex, value: [, y, name] }) =>
    escaped(seriesIndex === 0 ? `${name}: mean ${format(y)}` : `${name}: ${format(y)}`);
  const items = [
    { name: "mean", colour: strong, symbol: "diamond", dash: spec.joined ? [] : undefined },
    { name: "combinations", colour: light, symbol: "circle" },
  ];
  return { options, items };
}
