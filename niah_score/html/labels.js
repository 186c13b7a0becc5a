// Puts numbers and coordinates into words.

/** A number with commas between thousands. */
function count(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A length, or the first and last of several: 8,000. */
function lengthOf(label) {
  return label === null ? "no length" : Array.isArray(label) ? label.map(count).join(" to ") : count(label);
}

/** A depth in percent, or the first and last of several. */
function depthOf(label) {
  return label === null ? "no depth" : Array.isArray(label) ? label.map((end) => `${+end.toFixed(1)}`).join(" to ") : `${+label.toFixed(2)}`;
}

/** A length in few characters: 8k for 8,000, 12.3k for 12,345; small odd numbers as they are. */
function brief(label) {
  if (label === null) return "none";
  if (Array.isArray(label)) return `≤${brief(label[1])}`;
  if (label >= 1e6 && label % 1e5 === 0) return `${label / 1e6}M`;
  return label >= 1000 && label % 100 === 0 ? `${label / 1000}k` : label >= 10000 ? `${+(label / 1000).toFixed(1)}k` : String(label);
}
