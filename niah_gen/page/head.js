// The top of the page: what the dataset is, what it is made of, and what building it noticed.

function card(label, value, ...below) {
  return el("div", { class: "card" }, el("h2", {}, label), el("p", { class: "big" }, value), below.filter(Boolean).map((line) => el("p", { class: "small" }, line)));
}

function header() {
  const { dataset } = DATA;
  return el("header", { class: "top" },
    el("div", {},
      el("p", { class: "eyebrow" }, "Needle in a haystack · dataset"),
      el("h1", {}, name(dataset.name)),
      el("p", { class: "sub" }, "version ", name(dataset.version), " · ", el("code", { title: "the first 8 hex digits of the plan digest, which name the dataset" }, name(dataset.digest8)), " · built by niah-kit ", name(dataset.generator_version))),
    el("div", { class: "toggles", role: "group", "aria-label": "Appearance" }, darkToggle()));
}

function listed(values, most = 4) {
  return [values.slice(0, most).map((value, at) => [at ? ", " : null, name(value)]), values.length > most ? ` and ${count(values.length - most)} more` : null];
}

function ends(labels, say) {
  const known = labels.filter((label) => label !== null);
  if (!known.length) return null;
  const [first, last] = [known[0], known.at(-1)].map((label) => (Array.isArray(label) ? label : [label, label]));
  return first[0] === last[1] ? say(first[0]) : `${say(first[0])} to ${say(last[1])}`;
}

/** The figures on top: rows, tokens, lengths, depths, needles. If values share a place on an axis, their number is unknown. */
function cards() {
  const { dataset, filters } = DATA;
  const all = overall();
  const control = filters.find((filter) => filter.name === "control");
  const languages = filters.find((filter) => filter.name === "language");
  const own = control ? sumOf(filters.indexOf(control), control.values.indexOf(null)) : all.rows;
  const lengths = DATA.lengths.filter((one) => one !== null), depths = DATA.depths.filter((one) => one !== null);
  return el("section", { class: "cards", "aria-label": "The dataset" },
    card("Rows", count(dataset.rows), own === all.rows ? null : `${count(own)} and ${count(all.rows - own)} of controls`, languages ? ["in ", listed(languages.values.map((value) => value ?? "none"))] : null),
    card("Tokens", count(dataset.tokens), ["counted by ", name(dataset.tokenizer)], all.most === null ? null : `prompts of ${between(all.least, all.most)}`),
    lengths.length ? card(DATA.grouped.lengths ? "Lengths" : lengths.length === 1 ? "1 length" : `${lengths.length} lengths`, ends(DATA.lengths, brief), `${ends(DATA.lengths, lengthOf)} tokens`, fits(all)) : null,
    depths.length ? card(DATA.grouped.depths ? "Depths" : depths.length === 1 ? "1 depth" : `${depths.length} depths`, [ends(DATA.depths, depthOf), el("span", { class: "unit" }, " %")], all.off === null ? null : `obtained within ${Math.abs(all.off).toFixed(1)} points`) : null,
    NEEDLE >= 0 ? card("Needles", count(all.needles.size), all.passes === null ? null : all.passes > 1 ? `haystacks go through their corpus up to ${+all.passes.toFixed(2)} times` : "no haystack repeats its corpus") : null);
}

function fits(all) {
  if (all.room === null) return "the recipe states no budget";
  return all.room < 0 ? `up to ${count(-all.room)} tokens beyond the budget` : "all prompts within their budget";
}

/** How many rows have a value of a filter. */
function sumOf(filter, value) {
  const { codes, rows } = DATA.sums;
  return rows.reduce((sum, number, k) => (codes[2 + filter][k] === value ? sum + number : sum), 0);
}

function notes() {
  const [total, shown] = DATA.notes;
  if (!total) return null;
  return el("details", { class: "problems", open: total <= 5 },
    el("summary", {}, el("b", {}, "Worth knowing"), `: building it noted ${total === 1 ? "one thing" : `${count(total)} things`}`),
    el("ol", {}, shown.map((note) => el("li", {}, name(note)))),
    total > shown.length ? el("p", { class: "small" }, `and ${count(total - shown.length)} more, in manifest.json`) : null);
}

