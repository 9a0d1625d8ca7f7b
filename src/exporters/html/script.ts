/** The script of the page: opens the target of a link, and filters by a word. */
export const SCRIPT = `
"use strict";
const byId = (id) => document.getElementById(id);
const agents = [...document.querySelectorAll(".agent")];
const rows = new Map([...document.querySelectorAll(".tree .row[data-agent]")].map((row) => [row.dataset.agent, row]));
function openTarget() {
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  for (let at = target; at !== null; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", openTarget);
openTarget();
for (const link of document.querySelectorAll(".tree a")) link.addEventListener("click", (event) => { event.stopPropagation(); if (link.hash === location.hash) openTarget(); });
for (const summary of document.querySelectorAll(".tree summary")) summary.addEventListener("click", (event) => { if (!event.target.closest(".fold, a")) event.preventDefault(); });
const words = byId("words");
const found = byId("found");
let waiting = 0;
function find() {
  const wanted = words.value.trim().toLowerCase();
  let shown = 0;
  for (const agent of agents) {
    const fits = wanted === "" || agent.textContent.toLowerCase().includes(wanted);
    agent.classList.toggle("hidden", !fits);
    const row = rows.get(agent.id);
    if (row !== undefined) row.classList.toggle("dim", !fits);
    shown += fits ? 1 : 0;
  }
  found.textContent = wanted === "" ? "" : shown + " of " + agents.length + " agents";
}
words.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(find, 120); });
const all = byId("all");
all.addEventListener("click", () => {
  const open = all.dataset.open !== "true";
  for (const agent of agents) agent.open = open;
  all.dataset.open = String(open);
  all.textContent = open ? "Close all" : "Open all";
});
addEventListener("keydown", (event) => { if (event.key === "/" && document.activeElement !== words) { event.preventDefault(); words.focus(); } });
byId("find").hidden = false;
`;
