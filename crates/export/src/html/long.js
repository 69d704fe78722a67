
/** Long tables: the names of their columns sort the rows, a field above finds those with all of its words. */
function lengthen(long) {
  const [table] = long.getElementsByTagName("table");
  const [body] = table.tBodies;
  const rows = [...body.rows];
  const word = (row, column) => row.cells[column].textContent;
  const number = (row, column) => Number.parseFloat(row.cells[column].dataset.n);
  const compare = (a, b, column) => {
    const [x, y] = [number(a, column), number(b, column)];
    if (Number.isNaN(x) || Number.isNaN(y)) {
      return Number.isNaN(x) - Number.isNaN(y) || word(a, column).localeCompare(word(b, column));
    }
    return x - y;
  };
  const names = [...table.tHead.rows[0].cells];
  const sort = (column) => {
    const isUp = names[column].getAttribute("aria-sort") !== "ascending";
    names.forEach((name) => name.removeAttribute("aria-sort"));
    names[column].setAttribute("aria-sort", isUp ? "ascending" : "descending");
    rows.sort((a, b) => (isUp ? 1 : -1) * compare(a, b, column));
    body.append(...rows);
  };
  names.forEach((name, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...name.childNodes);
    button.addEventListener("click", () => sort(column));
    name.append(button);
  });
  const field = document.createElement("input");
  const [label, found] = [document.createElement("label"), document.createElement("output")];
  field.type = "search";
  label.append("Find rows ", field);
  const find = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((one) => text.includes(one));
    });
    const shown = rows.filter((row) => !row.hidden).length;
    const all = rows.length.toLocaleString("en");
    found.textContent = shown < rows.length ? `${shown.toLocaleString("en")} of ${all} rows` : `${all} rows`;
  };
  field.addEventListener("input", find);
  const bar = document.createElement("p");
  bar.className = "find";
  bar.append(label, " ", found);
  long.prepend(bar);
  find();
}

document.querySelectorAll(".long").forEach(lengthen);
