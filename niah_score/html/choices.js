// Makes what a reader can set: lists to choose from, buttons that stay pressed, light or dark.

/** A list with a label; `act` gets the chosen value. */
function choice(label, options, chosen, act, id) {
  const select = el("select", { id, onchange: () => act(Number(select.value)) }, options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

/** A button that is on or off. */
function toggle(label, title, act, on, id) {
  const button = el("button", { type: "button", id, title, "aria-pressed": String(on), onclick: () => {
    const now = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(now));
    act(now);
  } }, label);
  return button;
}

/** Buttons for [view, label] pairs, one of them pressed; `act` gets the chosen view. */
function viewButtons(views, shown, act) {
  const group = el("div", { class: "views", role: "group", "aria-label": "View" }, views.map(([view, label]) => {
    const button = el("button", { type: "button", id: `view-${view}`, "aria-pressed": String(view === shown), onclick: () => {
      group.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      act(view);
    } }, label);
    return button;
  }));
  return group;
}

/** The choices of a page, a button that sets each filter back to its value in `start`, and the views. */
function controlBar(made, start, views) {
  page.reset = el("button", { type: "button", id: "reset", onclick: () => {
    state.filters = [...start];
    DATA.filters.forEach((filter, at) => (document.getElementById(`filter-${filter.name}`).value = String(start[at])));
    redraw();
  } }, "All rows");
  const buttons = viewButtons(views, state.view, (view) => { state.view = view; redraw(); });
  return el("div", { class: "controls", role: "group", "aria-label": "What is shown" }, made, page.reset, buttons);
}

/** A button for dark mode, which starts as the system is set. */
function darkToggle() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const paint = (on) => (document.documentElement.dataset.theme = on ? "dark" : "light");
  if (dark) paint(true);
  return toggle("Dark", "Light or dark", paint, dark, "theme");
}

/** Unfold everything before printing. */
function unfoldInPrint() {
  addEventListener("beforeprint", () => document.querySelectorAll(".example details").forEach((one) => (one.open = true)));
}
