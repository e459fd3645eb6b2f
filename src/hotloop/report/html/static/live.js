// The page of a run in progress: the same page, redrawn as new data arrives.

const EVERY_MS = 2000;
let paused = false;

function liveStatus() {
  const text = h("span", { class: "small muted", role: "status" });
  const button = h("button", { class: "plain", type: "button", "aria-pressed": "false", on: { click: () => {
    paused = !paused;
    button.textContent = paused ? "Resume" : "Pause";
    button.setAttribute("aria-pressed", String(paused));
  } } }, "Pause");
  return { element: h("div", { class: "live" }, h("span", { class: "beat", "aria-hidden": "true" }), text, button), text };
}

const live = liveStatus();

// While the reader uses a tooltip, the tree or a text selection, the page is not redrawn.
function busy() {
  const marked = getSelection() && !getSelection().isCollapsed;
  const walking = document.activeElement && document.activeElement.matches(".box:focus-visible, .chart:focus-visible, input:focus");
  return paused || document.hidden || tip.classList.contains("shown") || marked || walking;
}

function drawLive(data) {
  const [left, top] = [scrollX, scrollY];
  const scrolls = [...document.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  const jump = reportPage(data);
  document.querySelector(".top").append(live.element);
  document.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = scrolls[index] || 0; });
  scrollTo({ left, top, behavior: "instant" });
  live.text.textContent = data.run.finished ? "ended" : `live, ${format.seconds(data.run.wall_s)}`;
  document.body.classList.toggle("running", !data.run.finished);
  return jump;
}

async function follow() {
  let finished = false;
  try {
    if (!busy()) {
      const answer = await fetch("data", { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const data = await answer.json();
      if (!busy()) {
        drawLive(data);
        finished = data.run.finished;
      }
    }
  } catch {
    live.text.textContent = "Connection lost. Is hotloop live still running?";
    document.body.classList.remove("running");
  }
  if (!finished) setTimeout(follow, EVERY_MS);
}

const first = JSON.parse(document.getElementById("data").textContent);
drawLive(first)();
addEventListener("hashchange", () => { const { phase, finding } = place.values; const target = document.getElementById(finding ? "finding-" + finding : phase ? "breakdown" : ""); if (target) target.scrollIntoView(); });
if (!first.run.finished) setTimeout(follow, EVERY_MS);
