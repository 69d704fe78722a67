// The panels: each shows a part of what is known of the drive, and says it in a sentence below.

// What a die executes and what a request waits for, as people call it, in the order of a report.
const CAUSES = {
  nr_requests: "held before the block layer", tag: "no free tag", scheduler: "held by the scheduler",
  controller: "controller", link: "host link", flush: "flush", slot: "no free slot of the buffer",
  host_read: "host read", host_program: "host program", collection: "collection", merge: "merge", map: "map",
  wear: "wear levelling", erase: "erase", suspension: "suspension", channel: "waiting for the channel",
  served: "its own service", retry: "read retries", fold: "folding",
};
const ORIGINS = {
  host: "host", gc: "collection", merge: "merge", map: "map", wear: "wear levelling", fold: "folding",
};
const known = (names, name) => names[name] ?? name;
const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
const MOST_SLOW = 5;
const MOST_JOBS = 10;

const say = (id, text) => {
  const place = element(id);
  if (place.textContent !== text) place.textContent = text;
};

function made(kind, text, attributes = {}) {
  const one = document.createElement(kind);
  if (text instanceof Node) one.append(text);
  else one.textContent = text;
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  return one;
}

/** A row of a table: its first cell names it. */
function row(head, ...cells) {
  const line = document.createElement("tr");
  line.append(made("th", head, { scope: "row" }), ...cells);
  return line;
}

function heads(...names) {
  const [group, line] = [document.createElement("thead"), document.createElement("tr")];
  line.append(...names.map(([name, place]) => made("th", name, { scope: "col", class: place ?? "" })));
  group.append(line);
  return group;
}

/** The keys of those that have been seen; they do not go away again. */
function legend(id, names, seen) {
  const place = element(id);
  const shown = new Set([...place.children].map((item) => item.dataset.name));
  for (const name of Object.keys(names).filter((name) => seen.has(name) && !shown.has(name))) {
    const item = made("li", names[name], { class: name });
    item.dataset.name = name;
    const order = Object.keys(names);
    const next = [...place.children].find((other) => order.indexOf(other.dataset.name) > order.indexOf(name));
    place.insertBefore(item, next ?? null);
  }
}

const perSecond = (amount, { from_ns, to_ns }) => amount * 1e9 / (to_ns - from_ns);

function showFigures({ status }, samples) {
  const last = samples.at(-1);
  const latency = (kind) => (last?.[`${kind}_ns`] ? time(last[`${kind}_ns`].p99) : "none");
  const { requests } = status;
  const figures = [
    ["Reads", last ? rate(perSecond(last.read_bytes, last)) : "none"],
    ["Writes", last ? rate(perSecond(last.write_bytes, last)) : "none"],
    ["Read p99", latency("read")],
    ["Write p99", latency("write")],
    ["Write amplification", status.write_amplification ? digits(status.write_amplification) : "none"],
    ["Blocks erased", count(status.block_erases)],
    ["Free blocks", last ? count(last.free_blocks) : "not known"],
    ["Requests inside", count(status.inside)],
    ["Requests ended", count(requests.reads + requests.writes + requests.discards + requests.flushes)],
  ];
  if (requests.failed > 0) figures.push(["Failed", count(requests.failed)]);
  const place = element("figures");
  figures.forEach(([name, value], at) => {
    const tile = place.children[at] ?? place.appendChild(document.createElement("div"));
    if (tile.children.length === 0) tile.append(made("dt", ""), made("dd", ""));
    [name, value].forEach((text, part) => {
      if (tile.children[part].textContent !== text) tile.children[part].textContent = text;
    });
  });
  while (place.children.length > figures.length) place.lastChild.remove();
}

/** Values of samples at their ends. */
const line = (samples, name, value) => ({ name, points: samples.map((sample) => [sample.to_ns, value(sample)]) });

