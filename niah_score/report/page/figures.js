// Computes figures of any choice of rows from the embedded numbers: [rows, n, unanswered, mean, low, high].

const DATA = JSON.parse(document.getElementById("data").textContent);
const [ROWS, N, UNANSWERED, MEAN, LOW, HIGH] = [0, 1, 2, 3, 4, 5];
const WORDS = { part: "part", language: "language", corpus: "corpus", needle_id: "needle", control: "control" };

/** What each filter starts with: all values, but no control, as no other figure counts controls' rows. */
const START = DATA.filters.map((filter) => (filter.name === "control" ? filter.values.indexOf(null) : -1));

/** What is shown: the metric and, for each filter, the index of its value or -1 for all. */
const state = { metric: 0, filters: [...START], view: "map", palette: "conventional", cell: null };

/** The indices of two filters, -1 if there is none. */
const [PART, CONTROL] = ["part", "control"].map((name) => DATA.filters.findIndex((filter) => filter.name === name));

/** Points with some decimals; ties go to even, as the scorer prints them. */
function points(value, decimals = 1) {
  if (value === null || value === undefined) return "–";
  const scaled = value * 10 ** decimals;
  if (Number.isInteger(value * 2 ** (decimals + 1)) && Math.abs(scaled % 1) === 0.5) {
    return ((2 * Math.round(scaled / 2)) / 10 ** decimals).toFixed(decimals);
  }
  return value.toFixed(decimals);
}

function interval(figure, decimals = 1) {
  return figure[LOW] === null ? null : `${points(figure[LOW], decimals)} to ${points(figure[HIGH], decimals)}`;
}

/** The filters that were set: [index of the filter, index of the value]. */
function chosen() {
  return state.filters.map((value, place) => [place, value]).filter(([place, value]) => value !== START[place]);
}

function isFiltered() {
  return chosen().length > 0;
}

/** A figure of summary.json. */
function listed(figure) {
  return [figure.rows, figure.n, figure.unanswered, figure.mean, figure.low, figure.high];
}

/** The weight of a row of each part in a mean over parts, null for a part in none; null if all rows count the same. */
function partWeights() {
  if (DATA.part_weights === null || (CONTROL >= 0 && state.filters[CONTROL] !== START[CONTROL])) return null;
  // The rows of a part that have a score share its weight.
  const { codes, rows, n } = DATA.sums;
  const scored = Array(DATA.part_weights.length).fill(0);
  for (let k = 0; k < rows.length; k++) {
    if (CONTROL < 0 || codes[2 + CONTROL][k] === START[CONTROL]) scored[codes[2 + PART][k]] += (n[state.metric] ?? rows)[k];
  }
  return DATA.part_weights.map((weight, part) => (weight ? weight / Math.max(scored[part], 1) : null));
}

/** Figures of the chosen rows, grouped by `key`, which gives each combination a place below `size`, or -1 for none.
 *  `filters`: choices instead of those that are set; `apart`: whether no place has rows of several parts. */
function summed(size, key, filters = state.filters, apart = false) {
  const { codes, rows, unanswered, n, sum } = DATA.sums;
  const figures = Array.from({ length: size }, () => [0, 0, 0, 0, null, null]);
  const totalWeight = Array(size).fill(0);
  const wanted = filters.map((value, at) => [codes[2 + at], value]).filter(([, value]) => value >= 0);
  const weights = apart || (PART >= 0 && filters[PART] >= 0) ? null : partWeights();
  for (let k = 0; k < rows.length; k++) {
    if (wanted.some(([code, value]) => code[k] !== value)) continue;
    const weight = weights ? weights[codes[2 + PART][k]] : 1;
    const place = weight === null ? -1 : key(k);
    if (place < 0) continue;
    const figure = figures[place];
    const scored = n[state.metric] === null ? rows[k] : n[state.metric][k];
    figure[ROWS] += rows[k];
    figure[N] += scored;
    figure[UNANSWERED] += unanswered[k];
    figure[MEAN] += weight * sum[state.metric][k];
    totalWeight[place] += weight * scored;
  }
  figures.forEach((figure, place) => (figure[MEAN] = figure[N] ? figure[MEAN] / totalWeight[place] : null));
  return figures;
}

