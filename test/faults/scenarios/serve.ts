/** `retinue serve` is killed while transcripts grow and clients send requests. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { filesBelow } from "../../support/fixtures.ts";
import { LiveReader } from "../../support/server.ts";
import { environment, holdsInTime, Run } from "../process.ts";
import { type Scenario, Tally } from "../scenario.ts";
import { compare, freshState, leftoversIn, makeHome, stateOf } from "../state.ts";

const ROUND = 8;

/** Removes the last lines of every transcript, and writes them back one at a time, alternating between the files. */
export function shortened(home: string): Iterator<() => void> {
  const cut = filesBelow(home)
    .filter((path) => path.endsWith(".jsonl"))
    .map((path) => {
      const lines = readFileSync(join(home, path), "utf8").split(/(?<=\n)/);
      const kept = Math.ceil(lines.length / 2);
      writeFileSync(join(home, path), lines.slice(0, kept).join(""));
      return { path: join(home, path), rest: lines.slice(kept) };
    });
  return (function* () {
    for (let left = cut; left.length > 0; left = left.filter(({ rest }) => rest.length > 0))
      for (const { path, rest } of left) {
        const line = rest.shift();
        if (line !== undefined) yield () => appendFileSync(path, line);
      }
  })();
}

/** Sends requests as a dashboard does, until the server is gone. */
async function client(address: string): Promise<number> {
  const stream = new LiveReader(new URL("/api/live?threads=true", address));
  // The connection breaks when the server is killed.
  stream.ended.catch(() => {});
  let answered = 0;
  try {
    for (;;) {
      const { items } = (await (await fetch(new URL("/api/threads", address))).json()) as { items: { uri: string }[] };
      for (const { uri } of items.slice(0, 3))
        await (await fetch(new URL(`/api/agents/${encodeURIComponent(uri)}/events`, address))).text();
      answered += 1;
      await wait(20);
    }
  } catch {
    // The server was killed.
    await stream.cut().catch(() => {});
    return answered;
  }
}

export const serving: Scenario = {
  name: "serve",
  fault: "SIGKILL of serve",
  weight: 4,
  few: 2,
  async run({ scratch, times, random }) {
    const home = join(scratch, "home");
    const data = join(scratch, "data");
    const env = environment(home, data);
    makeHome(home);
    const more = shortened(home);
    const tally = new Tally();
    while (tally.faults < times) {
      for (let n = 0; n < ROUND && tally.faults < times; n += 1) {
        const server = new Run(["serve", "--port", "0", "--no-open"], env);
        const killed = server.killAfter(200 + random.next() * 1_500);
        void server.firstLine().then((address) => (address === null ? null : client(address)));
        while (!server.isOver) {
          more.next().value?.();
          await wait(30);
        }
        if (await killed) tally.faults += 1;
      }
      const last = new Run(["serve", "--port", "0", "--no-open"], env);
      const address = await last.firstLine();
      const isWatching = async () =>
        ((await (await fetch(new URL("/api/health", address ?? ""))).json()) as { watching: boolean }).watching;
      if (!(await holdsInTime(isWatching))) tally.losses.push(`a server does not watch: ${last.stderr}`);
      await last.kill("SIGTERM");
      const { losses, duplicates } = compare(await stateOf(env), await freshState(env));
      tally.losses.push(...losses);
      tally.duplicates.push(...duplicates);
      tally.leftovers.push(...leftoversIn(data));
    }
    return tally;
  },
};
