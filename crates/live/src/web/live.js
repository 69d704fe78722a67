// The page of a drive that is served: asks for its figures twice a second, and shows them.

const PERIOD_MS = 500;
// As many as the server keeps.
const KEPT = 1200;
// Time after which a drive whose looks do not come is said to be silent.
const SILENT_MS = 3000;

let samples = [];
let next = 0;
let latest = null;
let heard = 0;
let isPaused = false;

const clock = (ns) => `${(ns / 1e9).toFixed(3)} s`;

function sayState(text, isAlert) {
  say("state", text);
  element("state").className = isAlert ? "alert" : "";
}

function pace({ pace: { name, gather, speed, latest_ns } }) {
  if (name === "fast") return `pace fast${gather ? ", gathering" : ""}`;
  return `pace real${speed === 1 ? "" : ` times ${speed}`}, at most ${time(latest_ns)} late`;
}

function showState() {
  const { status, is_ended } = latest;
  say("clock", `${pace(status)} · the drive's clock ${clock(status.model_ns)}`);
  if (is_ended) sayState("The drive has ended", true);
  else if (status.broken) sayState(`The drive has failed: ${status.broken}`, true);
  else if (performance.now() - heard > SILENT_MS) sayState("No news: the drive ends, or the machine is busy", true);
  else if (status.is_worn_out) sayState("Worn out: it can only be read", true);
  else sayState("Serving", false);
}

function show() {
  if (!latest) return;
  const { drive, status: { data } } = latest;
  say("name", drive.experiment);
  say("facts", `${drive.mapping} · ${size(drive.capacity_bytes)} · ${drive.channels} channels, ${drive.dies} dies · `
    + `data ${size(data.memory_bytes)} in memory${data.file_bytes > 0 ? `, ${size(data.file_bytes)} in a file` : ""}`);
  const span = samples.length ? [samples[0].from_ns, samples.at(-1).to_ns] : [0, 0];
  showFigures(latest, samples);
  showCourse(latest, samples, span);
  showArray(latest);
  showWear(latest);
  showJobs(latest, samples);
  showSlowest(latest, samples);
}

function take(live) {
  if (latest && (live.session !== latest.session || live.looks < latest.looks)) {
    // Another server has taken the place of the one before.
    location.reload();
    return;
  }
  if (live.looks !== latest?.looks) heard = performance.now();
  latest = live;
  samples = samples.concat(live.samples).slice(-KEPT);
  next = live.first + live.samples.length;
}

async function poll() {
  if (!document.hidden) {
    try {
      const answer = await fetch(`/live.json?since=${next}`);
      if (!answer.ok) throw new Error(String(answer.status));
      take(await answer.json());
      showState();
      if (!isPaused) show();
    } catch {
      sayState("No connection: the server has ended, or cannot be reached", true);
    }
  }
  setTimeout(poll, PERIOD_MS);
}

element("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  element("pause").setAttribute("aria-pressed", String(isPaused));
  show();
});
addEventListener("resize", show);
poll();
