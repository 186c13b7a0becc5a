// The page put together: choices, views, and what is drawn again when one of them changes.

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
  page.reset = el("button", { type: "button", id: "reset", onclick: () => {
    DATA.filters.forEach((filter, at) => {
      state.filters[at] = -1;
      document.getElementById(`filter-${filter.name}`).value = "-1";
    });
    redraw();
  } }, "All rows");
  const views = viewButtons([["map", "Grid"], ["table", "Table"]], state.view, (view) => { state.view = view; redraw(); });
  return el("div", { class: "controls", role: "group", "aria-label": "What is shown" }, made, page.reset, views);
}

function redraw() {
  page.reset.hidden = !isFiltered();
  if (state.view === "map") drawMap();
  else drawTable();
  if (state.cell !== null && !page.found[state.cell]) state.cell = null;
  drawCell();
  drawNeedles(page.needles);
  page.status.textContent = `Chosen: ${told(overall())}`;
}

/** What this file leaves out, in words. */
function limits() {
  const all = DATA.sums.rows.reduce((sum, rows) => sum + rows, 0), shown = DATA.rows.length;
  const told = [shown < all ? `${count(shown)} of ${count(all)} rows are shown in full, of every part, control and cell before any other; niah-gen show DATASET ID shows any other.` : `All ${count(all)} rows are shown.`,
    "Prompts are shortened to their beginning, their end, and the text around what stands in them; niah-gen show DATASET ID --whole prints one in full."];
  for (const left of DATA.left_out) told.push(`There is no choice of ${WORDS[left]}: it has too many values for one file.`);
  if (!DATA.ids) told.push("There are too many rows to list the ids of the others.");
  told.push("The page shows what the files say; niah-gen verify DATASET --full proves it.");
  return told.join(" ");
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
    el("section", { class: "pane", "aria-label": "Rows by length and depth" }, page.map, el("p", { class: "hint" }, "Choose a cell, by click or arrow keys and Enter, to look into its prompts.")), page.detail);
  document.getElementById("page").append(...[header(), cards(), notes(), el("div", { class: "groups" }, [makeup(), corpora()].filter(Boolean)), properties(), controls(), page.explore, page.needles,
    el("footer", {}, el("p", {}, limits())), page.tip, page.status].filter(Boolean));
  redraw();
  closeOnEscape();
  unfoldInPrint();
  new ResizeObserver(fit).observe(page.map);
  performance.mark("drawn");
}

start();
