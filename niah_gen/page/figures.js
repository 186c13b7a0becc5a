// Turns the embedded counts into the figures of any choice of rows.

const DATA = JSON.parse(document.getElementById("data").textContent);
const WORDS = { part: "part", language: "language", corpus: "corpus", needle_id: "needle", control: "control" };

/** What is shown: for each filter the place of its value or -1 for all, the measure, the view, and the opened cell. */
const state = { filters: DATA.filters.map(() => -1), measure: 0, view: "map", cell: null };

const NEEDLE = DATA.filters.findIndex((filter) => filter.name === "needle_id");

/** A value of a filter in words. */
function valueName(filter, place) {
  const value = filter.values[place];
  return value === null ? (filter.name === "control" ? "no control" : "none") : plain(value);
}

/** Whether a combination of coordinates is among the chosen ones. */
function isChosen(k) {
  const { codes } = DATA.sums;
  return state.filters.every((value, at) => value < 0 || codes[2 + at][k] === value);
}

function placeOf(k) {
  const { codes } = DATA.sums;
  return cellPlace(codes[0][k], codes[1][k]);
}

function least(one, other) {
  return one === null ? other : other === null ? one : Math.min(one, other);
}

function most(one, other) {
  return one === null ? other : other === null ? one : Math.max(one, other);
}

function newFigure() {
  return { rows: 0, least: null, most: null, room: null, passes: null, off: null, leaks: 0, needles: new Map() };
}

function add(figure, k) {
  const { sums } = DATA;
  figure.rows += sums.rows[k];
  figure.leaks += sums.leaks[k];
  figure.least = least(figure.least, sums.least[k]);
  figure.most = most(figure.most, sums.most[k]);
  figure.room = least(figure.room, sums.room[k]);
  figure.passes = most(figure.passes, sums.passes[k]);
  if (sums.off[k] !== null && (figure.off === null || Math.abs(sums.off[k]) > Math.abs(figure.off))) figure.off = sums.off[k];
  if (NEEDLE >= 0) {
    const needle = sums.codes[2 + NEEDLE][k];
    figure.needles.set(needle, (figure.needles.get(needle) ?? 0) + sums.rows[k]);
  }
  return figure;
}

/** The figure of every cell by its place; null for cells without chosen rows. */
function cells() {
  const figures = Array(DATA.lengths.length * DATA.depths.length).fill(null);
  for (let k = 0; k < DATA.sums.rows.length; k++) {
    if (isChosen(k)) figures[placeOf(k)] = add(figures[placeOf(k)] ?? newFigure(), k);
  }
  return figures;
}

/** The figure of all chosen rows. */
function overall() {
  const figure = newFigure();
  for (let k = 0; k < DATA.sums.rows.length; k++) if (isChosen(k)) add(figure, k);
  return figure;
}

function isFiltered() {
  return state.filters.some((value) => value >= 0);
}

function rowsOf(number) {
  return number === 1 ? "1 row" : `${count(number)} rows`;
}

/** A range of numbers, or the number if both ends are the same. */
function between(one, other) {
  return one === other ? count(one) : `${count(one)} to ${count(other)}`;
}

/** Points of depth, with their sign. */
function signed(points) {
  return `${points > 0 ? "+" : points < 0 ? "−" : ""}${Math.abs(points).toFixed(1)}`;
}

const FAR_OFF = 5;

/** What an author should check, each in words. */
function doubts(figure) {
  return [
    figure.room !== null && figure.room < 0 ? `up to ${count(-figure.room)} tokens beyond the budget` : null,
    figure.passes !== null && figure.passes > 1 ? `the haystack goes through its corpus ${+figure.passes.toFixed(2)} times` : null,
    figure.off !== null && Math.abs(figure.off) > FAR_OFF ? `a needle is ${signed(figure.off)} points from its depth` : null,
    figure.leaks ? `${rowsOf(figure.leaks)} whose haystack already holds a keyword` : null,
  ].filter(Boolean);
}

/** A figure in words, one line per fact, for tooltips and screen readers. */
function summaryLines(figure, named = 4) {
  if (!figure) return ["no rows"];
  const lines = [rowsOf(figure.rows)];
  if (NEEDLE >= 0) {
    const names = [...figure.needles.keys()].sort((one, other) => one - other).filter((place) => DATA.filters[NEEDLE].values[place] !== null).map((place) => valueName(DATA.filters[NEEDLE], place));
    if (names.length) lines.push(`${names.length === 1 ? "needle" : `${count(names.length)} needles`}: ${names.slice(0, named).join(", ")}${names.length > named ? ", …" : ""}`);
  }
  if (figure.most !== null) lines.push(`prompts of ${between(figure.least, figure.most)} tokens${figure.room === null || figure.room < 0 ? "" : ", none above its budget"}`);
  if (figure.off !== null && Math.abs(figure.off) <= FAR_OFF) lines.push(`depth within ${Math.abs(figure.off).toFixed(1)} points of what was asked`);
  return [...lines, ...doubts(figure)];
}

function summary(figure) {
  return summaryLines(figure).join("; ");
}
