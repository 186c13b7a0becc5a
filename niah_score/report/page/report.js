// Puts the page together: controls, views, and what is drawn again when one of them changes.

function controls() {
  const own = DATA.own_metrics.length ? `score (each row’s own: ${plain(DATA.own_metrics.join(", "))})` : "score";
  const named = DATA.metrics.map((metric, place) => [place, place === 0 ? own : metric]);
  const made = [choice("Metric", named, state.metric, (value) => { state.metric = value; redraw(); }, "metric")];
  DATA.filters.forEach((filter, place) => {
    const values = filter.values.map((value, at) => [at, value === null ? (filter.name === "control" ? "no control" : "none") : plain(value)]);
    // The rows of a control are never counted with the others.
    const options = START[place] >= 0 ? [...values.splice(START[place], 1), ...values] : [[-1, place === PART && DATA.part_weights ? "all in the score" : `all ${count(values.length)}`], ...values];
    made.push(choice(WORDS[filter.name].replace(/^./, (letter) => letter.toUpperCase()), options, state.filters[place],
      (value) => { state.filters[place] = value; redraw(); }, `filter-${filter.name}`));
  });
  return controlBar(made, START, [["map", "Heatmap"], ["table", "Table"]]);
}

function redraw() {
  page.reset.hidden = !isFiltered();
  drawHeadlines(page.headlines);
  drawParts(page.parts);
  if (state.view === "map") drawMap();
  else {
    page.cells = [];
    drawTable();
  }
  drawGroups(page.groups);
  if (state.cell !== null && !page.figures[state.cell]) state.cell = null;
  drawCell();
  page.signature.replaceChildren(...(DATA.signatures[state.metric] ? [el("code", {}, name(DATA.signatures[state.metric]))] : []));
  page.status.textContent = `${metricName(state.metric)}: ${inWords(overall())}`;
}

/** What this file leaves out, in words. */
function limits() {
  const { examples } = DATA;
  const sentences = [examples.most ? `This file has at most ${examples.most} examples per cell: the worst, the needles taking turns.` : "This file has no examples: they would make it larger than 15 MB."];
  if (examples.most && examples.most < examples.asked) sentences.push(`More (${examples.asked}) would make it larger than 15 MB.`);
  if (examples.cut) sentences.push(`Texts of more than ${count(examples.characters)} characters are shortened.`);
  if (!examples.texts) sentences.push("Questions, needles, reference answers and keywords are left out, as this page was made without the dataset: niah-score report DIR --dataset DATASET shows them.");
  for (const left of DATA.left_out) sentences.push(`There is no filter by ${WORDS[left]}: it has too many values for one file.`);
  sentences.push("Every row is in scores.parquet.");
  return sentences.join(" ");
}

function start() {
  document.title = `${plain(DATA.model)} · ${plain(DATA.dataset.name)}`;
  page.headlines = el("section", { class: "cards", "aria-label": "Scores" });
  page.parts = el("div", {});
  page.map = el("div", { class: "view" });
  page.groups = el("div", { class: "groups" });
  page.detail = el("aside", { class: "detail", "aria-label": "Rows of a cell", hidden: true });
  page.tip = el("div", { class: "tip", role: "tooltip", hidden: true });
  page.signature = el("p", { class: "signature" });
  page.status = el("p", { class: "hear", role: "status" });
  page.cells = [];
  page.controls = controls();
  page.explore = el("div", { class: "explore" },
    el("section", { class: "pane", "aria-label": "Scores by length and depth" }, page.map, el("p", { class: "hint" }, "Choose a cell, by click or arrow keys and Enter, to read its rows.")), page.detail);
  document.getElementById("page").append(...[header(), page.headlines, page.parts, controlTable(), coverage(), faults(), problems(), page.controls, page.explore, page.groups,
    el("footer", {}, page.signature, el("p", {}, limits())), page.tip, page.status].filter(Boolean));
  redraw();
  closeOnEscape();
  unfoldInPrint();
  new ResizeObserver(fit).observe(page.map);
  performance.mark("drawn");
}

start();
