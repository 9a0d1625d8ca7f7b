/**
 * `retinue proxy` is killed during exchanges, from the first one on. A separate thread records them, so those of the
 * last moment may be missing, but no earlier ones, and the recording has no gaps: every exchange that ended before a
 * recorded one began is recorded as well, once and completely.
 */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { asObject, parseJson } from "../../../src/core/tools/json.ts";
import { startUpstream } from "../../proxy/upstream.ts";
import { filesBelow } from "../../support/fixtures.ts";
import { environment, holdsInTime, Run } from "../process.ts";
import { type Scenario, Tally } from "../scenario.ts";
import { leftoversIn } from "../state.ts";

const EVENTS = [
  {
    type: "message_start",
    message: {
      id: "msg_01aaaaaaaaaaaaaaaaaaaaaa",
      model: "claude-opus-5-5",
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "word" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
].map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
const CLIENTS = 3;
/** Exchanges that ended longer than this before the kill are recorded, as docs/reliability.md says. */
const UNRECORDED_MS = 1_000;
/** Long enough that exchanges of the proxy's first moments ended longer ago. */
const LONGEST_LIFE_MS = 2_500;

export const proxying: Scenario = {
  name: "proxy",
  fault: "SIGKILL of proxy",
  weight: 2,
  few: 2,
  async run({ scratch, times, random }) {
    const data = join(scratch, "data");
    const env = environment(join(scratch, "home"), data);
    mkdirSync(join(scratch, "home"));
    const upstream = await startUpstream(async ({ outgoing }) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of EVENTS) {
        outgoing.write(event);
        await wait(5);
      }
      outgoing.end();
    });
    const tally = new Tally();
    let asked = 0;
    for (let n = 0; tally.faults < times; n += 1) {
      const proxy = new Run(["proxy", "--port", "0", "--upstream", upstream.url], env);
      const address = await proxy.firstLine();
      const answered: { readonly name: string; readonly began: number; readonly over: number }[] = [];
      const ask = async () => {
        try {
          for (;;) {
            const name = `exchange-${++asked}.`;
            const began = performance.now();
            const body = JSON.stringify({
              model: "claude-opus-5-5",
              stream: true,
              messages: [{ role: "user", content: name }],
            });
            const headers = {
              "content-type": "application/json",
              "x-claude-code-session-id": `11111111-2222-4333-8444-${n.toString(16).padStart(12, "0")}`,
            };
            const text = await (
              await fetch(new URL("/v1/messages", address ?? ""), { method: "POST", body, headers })
            ).text();
            if (text.includes("message_stop")) answered.push({ name, began, over: performance.now() });
          }
        } catch {
          // The proxy was killed.
        }
      };
      const clients = Array.from({ length: CLIENTS }, ask);
      await holdsInTime(() => answered.length > 0);
      const wasKilled = await proxy.killAfter(random.next() * LONGEST_LIFE_MS);
      const killed = performance.now();
      await Promise.all(clients);
      if (!wasKilled) throw new Error(`the proxy ended by itself: ${proxy.stderr}`);
      tally.faults += 1;
      const recorded = recordedIn(data);
      const last = Math.max(0, ...answered.filter(({ name }) => recorded.has(name)).map(({ began }) => began));
      for (const { name, over } of answered) {
        if (!recorded.has(name) && over < last)
          tally.losses.push(`${name} was over before another one began that is recorded`);
        else if (!recorded.has(name) && over < killed - UNRECORDED_MS)
          tally.losses.push(`${name} was over ${Math.round(killed - over)} ms before the kill and is not recorded`);
        if ((recorded.get(name) ?? 0) > 1) tally.duplicates.push(`${name} is recorded ${recorded.get(name)} times`);
      }
    }
    await upstream.close();
    tally.leftovers.push(...leftoversIn(data));
    return tally;
  },
};

/** How often each exchange is recorded from its beginning to its end. */
function recordedIn(data: string): Map<string, number> {
  const folder = join(data, "recordings/proxy");
  const names = new Map<string, string>();
  const ended = new Map<string, number>();
  for (const path of existsSync(folder) ? filesBelow(folder).filter((file) => file.endsWith(".jsonl")) : [])
    for (const line of readFileSync(join(folder, path), "utf8").split("\n")) {
      const note = asObject(asObject(parseJson(line)?.value)?.note);
      const name = note?.is === "asked" ? /exchange-\d+\./.exec(line)?.[0] : undefined;
      if (name !== undefined) names.set(String(note?.request), name);
      const known = note?.is === "ended" && note.how === "finished" ? names.get(String(note.request)) : undefined;
      if (known !== undefined) ended.set(known, (ended.get(known) ?? 0) + 1);
    }
  return ended;
}
