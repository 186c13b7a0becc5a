// Draws the top of the page: what was scored, how well, how much was answered, and what was wrong with the inputs.

// In the order of a bar; the class gives the colour.
const STATUSES = [["ok", "good"], ["truncated", "warn"], ["think_unclosed", "warn2"], ["refused", "odd"], ["error", "bad"], ["empty", "none2"], ["missing", "none"]];
const FINDINGS = [
  ["found", "good", "has all keywords"], ["hedged", "good2", "has them, but denies or doubts them"],
  ["partly", "warn", "has some of the keywords"], ["wrong_needle", "odd", "says what another needle says"],
  ["nothing", "bad", "has none of the keywords"], ["said_absent", "bad2", "says that the text does not tell"],
  ["refused", "odd2", "the model declined"],
  ["truncated", "warn2", "cut off before it was found"], ["prompt_shortened", "odd3", "wrong, and the server cut the prompt"],
  ["no_answer", "none", "missing, empty or an error"],
  ["not_applicable", "none2", "the row has no keywords"],
];  // prettier-ignore
const PLAIN = { prompt_shortened: "prompt shortened", wrong_needle: "wrong needle", said_absent: "said absent", no_answer: "no answer", not_applicable: "no keywords", think_unclosed: "thinking unclosed" };

/** The rows behind figures that no filter changes. */
const ALL_ROWS = DATA.part_weights ? "all rows in the score" : "all rows";

function word(key) {
  return PLAIN[key] ?? key;
}

function metricName(place) {
  return DATA.metrics[place];
}

/** A card with a large number. */
function headline(label, value, ...below) {
  return el("div", { class: "card" }, el("h2", {}, label), el("p", { class: "big" }, value), below.map((line) => el("p", { class: "small" }, line)));
}

function drawHeadlines(place) {
  const figure = overall();
  const all = DATA.overall[state.metric];
  const ends = interval(figure, 2), only = onlyFilter();
  const rows = figure[N] === figure[ROWS] ? `n ${count(figure[N])} rows` : `n ${count(figure[N])} of ${count(figure[ROWS])} rows`;
  const cards = [
    headline(
      isFiltered() ? "Score of the chosen rows" : "Score",
      [points(figure[MEAN], 2), el("span", { class: "unit" }, " of 100")],
      ends ? `95 % interval ${ends}${only && DATA.filters[only[0]].name === "needle_id" ? ", of this needle" : ""}` : isFiltered() ? "no interval for this choice of rows" : "no interval",
      [rows, figure[UNANSWERED] ? `, ${count(figure[UNANSWERED])} unanswered` : ""],
      ...makeUp(),
    ),
  ];
  const averaged = listed(all.overall_of_lengths);
  if (DATA.lengths.some((length) => length !== null)) cards.push(
    headline("Mean of the lengths’ means", points(averaged[MEAN], 2), averaged[LOW] === null ? "no interval" : `95 % interval ${interval(averaged, 2)}`, `as NeedleBench and OpenCompass average; ${ALL_ROWS}`),
    ...(DATA.lengths.filter((length) => length !== null).length > 1 ? [effective(all.effective_length.ruler)] : []),
  );
  place.replaceChildren(...cards);
}

/** The score as a sum of its parts, if there are several. */
function makeUp() {
  const inside = DATA.parts.filter((part) => part.weight);
  if (inside.length < 2 || isFiltered() || state.metric !== 0) return [];
  return [inside.map((part, place) => [place ? " + " : "= ", partName(part.name), ` ${points(part.mean, 1)} × ${Number(part.weight.toFixed(3))}`])];
}

function partName(part) {
  return part === null ? el("i", {}, "no part") : name(part);
}

const CONTROLS = {
  false_answer_rate: "share of answers that do not say that the text gives none",
  guess_rate: "share of right answers without the text",
  one_sided_rate: "share of answers that name one of two facts as if it were the only one",
  score: "mean score",
};  // prettier-ignore

/** What goes beside a control's number: how many answers name which fact, or how its rows' twins score. */
function beside(record) {
  if (record.shares) {
    const words = { both: "both named", first: "the first alone", other: "the other alone" };
    const shares = Object.keys(words).filter((key) => record.shares[key] !== null).map((key) => `${words[key]} ${points(record.shares[key], 2)} %`);
    return shares.length ? el("p", { class: "small" }, shares.join(", ")) : null;
  }
  const { asked, gap } = record;
  if (!asked || !asked.n) return null;
  const ends = gap.low === null ? "" : `, 95 % interval ${points(gap.low, 2)} to ${points(gap.high, 2)}`;
  return el("p", { class: "small" }, `the same items as asked ${points(asked.mean, 2)}, gap ${points(gap.mean, 2)}${ends}`);
}

