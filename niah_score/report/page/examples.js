// Shows the rows of a cell: what was asked, hidden, answered and scored.

const KIND = new Map([...STATUSES, ...FINDINGS].map(([key, kind]) => [key, kind]));

/** The examples of a cell that pass the filters, as indices into the columns. */
function examplesOf(place) {
  const { columns } = DATA.examples;
  const examples = [];
  const weights = PART >= 0 && state.filters[PART] < 0 ? partWeights() : null;
  for (let k = columns.cell.indexOf(place); k >= 0 && k < columns.cell.length && columns.cell[k] === place; k++) {
    const fits = state.filters.every((value, at) => value < 0 || columns[DATA.filters[at].name][k] === DATA.filters[at].values[value]);
    if (fits && !(weights && weights[DATA.filters[PART].values.indexOf(columns.part[k])] === null)) examples.push(k);
  }
  return examples;
}

/** What an opened cell shows. */
function cellDetail(place) {
  const figure = cells()[place];
  const shown = examplesOf(place);
  return [
    detailHead(`Cell · ${metricName(state.metric)}`, place, inWords(figure)),
    el("p", { class: "small how" }, howMany(shown.length, figure)),
    el("ol", { class: "examples" }, shown.map(example))];
}

function howMany(shown, figure) {
  const all = figure ? figure[ROWS] : 0;
  if (shown >= all) return all === 1 ? "Its one row." : `All ${count(all)} rows, the worst first.`;
  const which = isFiltered() ? "the page’s examples that pass the filters" : "the worst, the needles taking turns";
  return `${count(shown)} of ${count(all)} rows shown: ${which}. All are in scores.parquet.`;
}

function example(k) {
  const { columns, texts } = DATA.examples;
  const of = (key) => columns[key][k];
  const language = of("language");
  const truth = texts && columns.truth[k] !== null ? texts[columns.truth[k]] : null;
  const keywords = truth ? truth.keywords.flat() : [];
  const scores = columns.scores[k];
  const score = scores[state.metric];
  const status = of("status"), finding = of("finding");
  const badge = el("span", { class: "badge" }, points(score, 1));
  if (score !== null) [badge.style.background, badge.style.color] = coloured(score);
  const [prediction, extracted] = [columns.prediction[k], columns.extracted[k]];
  const silent = status === "missing" || status === "error";
  const hits = columns.hits[k];
  const notes = [
    columns.samples[k] > 1 ? `${count(columns.samples[k])} samples; the text is one of them` : null,
    columns.reasoning[k] ? `reasoning of ${count(columns.reasoning[k])} characters, in scores.parquet` : null,
  ].filter(Boolean);
  return el("li", { class: "example" },
    el("div", { class: "example-head" }, badge, chip(word(status), KIND.get(status), "status"),
      finding ? chip(word(finding), KIND.get(finding), "finding") : null,
      ["part", "needle_id", "corpus", "language", "control", "task"].map((key) => (of(key) === null ? null : el("span", { class: "tag", title: WORDS[key] ?? key }, name(of(key)))))),
    columns.question[k] !== null ? field("Question", passage(columns.question[k], language)) : null,
    silent ? field("Answer", el("p", { class: "nothing" }, status === "missing" ? "There is no answer." : "There is an error instead of an answer."),
      columns.error[k] === null ? null : passage(columns.error[k], null))
      : field(extracted === null ? "Answer" : "Answer, extracted", answer(extracted ?? prediction, language, keywords)),
    !silent && extracted !== null ? el("details", { class: "field" }, el("summary", {}, "Answer, raw"), passage(prediction ?? "", language, keywords)) : null,
    truth ? [
      field("Reference", truth.answers.map((text) => passage(text, language))),
      truth.keywords.length ? field("Keywords", el("ul", { class: "words" }, truth.keywords.map((group) => group.length ? keywordGroup(group, extracted ?? prediction, language) : null))) : null,
      truth.needles.length ? field(truth.needles.length === 1 ? "Needle" : "Needles", el("ol", { class: truth.needles.length === 1 ? "needles one" : "needles" },
        truth.needles.map((text, at) => el("li", {}, hits && hits[at] !== null && hits[at] !== undefined && truth.needles.length > 1 ? chip(hits[at] ? "found" : "not found", hits[at] ? "good" : "bad") : null, passage(text, language))))) : null,
    ] : null,
    field("Scores", el("dl", { class: "scores" }, DATA.metrics.map((metric, at) => scores[at] === null ? null : el("div", {}, el("dt", {}, metric), el("dd", {}, points(scores[at], 1)))))),
    el("p", { class: "id" }, el("code", {}, name(columns.id[k])), notes.length ? ` · ${notes.join(" · ")}` : null));
}

function answer(text, language, keywords) {
  return text === null || text === "" ? el("p", { class: "nothing" }, "An empty answer.") : passage(text, language, keywords);
}

/** A group of variants, ticked if the text shown has one of them. */
function keywordGroup(group, text, language) {
  const pieces = (Array.isArray(text) ? text : [text ?? ""]).filter((piece) => typeof piece === "string");
  const there = pieces.some((piece) => ranges(piece, group).length);
  return el("li", { class: there ? "there" : "absent" }, el("span", { class: "tick", "aria-label": there ? "found" : "not found", role: "img" }, there ? "✓" : "✗"),
    group.map((keyword, at) => [at ? el("span", { class: "or" }, " or ") : null, el("span", { class: "keyword", lang: tagOf(language), dir: "auto" }, nodes(keyword))]));
}
