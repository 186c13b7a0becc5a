// Draws the parts of the dataset side by side: what each scored, its weight, and its heatmap.

/** The parts side by side; nothing if there is only one. */
function drawParts(place) {
  if (PART < 0) return place.replaceChildren();
  const figures = partFigures();
  const known = new Map(DATA.parts.map((part) => [part.name, part]));
  const ordered = [...known.keys()], values = DATA.filters[PART].values;
  const there = values.map((part, code) => [part, code, figures[code]]).filter(([, , figure]) => figure[ROWS])
    .sort(([one], [other]) => (ordered.indexOf(one) + 1 || Infinity) - (ordered.indexOf(other) + 1 || Infinity)).slice(0, MOST_LINES);
  const isWhole = state.metric === 0 && chosen().every(([at]) => at === PART);
  const right = isWhole && there.some(([part]) => known.get(part)?.all_right);
  const lines = there.map(([part, code, figure]) => {
    const { weight = null, all_right: all = null } = known.get(part) ?? {};
    return el("tr", {}, el("th", { scope: "row" }, partName(part)), meter(figure), figureCells(figure),
      right ? el("td", {}, all === null ? "–" : `${points(all.mean, 2)} %`) : null,
      el("td", {}, weight === null ? "–" : weight ? String(Number(weight.toFixed(3))) : "in no score"));
  });
  const heads = ["part", "", ...HEADS, ...(right ? ["all right"] : []), "weight"];
  const maps = DATA.lengths.some((length) => length !== null) ? there.map(([part, code]) => smallMap(part, code)) : [];
  place.replaceChildren(el("section", { class: "group parts", "aria-label": "Parts" }, el("h2", {}, "Parts"),
    el("p", { class: "small" }, DATA.weighed_by === "rows" ? "The dataset gives its parts no weights: each weighs as much as it has rows."
      : "The score is the weighted mean of the parts’ means. In every mean over several parts, the rows of a part share its weight; a part in no score is in no such mean.",
    right ? " All right: rows that name everything asked for and nothing false." : ""),
    el("div", { class: "scroll" }, el("table", { class: "figures bars" },
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, lines))),
    maps.length > 1 ? el("div", { class: "smallmaps" }, maps) : null));
}

/** The figure of every part among the rows that the other filters choose. */
function partFigures() {
  const given = DATA.groups[state.metric][PART];
  if (given && chosen().every(([at]) => at === PART)) return given;
  const filters = state.filters.map((value, at) => (at === PART ? -1 : value));
  return summed(DATA.filters[PART].values.length, (k) => DATA.sums.codes[2 + PART][k], filters, true);
}

/** A small heatmap of one part, as a button that chooses the part. */
function smallMap(part, code) {
  const figures = cellsOfPart(code);
  const columns = DATA.lengths.length;
  const grid = el("span", { class: "smallgrid", "aria-hidden": "true" });
  grid.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
  DATA.depths.forEach((depth, line) => {
    for (let length = 0; length < columns; length++) {
      const figure = figures[cellPlace(length, line)];
      const box = el("i", { class: figure ? null : "blank", title: figure ? `${where(cellPlace(length, line))}: ${points(figure[MEAN], 1)}, n ${count(figure[N])}` : null });
      if (figure && figure[MEAN] !== null) box.style.background = coloured(figure[MEAN])[0];
      grid.append(box);
    }
  });
  const chosen = state.filters[PART] === code;
  return el("button", { type: "button", class: "smallmap", "aria-pressed": String(chosen), onclick: () => {
    state.filters[PART] = chosen ? -1 : code;
    document.getElementById("filter-part").value = String(state.filters[PART]);
    redraw();
  } }, el("span", { class: "smallname" }, partName(part)), grid);
}
