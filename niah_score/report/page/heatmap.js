// Draws the heatmap, or the same cells as a table: depth down, length across, every cell reachable by keyboard.

/** The heatmap of the chosen rows. */
function drawMap() {
  const figures = cells();
  const means = lengthMeans(), depths = depthMeans();
  const grid = drawGrid({
    label: `${metricName(state.metric)} by depth (down) and length (across)`,
    above: meansLine(means), cell: (place) => cell(figures, place), beside: (line) => depthMean(DATA.depths[line], depths[line]), foot: "mean",
  });
  page.map.replaceChildren(framed(grid, legend(figures, means, depths)));
  page.figures = figures;
  roving(state.cell ?? page.cells.findIndex(Boolean));
  fit();
}

/** The tooltip of a cell, or of a mean. */
function tipLines(box) {
  const place = box.dataset.place === undefined ? null : Number(box.dataset.place);
  const [head, words] = place === null ? box.dataset.tip.split(": ") : [where(place), inWords(page.figures[place])];
  return [head, ...words.split(", ")];
}

/** One cell: its colour shows the mean, and so does its number if there is room; hatching shows how much is unanswered. */
function cell(figures, place) {
  const figure = figures[place];
  if (!figure) return emptyCell(place);
  const all = figure[UNANSWERED] === figure[ROWS];
  const box = el("div", {
    role: "gridcell", class: `cell${all ? " silent" : ""}${figure[MEAN] === null ? " unscored" : ""}`, tabindex: "-1",
    "aria-label": `${where(place)}: ${inWords(figure)}`, "aria-selected": String(state.cell === place), "data-place": place,
  });
  if (!all && figure[MEAN] !== null) {
    const [back, ink] = coloured(figure[MEAN]);
    box.style.background = back;
    box.style.color = ink;
    if (figure[UNANSWERED]) {
      const hatch = el("i", { class: "hatch", "aria-hidden": "true" });
      hatch.style.height = `${Math.max(12, (100 * figure[UNANSWERED]) / figure[ROWS])}%`;
      box.append(hatch);
    }
  }
  box.append(el("span", { class: "number" }, figure[MEAN] === null ? "–" : points(figure[MEAN], 0)));
  return box;
}

