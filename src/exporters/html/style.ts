/** The style of the page: light, dark, print and small screens. Inlined. */
export const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --fg: #1c2024; --dim: #60646c; --line: #e3e5e9; --soft: #f5f6f8; --accent: #2f6fed; --call: #8aa4e8; --tool: #d9b36a;
  --completed: #2e8b57; --running: #2f6fed; --errored: #cf3c3c; --shutdown: #a8690b; --notFound: #80848c; --pendingInit: #80848c; }
@media (prefers-color-scheme: dark) { :root { --bg: #16181c; --fg: #e6e8eb; --dim: #9ba1aa; --line: #2c3036; --soft: #1e2126; --accent: #79a6ff; --call: #5570b8; --tool: #94763a;
  --completed: #55b985; --running: #79a6ff; --errored: #f07575; --shutdown: #e0a548; --notFound: #8b9098; --pendingInit: #8b9098; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 3.5rem; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: anywhere; }
main, header { max-width: 1200px; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
a { color: inherit; }
.dim { color: var(--dim); }
.facts { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0 0; padding: 0; list-style: none; color: var(--dim); }
.facts b { color: var(--fg); font-weight: 600; }
.find { position: sticky; top: 0; z-index: 1; display: flex; gap: .75rem; align-items: center; padding: .6rem 0; background: var(--bg); border-bottom: 1px solid var(--line); }
.find input { flex: 1; min-width: 0; font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .35rem .6rem; }
.find button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .35rem .7rem; cursor: pointer; white-space: nowrap; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.row { display: grid; grid-template-columns: minmax(0, 1fr) 6.5rem 5rem 5rem 5rem minmax(8rem, 26%); gap: .75rem; align-items: center; padding: .2rem .25rem; border-radius: 4px; }
.row:hover { background: var(--soft); }
.row.head { color: var(--dim); font-size: .85em; }
.row .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.row .who { min-width: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.row .who a { text-decoration: none; }
.row .who a:hover { text-decoration: underline; }
.tree summary { list-style: none; cursor: default; }
.tree summary::-webkit-details-marker { display: none; }
.tree details > summary .fold { display: inline-block; width: 1rem; color: var(--dim); cursor: pointer; }
.tree details > summary .fold::before { content: "▸"; }
.tree details[open] > summary .fold::before { content: "▾"; }
.tree .leaf { display: inline-block; width: 1rem; }
.tree svg { display: block; width: 100%; height: 14px; background: var(--soft); border-radius: 3px; }
.tree .life { opacity: .35; }
.status { font-size: .85em; white-space: nowrap; }
.status::before { content: "●"; margin-right: .35em; }
${["completed", "running", "errored", "shutdown", "notFound", "pendingInit"].map((status) => `.${status} { color: var(--${status}); fill: var(--${status}); }`).join("\n")}
.call { fill: var(--call); } .tool { fill: var(--tool); }
${Array.from({ length: 16 }, (_, i) => `.d${i} { padding-left: ${i * 1.1}rem; }`).join("\n")}
.agent { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; }
.agent > summary { padding: .5rem .75rem; cursor: pointer; }
.agent > div { padding: 0 .75rem .75rem; border-top: 1px solid var(--line); }
.step { margin: .6rem 0 0; padding-left: .75rem; border-left: 3px solid var(--line); }
.step.user { border-color: var(--accent); } .step.assistant { border-color: var(--completed); } .step.toolCall { border-color: var(--tool); } .step.error, .step.failed { border-color: var(--errored); }
.step .by { color: var(--dim); font-size: .85em; }
pre { margin: .15rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.message { font-family: inherit; font-size: inherit; }
.long > summary { color: var(--dim); cursor: pointer; }
.hidden { display: none; }
.none { color: var(--dim); padding: .5rem 0; }
footer { max-width: 1200px; margin: 2rem auto; padding: 0 1rem; color: var(--dim); font-size: .85em; }
@media (max-width: 800px) { .row { grid-template-columns: minmax(0, 1fr) 6rem 4.5rem; } .row > :nth-child(4), .row > :nth-child(5) { display: none; } .row > :nth-child(6) { grid-column: 1 / -1; } .row.head > :nth-child(6) { display: none; } }
@media print { .find { display: none; } }
`;
