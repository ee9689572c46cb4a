// Sorts and filters the verdicts, and unfolds what is linked to or printed. The page says the same
// without it.
(() => {
  "use strict";
  const all = (what, from = document) => [...from.querySelectorAll(what)];
  const make = (name, more, ...inside) => {
    const element = Object.assign(document.createElement(name), more);
    element.append(...inside);
    return element;
  };
  const unfold = (element) => {
    for (let one = element; one; one = one.parentElement) {
      if (one.matches("details")) one.open = true;
    }
  };
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    unfold(target);
    target?.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });

  const lists = all("ol.lines");
  const rows = lists.flatMap((list) => [...list.children]);
  if (rows.length < 2) return;
  const verdict = (row) => row.querySelector(".v").textContent;
  const known = ["keep", "revert", "equivalent", "inconclusive"];
  const shown = new Set(known);
  const orders = {
    "order of the run": (a, b) => rows.indexOf(a) - rows.indexOf(b),
    "workload": (a, b) => a.textContent.localeCompare(b.textContent),
    "change": (a, b) => a.dataset.pct - b.dataset.pct,
    "verdict": (a, b) => known.indexOf(verdict(a)) - known.indexOf(verdict(b)),
  };
  const text = make("input", { type: "search" });
  const count = make("output");
  const groups = all("details.experiment");
  const opened = groups.map((group) => group.open);

  const filter = () => {
    const wanted = text.value.toLowerCase();
    const title = (row) => row.closest(".experiment")?.querySelector("h3")?.textContent ?? "";
    for (const row of rows) {
      const named = `${title(row)} ${row.textContent}`.toLowerCase().includes(wanted);
      row.hidden = !(named && shown.has(verdict(row)));
    }
    const left = rows.filter((row) => !row.hidden);
    const filtering = wanted !== "" || shown.size < known.length;
    groups.forEach((group, at) => {
      const some = left.some((row) => group.contains(row));
      group.hidden = filtering && !some;
      group.open = filtering ? some : opened[at];
    });
    count.value = left.length < rows.length ? `${left.length} of ${rows.length}` : "";
  };
  const sort = ({ target }) => {
    for (const list of lists) list.append(...[...list.children].sort(orders[target.value]));
  };

  const tools = make("form", { className: "tools", onsubmit: () => false });
  tools.append(make("label", {}, "Filter ", text));
  for (const word of known.filter((word) => rows.some((row) => verdict(row) === word))) {
    const box = make("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      shown[box.checked ? "add" : "delete"](word);
      filter();
    });
    tools.append(make("label", {}, box, make("span", { className: `v ${word}` }, word)));
  }
  const choice = make("select", {}, ...Object.keys(orders).map((name) => make("option", {}, name)));
  choice.addEventListener("change", sort);
  tools.append(make("label", {}, "Sort by ", choice), count);
  text.addEventListener("input", filter);
  document.querySelector(".tally").after(tools);
})();