function showCourse({ status, origins }, samples, span) {
  const bytes = (kind) => (sample) => perSecond(sample[`${kind}_bytes`], sample);
  const rates = ["read", "write"].map((kind) => line(samples, kind, bytes(kind)));
  draw(element("throughput"), { span, lines: rates, units: RATES });
  const last = samples.at(-1);
  const now = last ? `Reads ${rate(bytes("read")(last))}, writes ${rate(bytes("write")(last))}.` : "";
  say("throughput-summary", `${now} Bytes by the drive's clock, by picture.`);

  const latencies = ["read", "write"].flatMap((kind) => ["p50", "p99"].map((which) => {
    const name = `${kind}${which === "p99" ? " dashed" : ""}`;
    return line(samples, name, (sample) => sample[`${kind}_ns`]?.[which] ?? null);
  }));
  draw(element("latency"), { span, lines: latencies, units: TIMES, isLog: true });
  const told = ["read", "write"].map((kind) => [kind, samples.findLast((sample) => sample[`${kind}_ns`])])
    .filter(([, sample]) => sample)
    .map(([kind, sample]) => [kind, sample[`${kind}_ns`]])
    .map(([kind, { p50, p99, count: of }]) => `${kind}s p50 ${time(p50)}, p99 ${time(p99)} of ${count(of)}`);
  say("latency-summary", `${told.length ? `Last: ${told.join("; ")}.` : ""} From arrival to completion, in the model.`);

  const bars = samples.map((sample) => [sample.from_ns, sample.to_ns,
    sample.programs.map((pages) => perSecond(pages, sample))]);
  draw(element("programs"), { span, bars, classes: origins, units: PAGES });
  const seen = new Set(origins.filter((_, at) => samples.some((sample) => sample.programs[at] > 0)));
  legend("programs-legend", ORIGINS, seen);
  const totals = origins.map((name, at) => [name, sum(samples.map((sample) => sample.programs[at]))]);
  const pages = totals.filter(([, all]) => all > 0).map(([name, all]) => `${known(ORIGINS, name)} ${count(all)}`);
  say("programs-summary", pages.length ? `On this axis: ${pages.join(", ")} pages.` : "Nothing was programmed yet.");

  // Of a second: pages wait in the buffer, and one picture may have few.
  const whole = status.write_amplification;
  const most = 4 * (whole ?? 1);
  const amplified = samples.map((sample, at) => {
    const some = samples.slice(Math.max(0, at - 3), at + 1);
    const stored = sum(some.map((one) => one.host_pages));
    return [sample.to_ns, stored > 0 ? sum(some.flatMap((one) => one.programs)) / stored : null];
  });
  // A collection while there is little to write would press all the others flat.
  const points = amplified.map(([at, value]) => [at, value === null ? null : Math.min(value, most)]);
  const lines = [{ name: "accent", points }];
  if (whole && samples.length) lines.push({ name: "plain dashed", points: span.map((at) => [at, whole]) });
  draw(element("amplification"), { span, lines, units: [["pages a page", 1]] });
  const latest = amplified.findLast(([, value]) => value !== null)?.[1];
  const both = whole ? `${digits(whole)} since the drive is served; last ${digits(latest ?? whole)}. ` : "";
  const cut = amplified.some(([, value]) => value > most) ? ` What is above ${digits(most)} is drawn there.` : "";
  say("amplification-summary", `${both}Pages programmed for each page of the host.${cut}`);
}

const dieCauses = new Set();

function showArray({ busy, drive }) {
  if (!busy) return;
  const passed = busy.to_ns - busy.from_ns;
  const each = Math.max(1, drive.dies / drive.channels);
  const rows = busy.channels_ns.map((channel, number) => {
    const dies = busy.dies.slice(number * each, (number + 1) * each);
    if (dies.length === 0) return null;
    const head = `channel ${number}: ${share(channel, passed)}`;
    return row(head, ...dies.map(({ now, busy_ns }, at) => {
      const parts = Object.keys(CAUSES).filter((cause) => busy_ns[cause]).map((cause) => [cause, busy_ns[cause]]);
      parts.forEach(([cause]) => dieCauses.add(cause));
      const all = sum(parts.map(([, ns]) => ns));
      const name = `die ${number * each + at}`;
      const words = parts.map(([cause, ns]) => `${known(CAUSES, cause)} ${share(ns, passed)}`).join(", ");
      if (now) dieCauses.add(now);
      const told = `${name}: ${words || "idle"}; now ${now ? known(CAUSES, now) : "idle"}`;
      const line = made("div", made("span", "", { class: `key ${now ?? "idle"}` }), { class: "die" });
      line.append(bar(parts, passed), made("span", each > 2 ? "" : share(all, passed), { class: "share" }));
      const cell = made("td", line, { title: told });
      cell.append(made("span", told, { class: "hidden" }));
      return cell;
    }));
  });
  element("array").replaceChildren(...rows.filter((one) => one !== null));
  legend("array-legend", CAUSES, dieCauses);
  const all = busy.dies.flatMap(({ busy_ns }) => Object.values(busy_ns));
  const whole = passed * busy.dies.length;
  const some = drive.dies > busy.dies.length ? ` The first ${busy.dies.length} of ${drive.dies} dies.` : "";
  const channels = share(sum(busy.channels_ns), passed * busy.channels_ns.length);
  say("array-summary", `Busy in the last ${time(passed)} of the drive's clock: dies ${share(sum(all), whole)}, `
    + `channels ${channels}. The square is what a die does at its end.${some}`);
}

const STEPS = 9;

