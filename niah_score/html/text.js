// Texts of others in, nodes out that only show them: nothing here or anywhere on the page reads a text as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `about`: attributes, and `on...` functions; children: nodes or our own words. */
function el(tag, about = {}, ...children) {
  const found = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (typeof value === "function") found.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) found.setAttribute(name, value === true ? "" : value);
  }
  found.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return found;
}

// What acts on a reader's screen without being seen: controls, formats (bidi), surrogates, private use, line ends.
const ACTING = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** The name of a character that cannot be seen, as the scorer prints it in a terminal. */
function escaped(char) {
  const code = char.codePointAt(0);
  return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** A text in words that can stand in a title or an attribute. */
function plain(text) {
  return text.replace(ACTING, escaped);
}

/** Nodes of a text: what cannot be seen is written out, in a box. */
function nodes(text) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(ACTING)) {
    if (match.index > end) found.push(document.createTextNode(text.slice(end, match.index)));
    found.push(el("span", { class: "unseen", title: "a character that cannot be seen" }, escaped(match[0])));
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push(document.createTextNode(text.slice(end)));
  return found;
}

/** A name of others inside of our words: its direction ends where it ends. */
function name(text) {
  return el("bdi", {}, nodes(text));
}

/** A language of a row as an HTML language tag; what is none is not said. */
function tagOf(language) {
  return language && /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(language) ? (language === "zh" ? "zh-Hans" : language) : null;
}