/** The only filter that was set, if intervals of its values are embedded: [index of the filter, index of the value]. */
function onlyFilter() {
  const set = chosen();
  return set.length === 1 && DATA.groups[state.metric][set[0][0]] ? set[0] : null;
}

/** The figure of all chosen rows. */
function overall() {
  if (!isFiltered()) return listed(DATA.overall[state.metric].overall);
  const only = onlyFilter();
  return only ? DATA.groups[state.metric][only[0]][only[1]] : summed(1, () => 0)[0];
}

/** The figure of every cell, by place of length * number of depths + place of depth; null if it has no rows. */
function cells() {
  const language = DATA.filters.findIndex((filter) => filter.name === "language");
  const set = chosen();
  const only = set.length === 1 && set[0][0] === language ? DATA.filters[language].values[set[0][1]] : null;
  if (!DATA.cells || (set.length && only === null)) return summedCells(state.filters);
  const { language: languages, length, depth_percent: depth, ...columns } = DATA.cells[state.metric];
  const figures = Array(DATA.lengths.length * DATA.depths.length).fill(null);
  languages.forEach((one, k) => {
    if (one === only) figures[cellPlace(DATA.lengths.indexOf(length[k]), DATA.depths.indexOf(depth[k]))] = Object.values(columns).map((column) => column[k]);
  });
  return figures;
}

/** The figure of every cell of one part, as `cells`. */
function cellsOfPart(code) {
  return summedCells(state.filters.map((value, at) => (at === PART ? code : value)));
}

function summedCells(filters) {
  const [lengths, depths] = DATA.sums.codes;
  const size = DATA.lengths.length * DATA.depths.length;
  return summed(size, (k) => cellPlace(lengths[k], depths[k]), filters).map((figure) => (figure[ROWS] ? figure : null));
}

/** The figure of every length. */
function lengthMeans() {
  const given = DATA.length_means && DATA.length_means[state.metric];
  if (!isFiltered() && given) return given;
  const [lengths] = DATA.sums.codes;
  return summed(DATA.lengths.length, (k) => lengths[k]);
}

/** The figure of every depth. */
function depthMeans() {
  const given = DATA.depth_means && DATA.depth_means[state.metric];
  if (!isFiltered() && given) return given;
  const [, depths] = DATA.sums.codes;
  return summed(DATA.depths.length, (k) => depths[k]);
}


/** The figures of a filter's values among the chosen rows. */
function groupsOf(place) {
  const given = DATA.groups[state.metric][place];
  if (!isFiltered() && given) return given;
  return summed(DATA.filters[place].values.length, (k) => DATA.sums.codes[2 + place][k]);
}

/** Whether any of the figures shown has an interval. */
function hasIntervals(figures) {
  return figures.some((figure) => figure && figure[LOW] !== null);
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** The colour of a score, and of text on it. */
function coloured(value) {
  const stops = DATA.palettes[state.palette].map(channels);
  const place = (Math.min(100, Math.max(0, value)) / 100) * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2);
  const rgb = stops[first].map((low, k) => Math.round(low + (stops[first + 1][k] - low) * (place - first)));
  const light = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  const dark = (luminance + 0.05) / 0.0605 >= 1.05 / (luminance + 0.05);
  return [`rgb(${rgb.join(" ")})`, dark ? "#1a1a1a" : "#ffffff"];
}

/** A figure in words, for tooltips and screen readers. */
function inWords(figure) {
  if (!figure) return "no rows";
  const parts = [figure[MEAN] === null ? "no score" : `mean ${points(figure[MEAN], 2)}`];
  const ends = interval(figure, 2);
  if (ends) parts.push(`95 % interval ${ends}`);
  parts.push(figure[N] === figure[ROWS] ? `${count(figure[ROWS])} rows` : `${count(figure[N])} of ${count(figure[ROWS])} rows scored`);
  if (figure[UNANSWERED]) parts.push(`${count(figure[UNANSWERED])} unanswered`);
  return parts.join(", ");
}
