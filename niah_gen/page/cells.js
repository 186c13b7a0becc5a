// The grid: what every cell holds, by the measure that the reader chose.

/** A number in few characters: 7.8k. */
function size(number) {
  if (number < 1000) return String(number);
  if (number < 10_000) return `${+(number / 1000).toFixed(1)}k`;
  return number < 1e6 ? `${Math.round(number / 1000)}k` : `${+(number / 1e6).toFixed(1)}M`;
}

// What cells can show: a label, the number that decides the colour, and how it is written.
const MEASURES = [
  { label: "rows", of: (figure) => figure.rows, say: size },
  { label: "different needles", of: (figure) => (NEEDLE >= 0 ? figure.needles.size : null), say: size },
  { label: "largest prompt, tokens", of: (figure) => figure.most, say: size },
  { label: "smallest prompt, tokens", of: (figure) => figure.least, say: size },
  { label: "tokens below the budget, at least", of: (figure) => figure.room, say: (room) => (room < 0 ? `−${size(-room)}` : size(room)) },
  { label: "obtained minus asked depth, points", of: (figure) => figure.off, say: signed, shade: Math.abs },
  { label: "haystack passes", of: (figure) => figure.passes, say: (passes) => String(+passes.toFixed(2)) },
];

function measure() {
  return MEASURES[state.measure];
}

/** The measures that have a value for this dataset. */
function measures() {
  const all = overall();
  return MEASURES.map((one, place) => [place, one.label]).filter(([place]) => MEASURES[place].of(all) !== null);
}

function drawMap() {
  const figures = cells();
  const shade = measure().shade ?? ((value) => value);
  const values = figures.filter(Boolean).map(measure().of).filter((value) => value !== null).map(shade);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const grid = drawGrid({ label: `${measure().label} by depth (down) and length (across)`, cell: (place) => cell(figures[place], place, (value) => (high > low ? (shade(value) - low) / (high - low) : 0.35)) });
  page.map.replaceChildren(framed(grid, legend(figures)));
  page.figures = figures;
  roving(state.cell ?? page.cells.findIndex(Boolean));
  fit();
}

function cell(figure, place, shade) {
  if (!figure) return emptyCell(place);
  const value = measure().of(figure);
  const box = el("div", { role: "gridcell", class: "cell", tabindex: "-1", "aria-label": `${where(place)}: ${summary(figure)}`, "aria-selected": String(state.cell === place), "data-place": place },
    doubts(figure).length ? el("i", { class: "flag", "aria-hidden": "true" }) : null,
    el("span", { class: "number" }, value === null ? "–" : measure().say(value)));
  if (value !== null) box.style.setProperty("--shade", `${Math.round(10 + 40 * shade(value))}%`);
  return box;
}

function tipLines(box) {
  const place = Number(box.dataset.place);
  return [where(place), ...summaryLines(page.figures[place], 6)];
}

function legend(figures) {
  const filled = figures.filter(Boolean);
  const rows = filled.map((figure) => figure.rows);
  const parts = [
    el("span", {}, `Cells show: ${measure().label}`),
    rows.length ? el("span", {}, `${Math.max(...rows) === 1 ? "1 row" : `${between(Math.min(...rows), Math.max(...rows))} rows`} a cell`) : null,
    filled.some((figure) => doubts(figure).length) ? el("span", {}, el("i", { class: "swatch flagged" }, el("i", { class: "flag" })), "worth a look: point at it") : null,
    filled.length < figures.length ? el("span", {}, el("i", { class: "swatch empty" }), `no rows (${count(figures.length - filled.length)} of ${count(figures.length)} cells)`) : null,
  ];
  const beyond = filled.some((figure) => figure.room !== null && figure.room < 0) && DATA.dataset.placement.some((one) => one !== "native");
  const grouped = DATA.grouped.lengths || DATA.grouped.depths;
  return el("figcaption", {}, el("p", { class: "legend" }, parts),
    beyond ? el("p", { class: "small" }, "Published placements do not count the template when they cut the haystack, so prompts may exceed the budget.") : null,
    grouped ? el("p", { class: "small" }, `There are too many ${DATA.grouped.lengths ? "lengths" : "depths"} to draw each one: neighbours share a ${DATA.grouped.lengths ? "column" : "line"}.`) : null);
}

/** The same cells as a table. */
function drawTable() {
  page.figures = cells();
  page.cells = [];
  page.grid = null;
  const lines = page.figures.map((figure, place) => figure && el("tr", {},
    [lengthOf(DATA.lengths[Math.floor(place / DATA.depths.length)]), depthOf(DATA.depths[place % DATA.depths.length]), count(figure.rows),
      NEEDLE >= 0 ? count(figure.needles.size) : "–", figure.least === null ? "–" : count(figure.least), figure.most === null ? "–" : count(figure.most),
      figure.room === null ? "–" : count(figure.room), figure.off === null ? "–" : signed(figure.off), figure.passes === null ? "–" : String(+figure.passes.toFixed(2)), figure.leaks ? count(figure.leaks) : "–"].map((text) => el("td", {}, text)),
    el("td", {}, el("button", { type: "button", class: "link", "aria-label": `Rows of ${where(place)}`, onclick: () => openCell(place, true) }, "rows")))).filter(Boolean);
  const heads = ["length, tokens", "depth, %", "rows", "needles", "smallest prompt", "largest", "below budget", "depth off by", "passes", "leaks", ""];
  page.map.replaceChildren(el("div", { class: "scroll tall" }, table("Cells", heads, lines).firstChild));
}

const MOST_LINES = 60;

/** For each needle its rows, lengths and depths, and a question with its answer. */
function drawNeedles(place) {
  if (NEEDLE < 0) return place.replaceChildren();
  const { codes, rows } = DATA.sums;
  const needles = new Map();
  for (let k = 0; k < rows.length; k++) {
    if (!isChosen(k)) continue;
    const one = needles.get(codes[2 + NEEDLE][k]) ?? { rows: 0, lengths: new Set(), depths: new Set() };
    one.rows += rows[k];
    one.lengths.add(codes[0][k]);
    one.depths.add(codes[1][k]);
    needles.set(codes[2 + NEEDLE][k], one);
  }
  const asked = new Map();
  for (const [k, , row] of DATA.rows) {
    const needle = codes[2 + NEEDLE][k];
    if (isChosen(k) && row.question !== null && !asked.has(needle)) asked.set(needle, row);
  }
  const all = [...needles].sort(([one], [other]) => one - other);
  const lines = all.slice(0, MOST_LINES).map(([needle, one]) => {
    const row = asked.get(needle);
    const label = DATA.filters[NEEDLE].values[needle];
    return el("tr", {}, el("th", { scope: "row" }, label === null ? el("i", {}, "none") : el("button", { type: "button", class: "link", title: "Show this needle alone", onclick: () => setFilter(NEEDLE, state.filters[NEEDLE] === needle ? -1 : needle) }, name(label))),
      [one.rows, one.lengths.size, one.depths.size].map((number) => el("td", {}, count(number))),
      el("td", { class: "said" }, row ? passage(row.question, row.language) : null), el("td", { class: "said" }, row && row.answers.length ? passage(row.answers[0], row.language) : null));
  });
  place.replaceChildren(el("section", { class: "group" }, el("h3", {}, "Needles"),
    table("Needles", ["needle", "rows", "lengths", "depths", "a question", "its answer"], lines, "names"),
    all.length > MOST_LINES ? el("p", { class: "small" }, `the first ${MOST_LINES} of ${count(all.length)}: choose one in the list above`) : null));
}
