// The rows of a cell: each prompt as a bar with marked places, and the text around these.

const KINDS = {
  needle: ["needle", "what is asked for"], "near miss": ["near", "reads like an answer but is not one"], decoy: ["near", "a false answer, where the text has it"],
  question: ["question", "what is asked"], target: ["target", "the text whose log-probabilities are requested"],
};  // prettier-ignore
const OPENED = 3;

/** A block of text, given whole or as pieces: texts, and numbers of characters left out. */
function passage(text, language) {
  const pieces = Array.isArray(text) ? text : [text];
  return el("div", { class: "passage", lang: tagOf(language), dir: "auto" }, pieces.map((piece) => (typeof piece === "number" ? gap(piece) : nodes(piece))));
}

function gap(characters) {
  return el("span", { class: "cut" }, ` … ${count(characters)} characters … `);
}

/** What an opened cell shows. */
function cellDetail(place) {
  const figure = page.figures[place];
  const shown = DATA.rows.filter(([k]) => isChosen(k) && placeOf(k) === place);
  const full = new Set(shown.map(([, number]) => number));
  return [
    detailHead("Cell", place, summaryLines(figure, 12).map((line) => el("span", { class: "fact" }, line))),
    el("p", { class: "small how" }, howMany(shown.length, figure.rows)),
    el("ol", { class: "examples" }, shown.map((one, at) => example(one, at < OPENED))),
    ...others(place, full)];
}

function howMany(shown, all) {
  if (shown >= all) return all === 1 ? "Its only row." : `All ${count(all)} rows.`;
  return `${count(shown)} of ${rowsOf(all)} shown in full; niah-gen show DATASET ID shows any other.`;
}

const MOST_IDS = 200;

/** The rows of the cell that are not shown in full, by id. */
function others(place, full) {
  if (!DATA.ids) return [];
  const { id, tokens, combination } = DATA.ids;
  const left = combination.map((k, at) => [k, at]).filter(([k, at]) => !full.has(at + 1) && placeOf(k) === place && isChosen(k));
  if (!left.length) return [];
  return [el("details", { class: "field others" }, el("summary", {}, `${rowsOf(left.length)} not shown in full`),
    el("ul", {}, left.slice(0, MOST_IDS).map(([, at]) => el("li", {}, el("code", {}, name(id[at])), tokens[at] === null ? null : el("span", { class: "share" }, ` ${count(tokens[at])} tokens`)))),
    left.length > MOST_IDS ? el("p", { class: "small" }, `and ${count(left.length - MOST_IDS)} more`) : null)];
}

function example([k, number, row], open) {
  const { codes } = DATA.sums;
  const tags = DATA.filters.map((filter, at) => (filter.name === "needle_id" || filter.values[codes[2 + at][k]] === null ? null : el("span", { class: filter.name === "control" ? "chip odd" : "tag", title: WORDS[filter.name] }, name(filter.values[codes[2 + at][k]]))));
  const over = row.budget !== null && row.tokens !== null && row.tokens > row.budget;
  const strange = row.marks.filter((mark) => !mark[6]).length;
  const text = el("details", { class: "field prompt", open }, el("summary", {}, "The prompt, shortened"), row.messages.map((message, at) => shownMessage(row, message, at)), unseen(row));
  return el("li", { class: "example" },
    el("div", { class: "example-head" }, row.needle === null ? null : el("b", { title: "needle" }, name(row.needle)), tags,
      over ? chip(`${count(row.tokens - row.budget)} tokens beyond the budget`, "warn") : null,
      row.passes !== null && row.passes > 1 ? chip(`${+row.passes.toFixed(2)} passes`, "warn") : null,
      row.leak === null ? null : chip([plain(row.leak), " is in the haystack"], "warn", "leak"),
      strange ? chip(strange === 1 ? "a span does not hold its needle" : `${strange} spans do not hold their needles`, "bad", "niah-gen verify --full says more") : null),
    row.question === null ? null : field("Question", passage(row.question, row.language)),
    row.answers.length ? field(row.answers.length === 1 ? "Answer" : "Answers, any of them", row.answers.map((answer) => passage(answer, row.language))) : null,
    row.prefix === null ? null : field("The answer begins with", passage(row.prefix, row.language)),
    row.decoys.length ? field("Decoys", el("ul", { class: "decoys" }, row.decoys.map((words) => el("li", {}, name(words))))) : null,
    field("The prompt", strip(row, text), key(row)),
    text,
    el("p", { class: "id" }, el("code", {}, name(row.id)), ` · row ${count(number)}`, row.boundary === null ? null : [" · at a ", name(row.boundary), " end"]));
}

