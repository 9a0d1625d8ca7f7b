import { expect, it } from "vitest";
import { locate } from "./locate.ts";

const SESSION = "2026-11-16T13-37-14-853Z_01a1e493-8265-7621-8543-de3548ce3600";
const session = "01a1e493-8265-7621-8543-de3548ce3600";

it.each([
  [`-demo/${SESSION}.jsonl`, { is: "session", session, stem: SESSION }],
  [`${SESSION}.jsonl`, { is: "session", session, stem: SESSION }],
  ["-demo/mine.jsonl", { is: "session", session: null, stem: "mine" }],
  [`-demo/${SESSION}/Alpha.jsonl`, { is: "agent", session, agent: "Alpha", parent: null }],
  [`-demo/${SESSION}/alpha/alpha.beta.jsonl`, { is: "agent", session, agent: "alpha.beta", parent: "alpha" }],
  [
    `-demo/${SESSION}/alpha/alpha.beta/alpha.beta.c.jsonl`,
    { is: "agent", session, agent: "alpha.beta.c", parent: "alpha.beta" },
  ],
  [`-demo/${SESSION}/__advisor.jsonl`, { is: "advisor", session }],
  [`-demo/${SESSION}/__advisor.style.jsonl`, { is: "advisor", session }],
  [`-demo/${SESSION}/Alpha.md`, null],
  [`-demo/${SESSION}.jsonl.bak`, null],
  ["-demo/a/b/c.jsonl", null],
])("%s", (path, found) => {
  expect(locate(path)).toEqual(found);
});
