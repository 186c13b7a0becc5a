// Makes nodes that only show texts from outside: nothing here or elsewhere on the page reads a text as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `about`: attributes and `on...` functions; children: nodes, or strings that are not from outside. */
function el(tag, about = {}, ...children) {
  const element = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// Characters that act on a reader's screen unseen: controls, formats (bidi), surrogates, private use, line separators.
const ACTING = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** An invisible character written out as the scorer prints it in a terminal. */
function escaped(char) {
  const code = char.codePointAt(0);
  return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** A text for a title or an attribute, invisible characters written out. */
function plain(text) {
  return text.replace(ACTING, escaped);
}

/** Nodes of a text, invisible characters written out in boxes. */
function nodes(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(ACTING)) {
    if (match.index > end) parts.push(document.createTextNode(text.slice(end, match.index)));
    parts.push(el("span", { class: "unseen", title: "an invisible character" }, escaped(match[0])));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(document.createTextNode(text.slice(end)));
  return parts;
}

/** A name from outside within our words; <bdi> keeps its writing direction to itself. */
function name(text) {
  return el("bdi", {}, nodes(text));
}

/** A row's language as an HTML language tag, or null if it is none. */
function tagOf(language) {
  return language && /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(language) ? (language === "zh" ? "zh-Hans" : language) : null;
}