/** The means of the lengths as a line above their columns, with their intervals if known. */
function meansLine(means) {
  const columns = means.length;
  const svg = el("svg:svg", { class: "line", viewBox: `0 0 ${columns * 100} 100`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const at = (place) => place * 100 + 50;
  const down = (value) => 100 - value;
  for (const level of [0, 50, 100]) svg.append(el("svg:line", { class: "level", x1: 0, x2: columns * 100, y1: down(level), y2: down(level) }));
  let run = [];
  const runs = [run];
  means.forEach((figure, place) => {
    if (figure[MEAN] === null) runs.push((run = []));
    else run.push([at(place), down(figure[MEAN])]);
    if (figure[LOW] !== null) svg.append(el("svg:line", { class: "whisker", x1: at(place), x2: at(place), y1: down(figure[HIGH]), y2: down(figure[LOW]) }));
  });
  for (const one of runs) if (one.length > 1) svg.append(el("svg:polyline", { points: one.map((point) => point.join(",")).join(" ") }));
  const dots = means.map((figure, place) => {
    if (figure[MEAN] === null) return null;
    const dot = el("span", { class: "dot", "data-tip": `${lengthOf(DATA.lengths[place])} tokens: ${inWords(figure)}` }, el("span", {}, points(figure[MEAN], 0)));
    dot.style.left = `${((place + 0.5) / columns) * 100}%`;
    dot.style.top = `${100 - figure[MEAN]}%`;
    return dot;
  });
  return el("div", { class: "row means", role: "presentation" },
    el("div", { class: "depth scale", role: "presentation" }, [100, 50, 0].map((level) => el("span", {}, String(level)))),
    el("div", { class: "panel", role: "img", "aria-label": `Means of the lengths: ${means.map((figure, place) => `${lengthOf(DATA.lengths[place])} tokens ${points(figure[MEAN], 1)}`).join("; ")}` }, svg, dots),
    el("div", { role: "presentation" }));
}

/** The mean of a depth as a dot on a line from 0 to 100, with its interval if known. */
function depthMean(depth, figure) {
  if (figure[MEAN] === null) return el("div", { class: "margin", role: "presentation" });
  const where = depth === null ? "no depth" : `depth ${depthOf(depth)}\u00a0%`;
  return el("div", { class: "margin", role: "img", "aria-label": `Mean of ${where}: ${inWords(figure)}`, "data-tip": `${where}: ${inWords(figure)}` }, whisker(figure), dotAt(figure[MEAN]));
}

function whisker(figure) {
  if (figure[LOW] === null) return null;
  const line = el("b", { class: "reach" });
  line.style.left = `${figure[LOW]}%`;
  line.style.width = `${figure[HIGH] - figure[LOW]}%`;
  return line;
}

function dotAt(value) {
  const dot = el("i", { class: "dot" });
  dot.style.left = `${value}%`;
  return dot;
}

function legend(figures, means, depths) {
  const ramp = el("span", { class: "ramp", role: "img", "aria-label": "colours from 0 to 100" });
  ramp.style.background = `linear-gradient(to right, ${Array.from({ length: 11 }, (_, k) => coloured(k * 10)[0]).join(", ")})`;
  const n = figures.filter(Boolean).map((figure) => figure[N]);
  const least = n.length ? Math.min(...n) : 0, most = n.length ? Math.max(...n) : 0;
  const parts = [
    el("span", { class: "item" }, "0 ", ramp, " 100"),
    figures.some((figure) => figure && figure[UNANSWERED]) ? el("span", { class: "item" }, el("i", { class: "swatch hatched" }), "unanswered") : null,
    figures.some((figure) => !figure) ? el("span", { class: "item" }, el("i", { class: "swatch empty" }), "no rows") : null,
    el("span", { class: "item" }, least === most ? `n ${count(most)} in every cell` : `n ${count(least)} to ${count(most)} a cell`),
    el("span", { class: "item" }, "line: means of the lengths’ rows, dots: of the depths’, from 0 to 100", hasIntervals([...means, ...depths]) ? ", bars: 95 % intervals" : ""),
  ];
  const notes = [];
  if (!hasIntervals(figures)) notes.push("95 % intervals are known for all rows, for a single language and for a single group, not for this choice of rows: none are shown here.");
  if (PART >= 0 && state.filters[PART] < 0 && partWeights()) notes.push("A cell is the weighted mean of the parts that have rows there, so that colours also show which parts stand where: choose a part to compare places.");
  if (DATA.grouped.lengths || DATA.grouped.depths) notes.push(`There are too many different ${DATA.grouped.lengths ? "lengths" : "depths"} to draw each: neighbours share a ${DATA.grouped.lengths ? "column" : "line"}, and have no intervals.`);
  return el("figcaption", {}, el("p", { class: "legend" }, parts), notes.map((note) => el("p", { class: "small" }, note)));
}

const HEADS = ["mean", "95 % interval", "n", "rows", "unanswered"];

function figureCells(figure) {
  return [points(figure[MEAN], 2), interval(figure, 2) ?? "–", count(figure[N]), count(figure[ROWS]), count(figure[UNANSWERED])].map((text) => el("td", {}, text));
}

/** The same cells as a table. */
function drawTable() {
  const lines = [];
  page.figures = cells();
  page.figures.forEach((figure, place) => {
    if (!figure) return;
    const depths = DATA.depths.length;
    const [length, depth] = [DATA.lengths[Math.floor(place / depths)], DATA.depths[place % depths]];
    lines.push(el("tr", {}, el("td", {}, lengthOf(length)), el("td", {}, depthOf(depth)), figureCells(figure),
      el("td", {}, el("button", { type: "button", class: "link", "aria-label": `Rows of ${where(place)}`, onclick: () => openCell(place, true) }, "rows"))));
  });
  page.map.replaceChildren(el("div", { class: "scroll tall" }, el("table", { class: "figures" },
    el("caption", {}, `${metricName(state.metric)} by length and depth`),
    el("thead", {}, el("tr", {}, ["length, tokens", "depth, %", ...HEADS, ""].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, lines))));
  page.grid = null;
}

/** A mean as a bar, with its interval if known. */
function meter(figure) {
  const fill = el("i", {});
  fill.style.width = `${figure[MEAN] ?? 0}%`;
  if (figure[MEAN] !== null) fill.style.background = coloured(figure[MEAN])[0];
  return el("td", { class: "meter" }, el("span", { "aria-hidden": "true" }, fill, figure[MEAN] === null ? null : whisker(figure)));
}

/** Figures of some groups as a table with bars. */
function groupTable(head, labels, figures) {
  return el("div", { class: "scroll" }, el("table", { class: "figures bars" },
    el("thead", {}, el("tr", {}, [head, "", ...HEADS].map((one) => el("th", { scope: "col" }, one)))),
    el("tbody", {}, figures.map((figure, place) => el("tr", {}, el("th", { scope: "row" }, labels[place]), meter(figure), figureCells(figure))))));
}

const MOST_LINES = 40;

/** A table for each filter, needles first, as they tell a hard needle from a hard place. */
function drawGroups(place) {
  const order = DATA.filters.map((filter, at) => at).filter((at) => START[at] < 0 && at !== PART);  // controls and parts have their own tables
  const tables = order.sort((a, b) => (DATA.filters[b].name === "needle_id") - (DATA.filters[a].name === "needle_id")).map((at) => {
    const filter = DATA.filters[at], isNeedle = filter.name === "needle_id";
    const figures = groupsOf(at);
    const there = figures.map((figure, k) => [figure, valueNode(filter, k)]).filter(([figure]) => figure[ROWS]);
    const order = isNeedle || there.length > MOST_LINES ? [...there].sort((a, b) => (a[0][MEAN] ?? 101) - (b[0][MEAN] ?? 101)) : there;
    const shown = order.slice(0, MOST_LINES);
    return el("section", { class: "group" }, el("h3", {}, `By ${WORDS[filter.name]}${isNeedle ? ", the hardest first" : ""}`),
      groupTable(WORDS[filter.name], shown.map(([, label]) => label), shown.map(([figure]) => figure)),
      isNeedle && hasIntervals(figures) ? el("p", { class: "small" }, "Intervals are of each needle alone: what other rows of it would score.") : null,
      there.length > MOST_LINES ? el("p", { class: "small" }, `the ${MOST_LINES} lowest of ${count(there.length)}; all are in summary.csv`) : null);
  });
  place.replaceChildren(...[...tables, needleRecall()].filter(Boolean));
}

function valueNode(filter, place) {
  const value = filter.values[place];
  return value === null ? el("i", {}, filter.name === "control" ? "no control" : "none") : name(value);
}
