// Marks the keywords in answers.

// Folds like niah_score.text: NFKC, case, white space, 1,024 as 1024.
const CASELESS = (text) => text.toUpperCase().toLowerCase().replaceAll("ς", "σ");
const SPACE = /[\s\x1c-\x1f\x85]/;

/** A folded text, and for each of its code units the range of the text that it comes from. */
function folded(text) {
  let out = "";
  const from = [];
  for (const match of text.matchAll(/[\s\S]\p{M}*/gu)) {
    let part = CASELESS(match[0].normalize("NFKC")).normalize("NFKC");
    if (SPACE.test(part) && !part.trim()) part = out === "" || out.endsWith(" ") ? "" : " ";
    for (const unit of part) {
      if (SPACE.test(unit) && (out === "" || out.endsWith(" "))) continue;
      const kept = SPACE.test(unit) ? " " : unit;
      for (let k = 0; k < kept.length; k++) from.push([match.index, match.index + match[0].length]);
      out += kept;
    }
  }
  for (const comma of [...out.matchAll(/(?<=\d),(?=\d{3}(?!\d))/g)].reverse()) {
    out = out.slice(0, comma.index) + out.slice(comma.index + 1);
    from.splice(comma.index, 1);
  }
  return { text: out, from };
}

const ALNUM = /[a-z0-9]/;

/** Where a text has keywords as whole words: ranges, in order and without overlaps. */
function ranges(text, keywords) {
  const whole = folded(text);
  const matches = [];
  for (const keyword of keywords) {
    const word = folded(keyword).text.trim();
    if (!word) continue;
    for (let at = whole.text.indexOf(word); at >= 0; at = whole.text.indexOf(word, at + 1)) {
      const end = at + word.length;
      const left = ALNUM.test(word[0]) && at > 0 && ALNUM.test(whole.text[at - 1]);
      const right = ALNUM.test(word.at(-1)) && end < whole.text.length && ALNUM.test(whole.text[end]);
      if (!left && !right) matches.push([whole.from[at][0], whole.from[end - 1][1]]);
    }
  }
  matches.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const apart = [];
  for (const range of matches) if (!apart.length || range[0] >= apart.at(-1)[1]) apart.push(range);
  return apart;
}

/** Nodes of a text with its keywords marked. */
function marked(text, keywords) {
  const parts = [];
  let end = 0;
  for (const [start, stop] of ranges(text, keywords)) {
    parts.push(...nodes(text.slice(end, start)), el("mark", {}, nodes(text.slice(start, stop))));
    end = stop;
  }
  return [...parts, ...nodes(text.slice(end))];
}

/** A block of text, which may be cut: a text, or pieces with the number of characters left out between them. */
function passage(text, language, keywords = []) {
  const pieces = Array.isArray(text) ? text : [text];
  const inside = pieces.map((piece) =>
    typeof piece === "number"
      ? el("span", { class: "cut" }, ` … ${count(piece)} characters not shown … `)
      : marked(piece, keywords),
  );
  return el("div", { class: "passage", lang: tagOf(language), dir: "auto" }, inside);
}