function showWear({ wear }) {
  const cells = wear.erases.map((erases, at) => {
    const blocks = Math.min(wear.blocks_a_cell, wear.blocks - at * wear.blocks_a_cell);
    return (erases + wear.before[at]) / blocks;
  });
  const [low, high] = cells.reduce(([least, most], one) => [Math.min(least, one), Math.max(most, one)], [Infinity, 0]);
  const svg = element("wear");
  const { width, height } = svg.getBoundingClientRect();
  if (width === 0) return;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const columns = Math.max(1, Math.ceil(Math.sqrt(cells.length * width / height)));
  const [across, down] = [width / columns, height / Math.ceil(cells.length / columns)];
  if (svg.children.length !== cells.length || svg.dataset.width !== String(width)) {
    svg.dataset.width = String(width);
    svg.replaceChildren(...cells.map((_, at) => drawn("rect", {
      x: (at % columns * across).toFixed(2), y: (Math.floor(at / columns) * down).toFixed(2),
      width: (across - 1).toFixed(2), height: (down - 1).toFixed(2),
    })));
  }
  cells.forEach((value, at) => {
    const step = high > low ? Math.round((value - low) / (high - low) * (STEPS - 1)) : 0;
    const name = `area w${step}`;
    if (svg.children[at].getAttribute("class") !== name) svg.children[at].setAttribute("class", name);
  });
  const keys = [made("li", digits(low), { class: "none" })];
  for (let step = 0; step < STEPS; step += 2) keys.push(made("li", "", { class: `w${step}` }));
  keys.push(made("li", `${digits(high)} erases a block`, { class: "none" }));
  element("wear-legend").replaceChildren(...keys);
  const of = wear.blocks_a_cell === 1 ? "a block" : `${wear.blocks_a_cell} neighbouring blocks`;
  say("wear-summary", `Each cell is ${of} of ${count(wear.blocks)}, by number. Since new ${count(wear.least)} to `
    + `${count(wear.most)} erases a block; ${count(sum(wear.erases))} since the drive is served.`);
}

function showJobs({ busy, origins }, samples) {
  const jobs = (busy?.jobs ?? []).toReversed();
  const rows = jobs.slice(0, MOST_JOBS).map(({ origin, block, die, began_ns, ended_ns }) => {
    const name = known(ORIGINS, origin);
    const key = made("span", name, { class: `key ${origin}` });
    const lasted = ended_ns === null ? "goes on" : ended_ns === began_ns ? "at once" : time(ended_ns - began_ns);
    const cells = [`${(began_ns / 1e9).toFixed(6)} s`, lasted, block, die];
    return row(key, ...cells.map((text) => made("td", text)));
  });
  const body = document.createElement("tbody");
  body.append(...rows);
  element("jobs").replaceChildren(heads(["job"], ["began at"], ["emitted in"], ["block"], ["die"]), body);
  const totals = origins.map((name, at) => [name, sum(samples.map((sample) => sample.jobs[at]))])
    .filter(([, all]) => all > 0).map(([name, all]) => `${known(ORIGINS, name)} ${count(all)}`);
  say("jobs-summary", totals.length ? `Begun on the axis above: ${totals.join(", ")}. The latest comes first.`
    : "None has begun on the axis above.");
}

function showSlowest(_, samples) {
  const all = samples.flatMap(({ slowest }) => slowest).sort((a, b) => b.latency_ns - a.latency_ns);
  // Reads wait for dies, writes for the buffer: of each the slowest.
  const of = (isRead) => all.filter(({ op }) => (op === "read") === isRead).slice(0, MOST_SLOW);
  const slow = [...of(true), ...of(false)];
  const seen = new Set();
  const rows = slow.map(({ op, lba, sectors, arrival_ns, latency_ns, is_done, parts_ns, last }) => {
    const parts = Object.keys(CAUSES).filter((cause) => parts_ns[cause]).map((cause) => [cause, parts_ns[cause]]);
    parts.forEach(([cause]) => seen.add(cause));
    const longest = parts.reduce((most, part) => (part[1] > most[1] ? part : most), ["", 0]);
    const words = parts.map(([cause, ns]) => `${known(CAUSES, cause)} ${time(ns)}`).join(", ");
    const most = longest[1] > 0 ? `${known(CAUSES, longest[0])} ${share(longest[1], latency_ns)}` : "no time";
    const what = `${op}${is_done ? "" : " (failed)"}`;
    const place = last ? `die ${last.die}` : "no die";
    const where = op === "flush" ? "whole drive" : `${sectors / 2} KiB at ${size(lba * 512)}`;
    const stack = made("td", bar(parts, latency_ns), { class: "parts", title: words });
    const cells = [where, `${(arrival_ns / 1e9).toFixed(6)} s`, time(latency_ns)].map((text) => made("td", text));
    return row(what, ...cells, stack, made("td", most, { class: "left" }), made("td", place));
  });
  const body = document.createElement("tbody");
  body.append(...rows);
  const names = ["request", "what", "arrived at", "latency", "of which", "most of it", "waited for"];
  const left = ["of which", "most of it"];
  element("slowest").replaceChildren(heads(...names.map((name) => [name, left.includes(name) ? "left" : ""])), body);
  // Of these requests alone.
  element("slowest-legend").replaceChildren();
  legend("slowest-legend", CAUSES, seen);
  say("slowest-summary", slow.length
    ? "The slowest reads and others on the axis above, at most one of each picture; their time by what they waited for."
    : "None has ended on the axis above.");
}
