"use strict";
// The list of questions and, once one is opened, its replay. Everything from corpora and language models goes through
// textContent, never through markup. Questions and passages stay text until they are wanted.
(() => {
  const data = (id) => document.getElementById(id).textContent;
  const list = JSON.parse(data("data-list"));
  const runs = list.runs, rows = list.rows;
  const [RUN, ID, QUESTION, GOLD, ANSWER, OUTCOME, CATEGORY, HOPS, TYPE, FOUND, MAPPED] = rows.length ? rows[0].keys() : [];
  const lazily = (id) => { let lines; return (n) => JSON.parse((lines ??= data(id).trim().split("\n"))[n]); };
  const question = lazily("data-questions"), passage = lazily("data-passages");
  const MARK = { right: "✓", wrong: "✗", failed: "!", "not judged": "?" };
  const CLASS = { right: "right", wrong: "wrong", failed: "failed", "not judged": "unjudged" };
  const STATUS = { pending: "○ open", active: "● active", resolved: "✓ resolved", retired: "✗ retired" };
  const PAGE = 100;

  function el(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "class") made.className = value;
      else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") made.append(child);
    return made;
  }
  const span = (cls, ...children) => el("span", { class: cls, dir: "auto" }, ...children);
  const titled = (n) => passage(n)[1] || "untitled";

  // ---- the list
  const form = document.getElementById("filters"), view = document.getElementById("questions");
  const more = document.getElementById("more"), counted = document.getElementById("counted");
  const text = rows.map((r) => [r[ID], r[QUESTION], r[GOLD], r[ANSWER]].join("\n").toLowerCase());
  let shown = [], drawn = 0;
  const anchor = (n) => "q-" + rows[n][ID] + (rows[n][RUN] ? "~" + (rows[n][RUN] + 1) : "");
  const places = new Map(rows.map((_, n) => [anchor(n), n]));

  function options(name, column, worded) {
    const select = form.elements[name];
    const values = [...new Set(rows.map((r) => r[column]))].filter((v) => v !== "");
    values.sort((a, b) => (typeof a === "number" ? a - b : a < b ? -1 : 1));
    for (const value of values) {
      const n = rows.filter((r) => r[column] === value).length;
      select.append(el("option", { value: String(value) }, `${worded(value)} (${n})`));
    }
    if (values.length < 2) select.closest("label").hidden = values.length === 0 || name === "run";
  }

  function filter() {
    const value = (name) => form.elements[name].value;
    const words = value("search").toLowerCase().split(/\s+/).filter(Boolean);
    const is = (name, column) => { const v = value(name); return (r) => v === "" || String(r[column]) === v; };
    const tests = [is("run", RUN), is("outcome", OUTCOME), is("category", CATEGORY), is("hops", HOPS), is("type", TYPE)];
    const evidence = value("evidence");
    shown = [];
    rows.forEach((r, n) => {
      if (!tests.every((test) => test(r)) || !words.every((word) => text[n].includes(word))) return;
      if (evidence === "all" && !(r[MAPPED] && r[FOUND] === r[MAPPED])) return;
      if (evidence === "missing" && !(r[FOUND] < r[MAPPED])) return;
      shown.push(n);
    });
    counted.textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
    view.replaceChildren();
    drawn = 0;
    draw(PAGE);
  }

  function draw(wanted) {
    const until = Math.min(shown.length, drawn + wanted);
    const part = document.createDocumentFragment();
    for (; drawn < until; drawn++) part.append(item(shown[drawn]));
    view.append(part);
    more.hidden = drawn >= shown.length;
    more.textContent = `Show ${Math.min(PAGE, shown.length - drawn)} more`;
  }

  function item(n) {
    const r = rows[n], found = r[MAPPED] ? `gold ${r[FOUND]} of ${r[MAPPED]} found` : "gold not mapped";
    const button = el("button", { class: "row", type: "button", "aria-expanded": "false", onclick: () => toggle(n, true) },
      el("span", { class: "mark " + CLASS[r[OUTCOME]], title: r[OUTCOME] }, MARK[r[OUTCOME]]),
      el("span", {}, span("what", r[QUESTION]),
        el("span", { class: "how" }, span("", r[ANSWER] || "no answer"), " · gold: ", span("", r[GOLD]))),
      el("span", { class: "tags" },
        r[CATEGORY] ? span("badge wrong", r[CATEGORY]) : span("badge " + CLASS[r[OUTCOME]], r[OUTCOME]),
        span("badge", found), span("badge", `${r[HOPS]} hop${r[HOPS] === 1 ? "" : "s"}`), span("badge", r[TYPE]),
        runs.length > 1 ? span("badge", runs[r[RUN]]) : null));
    button.setAttribute("aria-label", `${r[OUTCOME]}: ${r[QUESTION]}`);
    return el("li", { id: anchor(n), "data-n": n }, button);
  }

  function toggle(n, keep) {
    const li = document.getElementById(anchor(n)), button = li.firstChild;
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) li.lastChild.remove();
    else li.append(opened(n));
    if (keep) history.replaceState(null, "", open ? "#list" : "#" + encodeURIComponent(anchor(n)));
  }

  function follow() {
    let wanted;
    try { wanted = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const n = places.get(wanted);
    if (n === undefined) return;
    if (!shown.includes(n)) { form.reset(); filter(); }
    draw(Math.max(0, shown.indexOf(n) + 1 - drawn));
    const li = document.getElementById(wanted);
    if (li.firstChild.getAttribute("aria-expanded") !== "true") toggle(n, false);
    li.scrollIntoView();
  }

  // ---- one question
  function opened(n) {
    const q = question(n), r = rows[n], cls = CLASS[q.outcome];
    const part = el("div", { class: "opened" });
    const others = runs.length > 1 ? rows.map((o, m) => m).filter((m) => m !== n && rows[m][ID] === r[ID]) : [];
    const answer = q.failure.length ? "failed" : q.abstained || !q.answer ? "no answer" : q.answer;
    part.append(
      el("div", { class: "pair" },
        el("div", { class: "box " + cls }, el("div", { class: "label" }, "Answer"), el("div", { class: "value", dir: "auto" }, answer)),
        el("div", { class: "box" }, el("div", { class: "label" }, "Gold"), el("div", { class: "value", dir: "auto" }, q.answers[0]),
          q.answers.length > 1 ? el("div", { class: "small soft", dir: "auto" }, "or " + q.answers.slice(1).join(", ")) : null)));
    if (q.failure.length)
      part.append(el("p", { class: "wrong" }, `${q.failure[0]}${q.failure[1] ? " in " + q.failure[1] : ""}: ${q.failure[2]}`));
    if (q.explanation) part.append(el("p", { dir: "auto" }, q.explanation));
    if (q.cited.length) part.append(el("p", { class: "small soft" }, "Cited: " + q.cited.map(titled).join(" · ")));
    if (q.verdict.length)
      part.append(el("p", { class: "small", dir: "auto" },
        el("span", { class: "soft" }, `Judge ${q.verdict[0]}: `), el("b", {}, q.verdict[1]), q.verdict[2] ? " · " + q.verdict[2] : ""));
    part.append(el("div", { class: "badges" },
      span("badge " + cls, `${MARK[q.outcome]} ${q.outcome}`), q.category ? span("badge wrong", q.category) : null,
      q.stop[0] ? el("span", { class: "badge stop", title: q.stop[0] }, q.stop[1]) : null,
      q.scores.map(([name, value]) => span("badge", `${name} ${value}`)), q.cost.map((c) => span("badge", c))));
    if (others.length)
      part.append(el("p", { class: "small" }, "The same question in ", others.map((m) =>
        [el("a", { href: "#" + encodeURIComponent(anchor(m)) }, runs[rows[m][RUN]]), ` (${rows[m][OUTCOME]}) `]).flat()));
    if (q.chain.length)
      part.append(el("h4", {}, "Gold chain"), el("ul", { class: "plain" }, q.chain.map(([asked, value, found], place) =>
        el("li", {}, tick(found), ` ${place + 1}. `, span("", asked), span("soft", ` → ${value}`),
          found === false ? span("soft", " (its passage was not retrieved)") : found === null ? span("soft", " (not mapped to a passage)") : null))));
    part.append(el("h4", {}, "Gold passages"), el("div", {}, q.gold.map(([title, p, found]) =>
      p === null ? el("div", { class: "small" }, "? ", span("", title), span("soft", " (not mapped to a passage)"))
        : text_of(p, tick(found), found ? null : span("tag", "not retrieved")))));
    if (q.false.length)
      part.append(el("h4", {}, "False resolutions"), el("ul", { class: "plain" }, q.false.map(([id, asked, value]) =>
        el("li", {}, el("b", {}, id + " "), span("", asked), span("soft", ` → ${value || "no value"} (no gold passage supports it)`)))));
    const state = new Map();
    for (const loop of q.loops) part.append(looped(loop, q, state));
    return part;
  }

  const tick = (found) => el("span", { class: "mark " + (found ? "right" : found === null ? "unjudged" : "wrong") }, found ? "✓" : found === null ? "?" : "✗");

  // A passage whose text is put into the page only when it is unfolded.
  function text_of(p, lead, ...tags) {
    const body = el("div", { dir: "auto" });
    const made = el("details", {}, el("summary", {}, lead, span("", titled(p)), tags), body);
    made.addEventListener("toggle", () => { if (made.open) body.textContent = passage(p)[2] || "its text is not in the run folder"; });
    return made;
  }

  function looped(loop, q, state) {
    const part = el("section", { class: "loop" }), searches = loop.searches || [];
    const target = searches.length && searches[0].target.length ? searches[0].target : null;
    part.append(el("h4", {}, loop.n === 0 ? "Seed search with the question" : `Loop ${loop.n}`,
      target ? span("soft", ` · ${target[0]}: ${target[1]}`) : null));
    const gold = (p) => (q.marks[p] ? span("tag gold", q.marks[p]) : null);
    for (const search of searches) {
      if (loop.n > 0) part.append(el("div", { class: "query" }, span("tool", search.tool), span("", search.query)));
      if (search.note) part.append(el("p", { class: "small soft", dir: "auto" }, search.note));
      for (const [p, alias, fresh, full] of search.hits)
        if (fresh) part.append(text_of(p, span("alias", alias), gold(p), full ? null : span("tag", "snippet")));
      const again = search.hits.filter((hit) => !hit[2]);
      if (again.length)
        part.append(el("p", { class: "small soft" }, "again: ", again.map(([p, alias]) =>
          [span("alias", alias), " ", span("", titled(p)), " ", gold(p), " "]).flat()));
      if (!search.hits.length && !search.note) part.append(el("p", { class: "small soft" }, "nothing came back"));
    }
    const changed = new Set((loop.rows || []).map((row) => row[0]));
    for (const row of loop.rows || []) state.set(row[0], row);
    if (loop.rows && state.size) {
      const table = el("table", { class: "register" }, el("caption", { class: "label" }, loop.n ? "The register after it" : "The register"));
      for (const [id, asked, status, answer, tentative, note, support] of state.values()) {
        const supported = support.map(([alias, p]) => el("span", { class: "alias", title: titled(p) }, alias + (q.marks[p] ? "★" : "") + " "));
        table.append(el("tr", { class: status + (changed.has(id) && loop.n ? " changed" : "") },
          el("td", { class: "id" }, id), el("td", { class: "status" }, STATUS[status]),
          el("td", {}, span("text", asked),
            el("div", {}, answer ? span("found", answer) : null, answer && tentative ? span("soft", " (tentative)") : null, " ", supported),
            note ? el("div", { class: "small soft", dir: "auto" }, note) : null)));
      }
      part.append(table);
    }
    for (const refused of loop.refused || []) part.append(el("p", { class: "refused", dir: "auto" }, "refused: " + refused));
    for (const error of loop.errors || []) part.append(el("p", { class: "errors", dir: "auto" }, error));
    if (loop.answer)
      part.append(el("p", { class: "small soft" }, (loop.answer.forced ? "The answer was forced" : "It answered") +
        ` from ${loop.answer.shown.length} passage${loop.answer.shown.length === 1 ? "" : "s"}`,
        loop.answer.shown.length ? ": " : "", loop.answer.shown.map((p) => [span("", titled(p)), " ", gold(p), " · "]).flat().slice(0, -1)));
    for (const line of loop.verified || []) part.append(el("p", { class: "refused", dir: "auto" }, line));
    return part;
  }

  options("run", RUN, (v) => runs[v]);
  options("outcome", OUTCOME, String);
  options("category", CATEGORY, String);
  options("hops", HOPS, String);
  options("type", TYPE, String);
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => draw(PAGE));
  addEventListener("hashchange", follow);
  document.getElementById("list").hidden = false;
  filter();
  follow();
})();
