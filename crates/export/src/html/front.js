
/** The names beside points, each where neither another name nor a point nor a bar is; else its number alone, else none.
    The first points choose first. `area` is what names have to stay within. */
function besidePoints(points, bars, area) {
  const taken = points.map(({ x, y }) => ({ left: x - 7, right: x + 7, top: y - 7, bottom: y + 7 })).concat(bars);
  const isFree = (box) => box.left >= area.left && box.right <= area.right && box.top >= area.top
    && box.bottom <= area.bottom && taken.every((other) => box.right < other.left || other.right < box.left
      || box.bottom < other.top || other.bottom < box.top);
  return points.map(({ x, y, name, isNamed }) => {
    if (!isNamed) return null;
    for (const text of [name, name.slice(0, name.indexOf(":"))]) {
      const [width, height] = [pen.measureText(text).width + 4, 15];
      const columns = [x + 9, x - 9 - width, x - width / 2, x + 2, x - 2 - width];
      const places = [[0, y - height / 2], [1, y - height / 2], [2, y - 9 - height], [2, y + 9], [3, y - 9 - height],
        [4, y - 9 - height], [3, y + 9], [4, y + 9]];
      for (const [column, top] of places) {
        const box = { left: columns[column], right: columns[column] + width, top, bottom: top + height };
        if (isFree(box)) {
          taken.push(box);
          return { text, left: box.left - x, top: box.top - y };
        }
      }
    }
    return null;
  });
}

/** Those of some points that no other is left of and above, or wherever better is: the steps of the front. */
function steps(points, x, y) {
  const sign = (figure) => (figure.more ? -1 : 1);
  const cost = ({ means }) => [sign(x) * means[x.at], sign(y) * means[y.at]];
  const sorted = [...points].sort((a, b) => cost(a)[0] - cost(b)[0] || cost(a)[1] - cost(b)[1]);
  let least = Infinity;
  return sorted.filter((point) => {
    const isLess = cost(point)[1] < least;
    if (isLess) least = cost(point)[1];
    return isLess;
  });
}

/** Bars from end to end of the intervals of a point, across and up. */
function intervals(points, x, y, colour) {
  const ends = ({ means, halves }, { at }) => [means[at] - halves[at], means[at] + halves[at]];
  return {
    type: "custom", silent: true, z: 1, encode: { x: [0, 2, 3], y: [1, 4, 5] }, tooltip: { show: false },
    data: points.map((point) => [point.means[x.at], point.means[y.at], ...ends(point, x), ...ends(point, y)]),
    renderItem: (_, api) => {
      const [midX, midY, left, right, low, high] = [0, 1, 2, 3, 4, 5].map((dimension) => api.value(dimension));
      const bar = (from, to) => ({
        type: "line", shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] },
        style: { stroke: colour, lineWidth: 1.5, opacity: 0.6 },
      });
      return { type: "group", children: [
        bar(api.coord([left, midY]), api.coord([right, midY])), bar(api.coord([midX, low]), api.coord([midX, high])),
      ] };
    },
  };
}

/** Round ends of an axis around numbers that are all the same. */
function around(numbers) {
  const [least, most] = extent(numbers);
  if (least < most || !(least > 0)) return {};
  const unit = 10 ** (Math.floor(Math.log10(least)) - 1);
  return { min: Math.floor(0.9 * least / unit) * unit, max: Math.ceil(1.1 * least / unit) * unit };
}

