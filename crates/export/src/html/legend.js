
// Where names of SVG are from: asked of the browser, so that no address stands in the page.
const template = document.createElement("template");
template.innerHTML = "<svg></svg>";
const SVG = template.content.firstChild.namespaceURI;

/** A shape of an item of a legend, as the picture draws it. */
function swatch({ colour, dash, symbol }) {
  const make = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([attribute, value]) => made.setAttribute(attribute, value));
    return made;
  };
  const shapes = {
    rect: () => make("rect", { x: -9, y: -5, width: 18, height: 10, rx: 2, fill: colour }),
    circle: () => make("circle", { r: 5, fill: colour }),
    diamond: () => make("path", { d: "M0-6L6 0L0 6L-6 0Z", fill: colour }),
  };
  const width = dash ? 42 : 18;
  const svg = make("svg", { width, height: 12, viewBox: `${-width / 2} -6 ${width} 12`, "aria-hidden": "true" });
  if (dash) {
    svg.append(make("line", { x1: -21, x2: 21, stroke: colour, "stroke-width": 2.5,
      "stroke-dasharray": dash.join(" ") || "none" }));
  }
  if (symbol) svg.append(shapes[symbol]());
  return svg;
}

/** The legend above a picture, in the page's own text, which wraps in narrow windows. Its buttons hide what they name,
    and show it again. */
function addLegend(picture, items) {
  const list = document.createElement("ul");
  list.className = "legend";
  list.append(...items.map((item, at) => {
    const [entry, button] = [document.createElement("li"), document.createElement("button")];
    button.type = "button";
    button.append(swatch(item), item.name);
    button.setAttribute("aria-pressed", String(!picture.hidden.has(at)));
    button.addEventListener("click", () => {
      if (!picture.hidden.delete(at)) picture.hidden.add(at);
      button.setAttribute("aria-pressed", String(!picture.hidden.has(at)));
      picture.chart.dispatchAction({ type: "legendToggleSelect", name: String(at) });
    });
    entry.append(button);
    return entry;
  }));
  picture.legend?.remove();
  picture.legend = items.length > 0 ? list : null;
  if (picture.legend) picture.element.before(picture.legend);
}
