
const KINDS = { percentiles, lines, stack, heat, front, values };
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
let theme = prefersDark.matches ? "dark" : "light";

const charts = specs.map(({ id, kind, spec }) => (
  { element: document.getElementById(id), kind, spec, hidden: new Set(), chosen: null, chart: null, legend: null }
));

/** Draws a picture, unless another of its choice is shown in its place. */
function show(picture) {
  const { element, kind, spec, hidden, chosen } = picture;
  picture.chart?.dispose();
  picture.chart = null;
  if (element.offsetParent === null) return;
  const { options, items, height, after } = KINDS[kind](spec, theme, element.clientWidth, chosen);
  addLegend(picture, items);
  if (height) element.style.height = height + "px";
  options.legend.data = items.map((_, at) => String(at));
  options.legend.selected = Object.fromEntries(items.map((_, at) => [at, !hidden.has(at)]));
  picture.chart = echarts.init(element, null, { renderer: "svg" });
  picture.chart.setOption(options);
  after?.(picture.chart);
}

function draw() {
  document.documentElement.dataset.theme = theme;
  charts.forEach(show);
}

/** Radio buttons above pictures of which one is shown. */
function choose(group, number) {
  const parts = [...group.children];
  const bar = document.createElement("fieldset");
  bar.className = "choose";
  const legend = document.createElement("legend");
  legend.textContent = group.dataset.of;
  const select = (chosen) => parts.forEach((part) => { part.hidden = part !== chosen; });
  const options = parts.map((part, at) => {
    const [label, option] = [document.createElement("label"), document.createElement("input")];
    Object.assign(option, { type: "radio", name: `choice-${number}`, checked: at === 0 });
    option.addEventListener("change", () => {
      select(part);
      charts.filter(({ element }) => part.contains(element)).forEach(show);
    });
    label.append(option, " " + part.dataset.name);
    return label;
  });
  bar.append(legend, ...options);
  group.prepend(bar);
  select(parts[0]);
}

/** Arrow keys show one point after the other of a picture that has the focus, as the pointer does. */
function step(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const drawn = charts.find(({ element }) => element === event.target);
  if (!by || !drawn?.chart) return;
  // Points of every line or kind, in order; those without a value are passed over.
  const isEmpty = (point) => Array.isArray(point) && (point[1] === null || point[1] === undefined);
  const points = drawn.chart.getOption().series.filter(({ type, silent }) => type !== "custom" && !silent)
    .flatMap(({ data }, seriesIndex) => data.map((point, dataIndex) => ({ point, seriesIndex, dataIndex })))
    .filter(({ point, seriesIndex }) => !isEmpty(point) && !drawn.hidden.has(seriesIndex));
  if (points.length === 0) return;
  drawn.point = ((drawn.point ?? (by > 0 ? -1 : 0)) + by + points.length) % points.length;
  const { seriesIndex, dataIndex } = points[drawn.point];
  drawn.chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
  event.preventDefault();
}

/** Turns to a theme. */
function turn(chosen) {
  theme = chosen;
  button.setAttribute("aria-pressed", String(theme === "dark"));
  draw();
}

document.querySelectorAll(".choice").forEach(choose);
charts.filter(({ kind }) => kind === "front").forEach(chooseAxes);
button.addEventListener("click", () => turn(theme === "dark" ? "light" : "dark"));
prefersDark.addEventListener("change", () => turn(prefersDark.matches ? "dark" : "light"));
document.addEventListener("keydown", step);

// Names and marks are placed anew for another width; a phone that hides its bars changes the height alone.
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  requestAnimationFrame(draw);
});
// Paper is white, and narrower than most windows.
window.addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  const before = theme;
  theme = "light";
  charts.forEach(show);
  theme = before;
  charts.forEach(({ chart }) => chart?.resize({ width: 680 }));
});
window.addEventListener("afterprint", draw);
turn(theme);