/** Combinations over two figures; `chosen` are those on the axes. */
function front(spec, theme, width, chosen) {
  const [x, y] = [chosen.x, chosen.y].map((at) => ({ ...spec.figures[at], at }));
  const { on } = frontOver(spec, chosen);
  const isDrawn = ({ means }) => Number.isFinite(means[x.at] ?? NaN) && Number.isFinite(means[y.at] ?? NaN);
  const all = spec.runs.map((run, at) => ({ ...run, isOn: on.includes(at) })).filter(isDrawn);
  const [best, others] = [all.filter(({ isOn }) => isOn), all.filter(({ isOn }) => !isOn)];
  const [strong, light] = LINES[theme];
  const towards = (figure) => `${figure.name} (${figure.more ? "more" : "less"} is better)`;
  const data = (points) => points.map(({ means }) => [means[x.at], means[y.at]]);
  const over = ({ at, unit }, options) => {
    const numbers = all.flatMap(({ means, halves }) => [means[at] - halves[at], means[at] + halves[at]]);
    const made = fitted(numbers, isWide(numbers, 30), { axisLabel: { formatter: FORMATS[unit] }, ...options });
    return made.type === "log" ? made : { ...made, scale: true, boundaryGap: ["4%", "4%"], ...around(numbers) };
  };
  const options = base(theme, {
    grid: { left: 72, right: 30, top: 44, bottom: 48 },
    xAxis: over(x, { name: towards(x) }),
    yAxis: over(y, upright(towards(y))),
    series: [
      { name: "0", type: "scatter", symbol: "circle", symbolSize: 11, z: 3, data: data(best),
        itemStyle: { color: strong } },
      { name: "1", type: "scatter", symbol: "diamond", symbolSize: all.length > 40 ? 6 : 11, data: data(others),
        itemStyle: { color: light } },
      { ...intervals(best, x, y, strong), name: "0" },
      { ...intervals(others, x, y, light), name: "1" },
      // From a point on, what the front reaches stays the same until the next.
      { name: "0", type: "line", step: x.more ? "start" : "end", symbol: "none", silent: true, z: 2,
        data: data(steps(best, x, y)), lineStyle: { width: 2, color: strong }, tooltip: { show: false } },
    ],
  });
  const points = [best, others];
  options.tooltip.formatter = ({ seriesIndex, dataIndex }) => {
    const { name, texts } = points[seriesIndex][dataIndex];
    return escaped(`${name}: ${texts[x.at]}, ${texts[y.at]}`);
  };
  const items = [
    { name: "on the front", colour: strong, symbol: "circle", dash: [] },
    { name: "others", colour: light, symbol: "diamond" },
  ];
  // Where names have room is known when the axes are.
  const after = (chart) => {
    const grid = chart.getModel().getComponent("grid").coordinateSystem.getRect();
    const area = { left: grid.x, right: grid.x + grid.width, top: grid.y, bottom: grid.y + grid.height };
    const pixel = (across, up) => chart.convertToPixel({ gridIndex: 0 }, [across, up]);
    const ordered = [...best, ...others];
    const bars = ordered.flatMap(({ means, halves }) => {
      const [[left, bottom], [right, top]] = [-1, 1].map((by) =>
        pixel(means[x.at] + by * halves[x.at], means[y.at] + by * halves[y.at]));
      const [column, row] = pixel(means[x.at], means[y.at]);
      return [{ left, right, top: row - 1, bottom: row + 1 }, { left: column - 1, right: column + 1, top, bottom }];
    });
    const placed = besidePoints(ordered.map(({ means, name, isOn }) => {
      const [left, top] = pixel(means[x.at], means[y.at]);
      return { x: left, y: top, name, isNamed: isOn || all.length <= 40 };
    }), bars, area);
    const named = (of, from, size) => of.map(({ means }, at) => {
      const label = placed[from + at];
      return { value: [means[x.at], means[y.at]], label: label === null ? { show: false } : {
        show: true, color: css("--ink"), textBorderColor: css("--page"), textBorderWidth: 3, align: "left",
        verticalAlign: "top", formatter: () => label.text, position: [label.left + size / 2, label.top + size / 2],
      } };
    });
    chart.setOption({ series: [
      { data: named(best, 0, 11) }, { data: named(others, best.length, all.length > 40 ? 6 : 11) },
    ] });
  };
  return { options, items, after };
}

/** The front over the figures on the axes, whichever of them is across. */
const frontOver = ({ fronts }, chosen) =>
  fronts.find(({ x, y }) => (x === chosen.x && y === chosen.y) || (x === chosen.y && y === chosen.x));

/** The choice of axes of a front, which stands above its picture, and what follows from it below. */
function chooseAxes(picture) {
  const { element, spec } = picture;
  const figure = element.closest("figure");
  const [summary, table] = [figure.querySelector(".summary"), figure.querySelector("table")];
  picture.chosen = { x: spec.x, y: spec.y };
  const bar = document.createElement("p");
  bar.className = "choose";
  const selects = [["Across", "x"], ["Up", "y"]].map(([name, side]) => {
    const [label, select] = [document.createElement("label"), document.createElement("select")];
    select.append(...spec.figures.map(({ name: figure }, at) => new Option(figure, at, false, at === spec[side])));
    select.addEventListener("change", () => {
      const [other, before] = [side === "x" ? "y" : "x", picture.chosen[side]];
      picture.chosen[side] = Number(select.value);
      // One figure on both axes says nothing: the two change places.
      if (picture.chosen.x === picture.chosen.y) picture.chosen[other] = before;
      selects.forEach((one, at) => { one.value = String(at === 0 ? picture.chosen.x : picture.chosen.y); });
      const front = frontOver(spec, picture.chosen);
      summary.textContent = front.summary;
      tabulate(table, spec, picture.chosen, front.on);
      show(picture);
    });
    label.append(name + " ", select);
    bar.append(label);
    return select;
  });
  figure.querySelector("figcaption").after(bar);
}

/** Writes the figures on the axes into the table of a front. */
function tabulate(table, spec, { x, y }, on) {
  const heads = table.tHead.rows[0].cells;
  [heads[1].textContent, heads[2].textContent] = [spec.figures[x].name, spec.figures[y].name];
  const isListed = (at) => on.includes(at) || spec.runs.length <= spec.listed;
  const cell = (element, text) => {
    const made = document.createElement(element);
    made.textContent = text;
    return made;
  };
  table.tBodies[0].replaceChildren(...spec.runs.map(({ name, texts }, at) => [at, name, texts])
    .filter(([at]) => isListed(at)).map(([at, name, texts]) => {
      const row = document.createElement("tr");
      const head = cell("th", name);
      head.scope = "row";
      row.append(head, ...[texts[x], texts[y], on.includes(at) ? "on the front" : ""].map((text) => cell("td", text)));
      return row;
    }));
}