function controlTable() {
  const lines = Object.entries(DATA.controls).map(([control, record]) => {
    const number = Object.keys(CONTROLS).find((key) => key in record), mean = record[number];
    const [, ...others] = figureCells(listed({ ...record, mean }));
    return el("tr", {}, el("th", { scope: "row" }, name(control)), el("td", { class: "said" }, CONTROLS[number], beside(record)),
      el("td", {}, `${points(mean, 2)}${number === "score" || mean === null ? "" : " %"}`), others);
  });
  if (!lines.length) return null;
  return el("section", { class: "group controls-table", "aria-label": "Controls" }, el("h2", {}, "Controls"),
    el("p", { class: "small" }, "Rows that test whether the text is needed and read. No other figure on this page counts them, unless the filter chooses them."),
    el("div", { class: "scroll" }, el("table", { class: "figures" },
      el("thead", {}, el("tr", {}, ["control", "number", "value", "95 % interval", "n", "rows", "unanswered"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, lines))));
}

/** A card with the effective length and its interval, where the data show it. */
function effective(record) {
  const how = `longest with a mean of ${points(record.threshold, 1)} or more`;
  if (!record.interval) return headline("Effective length", "–", "not shown by these data", how);
  const [length, low, high] = [record.length, ...record.interval].map((tokens) => (tokens === null ? "none" : count(tokens)));
  return headline("Effective length", record.length === null ? length : [length, el("span", { class: "unit" }, " tokens")],
    `interval ${low} to ${high}${record.or_more ? " or more" : ""}`, `${how}; ${ALL_ROWS}`);
}

/** Counts by name as one bar and a list. */
function bar(title, counts, kinds) {
  const by = new Map(Object.entries(counts));
  const total = [...by.values()].reduce((a, b) => a + b, 0);
  const there = kinds.filter(([key]) => by.get(key));
  return el("div", { class: "counts" },
    el("h2", {}, title),
    el("div", { class: "bar", "aria-hidden": "true" }, there.map(([key, kind]) => grown(el("span", { class: `part ${kind}`, title: `${word(key)} ${count(by.get(key))}` }), by.get(key)))),
    el("ul", { class: "key" }, there.map(([key, kind, what]) =>
      el("li", { title: what }, el("i", { class: `dot ${kind}` }), word(key), " ", el("b", {}, count(by.get(key))),
        el("span", { class: "share" }, ` ${points((100 * by.get(key)) / total, 1)} %`)))));
}

function grown(element, share) {
  element.style.flexGrow = String(share);
  return element;
}

function coverage() {
  const { lines } = DATA;
  const sum = STATUSES.map(([key]) => `${word(key)} ${count(DATA.statuses[key])}`).join(" + ");
  return el("section", { class: "band", "aria-label": "Coverage and findings" },
    bar("What came back", DATA.statuses, STATUSES),
    bar("What was found", DATA.findings, FINDINGS),
    el("div", { class: "equations" },
      el("p", {}, el("b", {}, `${count(DATA.dataset.rows)} rows`), ` = ${sum}`),
      el("p", {}, el("b", {}, `${count(lines.read)} lines read`), ` = used ${count(lines.used)} + duplicate ${count(lines.duplicate)} + unknown ${count(lines.unknown)} + malformed ${count(lines.malformed)}`)));
}

function problems() {
  const { count: total, kinds, shown } = DATA.problems;
  if (!total) return null;
  const byKind = kinds.map(([kind, number]) => `${count(number)} ${kind}`).join(", ");
  return el("details", { class: "problems", open: shown.length <= 5 },
    el("summary", {}, el("b", {}, total === 1 ? "1 problem" : `${count(total)} problems`), ` with the answers: ${byKind}`),
    el("ol", {}, shown.map(([kind, file, line, message]) =>
      el("li", {}, el("span", { class: "chip" }, kind), file ? [el("code", {}, name(line === null ? file : `${file}:${line}`)), " "] : null, name(message)))),
    total > shown.length ? el("p", { class: "small" }, `and ${count(total - shown.length)} more: all are in problems.jsonl, beside this page`) : null);
}

function faults() {
  if (!DATA.faults.length) return null;
  return el("section", { class: "counts faults", "aria-label": "Likely faults" }, el("h2", {}, "Likely faults"),
    el("ul", {}, DATA.faults.map((line) => el("li", {}, line))));
}

function header() {
  const { dataset } = DATA;
  return el("header", { class: "top" },
    el("div", {},
      el("p", { class: "eyebrow" }, "Needle in a haystack"),
      el("h1", {}, name(DATA.model)),
      el("p", { class: "sub" }, name(dataset.name), " ", el("code", { title: "first 8 hex of the dataset’s content digest" }, name(dataset.digest8)), ` · ${count(dataset.rows)} rows · niah ${DATA.version}`)),
    el("div", { class: "toggles", role: "group", "aria-label": "Appearance" },
      darkToggle(),
      toggle("Colour-blind palette", "Colours that every kind of colour vision tells apart", (on) => { state.palette = on ? "colourblind" : "conventional"; redraw(); }, false, "palette")));
}

function needleRecall() {
  if (!DATA.needle_recall.length) return null;
  return el("section", { class: "group" }, el("h3", {}, `Each needle of a set, ${ALL_ROWS}`),
    groupTable("needle", DATA.needle_recall.map((line) => `${line.position}.`), DATA.needle_recall.map(listed)));
}