// Columns of words, aligned to the left.
const WORDY = new Set(["licence", "source", "a question", "its answer"]);

function table(label, heads, lines, kind = "") {
  return el("div", { class: "scroll" }, el("table", { class: `figures ${kind}`, "aria-label": label },
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col", class: WORDY.has(head) ? "said" : null }, head)))), el("tbody", {}, lines)));
}

const MOST_PARTS = 50, MOST_CONTROLS = 12;

/** How many rows each part has of each control, and its weight; choosing a part filters by it. */
function makeup() {
  const [part, control] = ["part", "control"].map((name) => DATA.filters.findIndex((filter) => filter.name === name));
  if (part < 0 && control < 0) return null;
  const weights = new Map(DATA.parts), { codes, rows } = DATA.sums;
  const valuesOf = (at) => (at < 0 ? [[null, 0]] : DATA.filters[at].values.map((value, place) => [value, place]));
  const listed = [...weights.keys()], rank = (value) => (listed.includes(value) ? listed.indexOf(value) : listed.length);
  const parts = valuesOf(part).sort(([one], [other]) => rank(one) - rank(other)).slice(0, MOST_PARTS);
  // Rows of no control come first, although null is the last value.
  const controls = valuesOf(control).sort(([one], [other]) => (one !== null) - (other !== null)).slice(0, MOST_CONTROLS);
  const isOf = (filter, k, place) => filter < 0 || codes[2 + filter][k] === place;
  const total = (place, own) => rows.reduce((sum, number, k) => (isOf(part, k, place) && (own === null || isOf(control, k, own)) ? sum + number : sum), 0);
  const heads = [part < 0 ? "" : "part", ...(weights.size ? ["weight"] : []), ...controls.map(([value]) => (value === null ? "no control" : plain(value))), "all"];
  const lines = parts.map(([value, place]) => el("tr", {},
    el("th", { scope: "row" }, part < 0 ? "all rows" : value === null ? el("i", {}, "no part") : el("button", { type: "button", class: "link", title: "Show this part alone", onclick: () => setFilter(part, state.filters[part] === place ? -1 : place) }, name(value))),
    weights.size ? el("td", {}, weights.has(value) ? (weights.get(value) ? String(weights.get(value)) : "in no score") : "–") : null,
    controls.map(([, own]) => total(place, own)).map((number) => el("td", { class: number ? null : "zero" }, number ? count(number) : "–")), el("td", {}, count(total(place, null)))));
  return el("section", { class: "group" }, el("h3", {}, "Rows of each part and control"), table("Rows of each part and control", heads, lines, "names"));
}

function corpora() {
  if (!DATA.corpora.length) return null;
  const lines = DATA.corpora.map(([corpus, license, source, files, documents, tokens, left]) => el("tr", {},
    el("th", { scope: "row" }, name(corpus)), el("td", { class: "said" }, license ? name(license) : el("i", {}, "none stated")), el("td", { class: "said" }, name(source)),
    [count(files), count(documents), count(tokens), `${+(100 * left).toFixed(2)} %`].map((text) => el("td", {}, text))));
  return el("section", { class: "group" }, el("h3", {}, "Corpora"), table("Corpora", ["name", "licence", "source", "files", "documents", "tokens", "left out"], lines, "names"),
    DATA.corpora_left ? el("p", { class: "small" }, `and ${count(DATA.corpora_left)} more, in manifest.json`) : null);
}

/** The values that the rows have of some columns, and the files. */
function properties() {
  const { dataset } = DATA;
  const lines = [["task", dataset.task], ["placement", dataset.placement], ["boundary", dataset.boundary], ["template", dataset.template], ["metric", dataset.metric], ["files", dataset.formats], ["content", [dataset.content_digest.slice(0, 16)]]];
  return el("dl", { class: "properties" }, lines.filter(([, values]) => values.length).map(([label, values]) => el("div", {}, el("dt", {}, label), el("dd", {}, listed(values, 6)))));
}
