// Draws a grid of cells, depth down and length across: every cell can be reached by keyboard, described and opened.
//
// A page defines, in the same scope, DATA with `lengths` and `depths`, `state` with `cell` (the place of the opened one) and
// `view`, `tipLines(box)` and `cellDetail(place)`, the nodes that an opened cell shows.

const page = {};

function cellPlace(length, depth) {
  return length * DATA.depths.length + depth;
}

function where(place) {
  const depths = DATA.depths.length;
  const [length, depth] = [DATA.lengths[Math.floor(place / depths)], DATA.depths[place % depths]];
  return `${length === null ? "no length" : `${lengthOf(length)} tokens`}, ${depth === null ? "no depth" : `depth ${depthOf(depth)}\u00a0%`}`;
}

/** The grid with its axes. `cell`: makes the box of a place. All optional: `above`, a line above the columns; `beside`,
 *  makes a box at the end of a line; `foot`, the text below these boxes. */
function drawGrid({ label, above = null, cell, beside = null, foot = null }) {
  const columns = DATA.lengths.length;
  page.cells = [];
  const grid = el("div", {
    class: "map", role: "grid", "aria-label": label,
    "aria-rowcount": DATA.depths.length + 1, "aria-colcount": columns + 1, onkeydown: moveOn, onfocusin: (event) => showTip(event.target), onfocusout: hideTip,
    onmouseover: (event) => showTip(event.target), onmouseleave: hideTip, onclick: (event) => openFrom(event.target),
  });
  grid.style.setProperty("--columns", columns);
  grid.style.setProperty("--widest", columns <= 4 ? "150px" : columns <= 10 ? "128px" : "92px");
  grid.style.setProperty("--least", columns > 24 ? "14px" : "19px");
  grid.style.setProperty("--lines", DATA.depths.length);
  if (above) grid.append(above);
  DATA.depths.forEach((depth, line) => {
    const row = el("div", { role: "row", class: "row", "aria-rowindex": line + 1 });
    row.append(el("div", { role: "rowheader", class: "depth" }, depth === null ? "none" : Array.isArray(depth) ? `≤${depthOf(depth[1])}` : depthOf(depth)));
    for (let length = 0; length < columns; length++) {
      const place = cellPlace(length, line), box = cell(place);
      page.cells[place] = box.classList.contains("blank") ? null : box;
      row.append(box);
    }
    if (beside) row.append(beside(line));
    grid.append(row);
  });
  const last = el("div", { role: "row", class: "row lengths", "aria-rowindex": DATA.depths.length + 1 }, el("div", { class: "corner", role: "presentation" }));
  DATA.lengths.forEach((length) => last.append(el("div", { role: "columnheader", class: "length", title: lengthOf(length) }, el("span", {}, brief(length)))));
  if (foot) last.append(el("div", { class: "length", role: "presentation" }, foot));
  grid.append(last, el("div", { class: "axis-x", role: "presentation" }, "length, tokens"));
  page.grid = grid;
  return grid;
}

/** A place without rows. */
function emptyCell(place) {
  return el("div", { role: "gridcell", class: "cell blank", "aria-label": `${where(place)}: no rows` });
}

/** A grid and its caption as a figure. */
function framed(grid, caption) {
  return el("figure", { class: "heat" },
    el("div", { class: "frame" }, el("p", { class: "axis-y", "aria-hidden": "true" }, "depth, %"), el("div", { class: "scroll" }, grid)), caption);
}

/** Show numbers only if they have room; turn lengths upright if they have none. */
function fit() {
  if (!page.grid) return;
  const first = page.grid.querySelector(".cell");
  const width = first ? first.getBoundingClientRect().width : 0;
  page.grid.classList.toggle("numbered", width >= 26);
  page.grid.classList.toggle("upright", width < 34);
}

/** Let Tab reach only one cell; arrow keys reach the others. */
function roving(place) {
  for (const box of page.cells) if (box) box.tabIndex = -1;
  page.at = page.cells[place] ? place : page.cells.findIndex(Boolean);
  if (page.cells[page.at]) page.cells[page.at].tabIndex = 0;
}