/** The messages side by side on one line, in proportion to their lengths, with the marked places. */
function strip(row, text) {
  const total = Math.max(1, row.messages.reduce((sum, [, length]) => sum + length, 0));
  const starts = [];
  row.messages.reduce((at, [, length]) => (starts.push(at), at + length), 0);
  const part = (box, from, length) => {
    box.style.left = `${(100 * from) / total}%`;
    box.style.width = `${(100 * length) / total}%`;
    return box;
  };
  const several = row.messages.length > 1;
  const segments = row.messages.map(([role, length], at) => part(el("span", { class: "segment", title: role === null ? null : plain(role) }, several && length > total / 12 ? el("span", { class: "role" }, name(role ?? "…")) : null), starts[at], length));
  const marks = row.marks.map((mark, at) => {
    const [kind, message, start, end] = mark;
    return part(el("i", { class: `place ${KINDS[kind][0]}`, title: markName(row, mark), onclick: () => lookAt(text, at) }), starts[message] + start, end - start);
  });
  const places = row.marks.slice(0, 30).map((mark) => `${markName(row, mark)} at ${((100 * (starts[mark[1]] + mark[2])) / total).toFixed(0)} % of it`);
  return el("div", { class: `strip${several ? " several" : ""}`, role: "img", "aria-label": `A prompt of ${count(total)} characters: ${places.join("; ")}` }, segments, marks);
}

/** What a mark is, with its obtained depth. */
function markName(row, [kind, , , , place, depth]) {
  const several = row.marks.filter((mark) => mark[0] === "needle").length + row.marks_left > 1;
  return `${kind}${kind === "needle" && several ? ` ${place}` : ""}${depth === null ? "" : `, depth ${depth.toFixed(2)} %`}`;
}

function lookAt(text, place) {
  text.open = true;
  const mark = text.querySelector(`[data-mark="${place}"]`);
  if (!mark) return;
  mark.scrollIntoView({ block: "center" });
  mark.classList.add("found");
  mark.addEventListener("animationend", () => mark.classList.remove("found"), { once: true });
}

/** What the colours of a bar mean, and how long it is. */
function key(row) {
  const there = Object.entries(KINDS).filter(([kind]) => row.marks.some((mark) => mark[0] === kind));
  const total = row.messages.reduce((sum, [, length]) => sum + length, 0);
  const first = row.marks.find((mark) => mark[0] === "needle" && mark[4] === 1);
  const depth = first && first[5] !== null && row.depth !== null ? `depth ${first[5].toFixed(1)} % obtained, ${depthOf(row.depth)} % asked` : null;
  const tokens = row.tokens === null ? null : `${count(row.tokens)}${row.budget === null ? "" : ` of ${count(row.budget)}`} tokens`;
  return el("p", { class: "legend" },
    there.map(([kind, [look, what]]) => el("span", { title: what }, el("i", { class: `swatch place ${look}` }), counted(row, kind))),
    row.question !== null && !row.marks.some((mark) => mark[0] === "question") ? el("span", {}, "the question is not in it word for word") : null,
    el("span", { class: "length" }, [tokens, `${count(total)} characters`, depth].filter(Boolean).join(" · ")));
}

function counted(row, kind) {
  const number = row.marks.filter((mark) => mark[0] === kind).length;
  const plural = kind === "near miss" ? "near misses" : `${kind}s`;
  return number === 1 ? kind : `${count(number)} ${plural}`;
}

function shownMessage(row, [role, , pieces], at) {
  const several = row.messages.length > 1;
  if (pieces === null) return row.messages[at - 1] && row.messages[at - 1][2] === null ? null : el("p", { class: "cut" }, `… ${count(run(row, at))} messages …`);
  const seen = new Set();
  const inside = pieces.map((piece) => {
    if (typeof piece === "number") return gap(piece);
    if (typeof piece === "string") return nodes(piece);
    const [place, text] = piece;
    const mark = row.marks[place];
    const first = !seen.has(place);
    seen.add(place);
    const label = mark[0] === "question" || !first ? null : el("span", { class: "label" }, markName(row, mark));
    return el("mark", { class: KINDS[mark[0]][0], "data-mark": first ? place : null }, label, el("bdi", {}, nodes(text)));
  });
  return [several || role !== null ? el("p", { class: "speaker" }, name(role ?? "")) : null, el("div", { class: "passage", lang: tagOf(row.language), dir: "auto" }, inside)];
}

/** How many messages in a row, from this one on, have nothing shown. */
function run(row, at) {
  const next = row.messages.findIndex(([, , pieces], place) => place > at && pieces !== null);
  return (next < 0 ? row.messages.length : next) - at;
}

/** How many marked places the shortened text leaves out. */
function unseen(row) {
  const inText = new Set(row.messages.flatMap(([, , pieces]) => (pieces ?? []).filter(Array.isArray).map(([place]) => place)));
  const left = row.marks.length - inText.size + row.marks_left;
  return left ? el("p", { class: "cut" }, `${count(left)} more marked places are not in this excerpt.`) : null;
}
