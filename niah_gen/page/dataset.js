// The page as a whole: choices, views, and what is redrawn when one of them changes.

function setFilter(at, value) {
  state.filters[at] = value;
  document.getElementById(`filter-${DATA.filters[at].name}`).value = String(value);
  redraw();
}

function controls() {
  const made = DATA.filters.map((filter, at) => {
    const values = filter.values.map((_, place) => [place, valueName(filter, place)]);
    return choice(WORDS[filter.name].replace(/^./, (letter) => letter.toUpperCase()), [[-1, `all ${count(values.length)}`], ...values], -1, (value) => { state.filters[at] = value; redraw(); }, `filter-${filter.name}`);
  });
  made.push(choice("Cells show", measures(), state.measure, (value) => { state.measure = value; redraw(); }, "measure"));
  return controlBar(made, DATA.filters.map(() => -1), [["map", "Grid"], ["table", "Table"]]);
}

function redraw() {
  page.reset.hidden = !isFiltered();
  if (state.view === "map") drawMap();
  else drawTable();
  if (state.cell !== null && !page.figures[state.cell]) state.cell = null;
  drawCell();
  drawNeedles(page.needles);
  page.status.textContent = `Chosen: ${summary(overall())}`;
}

/** What this file leaves out, in words. */
function limits() {
  const all = DATA.sums.rows.reduce((sum, rows) => sum + rows, 0), shown = DATA.rows.length;
  const sentences = [shown < all ? `${count(shown)} of ${count(all)} rows are shown in full, chosen to cover every part, control and cell first; niah-gen show DATASET ID shows any other.` : `All ${count(all)} rows are shown.`,
    "Prompts are shortened to their beginning, their end, and the text around the marked places; niah-gen show DATASET ID --whole prints one in full."];
  for (const left of DATA.left_out) sentences.push(`There is no filter by ${WORDS[left]}: it has too many values for one file.`);
  if (!DATA.ids) sentences.push("There are too many rows to list the ids of the others.");
  sentences.push("The page shows what the files say; niah-gen verify DATASET --full proves it.");
  return sentences.join(" ");
}

function start() {
  document.title = `${plain(DATA.dataset.name)} · ${plain(DATA.dataset.version)}`;
  page.map = el("div", { class: "view" });
  page.needles = el("div", { class: "groups" });
  page.detail = el("aside", { class: "detail", "aria-label": "Rows of a cell", hidden: true });
  page.tip = el("div", { class: "tip", role: "tooltip", hidden: true });
  page.status = el("p", { class: "hear", role: "status" });
  page.cells = [];
  page.explore = el("div", { class: "explore" },
    el("section", { class: "pane", "aria-label": "Rows by length and depth" }, page.map, el("p", { class: "hint" }, "Choose a cell, with a click or with arrow keys and Enter, to see its prompts.")), page.detail);
  document.getElementById("page").append(...[header(), cards(), notes(), el("div", { class: "groups" }, [makeup(), corpora()].filter(Boolean)), properties(), controls(), page.explore, page.needles,
    el("footer", {}, el("p", {}, limits())), page.tip, page.status].filter(Boolean));
  redraw();
  closeOnEscape();
  unfoldInPrint();
  new ResizeObserver(fit).observe(page.map);
  performance.mark("drawn");
}

start();