const MOVES = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

function moveOn(event) {
  const place = Number(event.target.dataset.place);
  if (Number.isNaN(place) || event.altKey || event.metaKey) return;
  const depths = DATA.depths.length, columns = DATA.lengths.length;
  let [length, depth] = [Math.floor(place / depths), place % depths];
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    openCell(place, true);
    return;
  }
  let step = MOVES[event.key];
  if (event.key === "Home") [length, depth, step] = [-1, event.ctrlKey ? 0 : depth, [1, 0]];
  if (event.key === "End") [length, depth, step] = [columns, event.ctrlKey ? depths - 1 : depth, [-1, 0]];
  if (!step) return;
  event.preventDefault();
  // Skip places without rows.
  do {
    length += step[0];
    depth += step[1];
  } while (length >= 0 && length < columns && depth >= 0 && depth < depths && !page.cells[cellPlace(length, depth)]);
  const next = length >= 0 && length < columns && depth >= 0 && depth < depths ? page.cells[cellPlace(length, depth)] : null;
  if (next) {
    roving(cellPlace(length, depth));
    next.focus();
  }
}

function openFrom(target) {
  const box = target.closest("[data-place]");
  if (box) openCell(Number(box.dataset.place), false);
}

/** Show a cell's rows. `jump`: whether to move the focus there, for readers who use the keyboard. */
function openCell(place, jump) {
  state.cell = place;
  page.cells.forEach((box, k) => box && box.setAttribute("aria-selected", String(k === place)));
  if (state.view === "map") roving(place);
  drawCell();
  hideTip();
  const wide = matchMedia("(min-width: 1240px)").matches;
  page.detail.scrollTop = 0;
  if (jump) page.detail.querySelector("h2").focus({ preventScroll: wide });
  if (!wide) page.detail.scrollIntoView({ block: "start" });
}

function closeCell() {
  const place = state.cell;
  if (place === null) return;
  state.cell = null;
  drawCell();
  page.cells.forEach((box) => box && box.setAttribute("aria-selected", "false"));
  const back = state.view === "map" ? page.cells[place] : null;
  if (back) back.focus();
}

/** The opened cell beside the grid; nothing if none is open. */
function drawCell() {
  const place = state.cell;
  page.explore.classList.toggle("opened", place !== null);
  page.detail.hidden = place === null;
  fit();
  page.detail.replaceChildren(...(place === null ? [] : cellDetail(place)));
}

/** The heading of an opened cell, with the button that closes it. */
function detailHead(eyebrow, place, summary) {
  return el("div", { class: "detail-head" },
    el("div", {}, el("p", { class: "eyebrow" }, eyebrow), el("h2", { tabindex: "-1" }, where(place)), el("p", { class: "sub" }, summary)),
    el("button", { type: "button", class: "close", "aria-label": "Close", title: "Close (Escape)", onclick: closeCell }, "×"));
}

function closeOnEscape() {
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (!page.tip.hidden) hideTip();
    closeCell();
  });
  addEventListener("scroll", hideTip, { passive: true });
}

function showTip(target) {
  const box = target.closest("[data-place], [data-tip]");
  if (!box) return hideTip();
  const [head, ...lines] = tipLines(box);
  page.tip.replaceChildren(el("b", {}, head), ...lines.map((line) => el("span", {}, line)));
  page.tip.hidden = false;
  const at = box.getBoundingClientRect(), own = page.tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 8);
  page.tip.style.left = `${left}px`;
  page.tip.style.top = `${at.top - own.height - 8 < 4 ? at.bottom + 8 : at.top - own.height - 8}px`;
}

function hideTip() {
  page.tip.hidden = true;
}

function chip(text, kind, title) {
  return el("span", { class: `chip ${kind ?? ""}`, title }, text);
}

function field(label, ...content) {
  return el("div", { class: "field" }, el("h4", {}, label), content);
}
