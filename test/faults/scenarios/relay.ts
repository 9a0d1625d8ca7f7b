/** `retinue relay` is killed while it follows a server; the next one requests what it missed. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Library } from "../../../src/app/ingest/library.ts";
import { readEvents } from "../../../src/app/query/events.ts";
import { resolve } from "../../../src/app/query/resolve.ts";
import { subtreeOf } from "../../../src/core/link/forest.ts";
import { treeOf } from "../../../src/core/views/record.ts";
import { MemoryStore } from "../../../src/stores/memory.ts";
import { differences, type TreeNode } from "../../support/judge.ts";
import { FakeServer, followed, recordedResponses } from "../../support/opencode-server.ts";
import { type Environment, environment, holdsInTime, Run } from "../process.ts";
import { type Scenario, Tally } from "../scenario.ts";
import { leftoversIn } from "../state.ts";

const ROUND = 6;

export const relaying: Scenario = {
  name: "relay",
  fault: "SIGKILL of relay",
  weight: 3,
  few: 2,
  async run({ scratch, times, random }) {
    const home = join(scratch, "home");
    const data = join(scratch, "data");
    const env = environment(home, data);
    mkdirSync(home);
    const { frames, rest, threads } = followed("nested");
    const [truth] = threads;
    if (truth === undefined) throw new Error("the recording has no thread");
    const tally = new Tally();
    while (tally.faults < times) {
      rmSync(data, { recursive: true, force: true });
      const server = new FakeServer();
      server.respond = recordedResponses(rest);
      const follow = ["relay", "opencode", "--url", await server.start()];
      let sent = 0;
      for (let n = 0; n < ROUND && tally.faults < times; n += 1) {
        const relay = new Run(follow, env);
        const killed = relay.killAfter(150 + random.next() * 1_000);
        const until = Math.ceil((frames.length * (n + 1)) / ROUND);
        while (!relay.isOver) {
          if (sent < until) server.send(frames[sent++] ?? "");
          await wait(5);
        }
        if (await killed) tally.faults += 1;
      }
      const last = new Run(follow, env);
      let wrong: readonly string[] = [];
      const isRight = async () => {
        wrong = await readTree(env, truth.root).then(
          ({ tree, repeated }) => {
            tally.duplicates.push(...repeated);
            return differences(truth, tree);
          },
          (error: Error) => [error.message],
        );
        return wrong.length === 0;
      };
      if (!(await holdsInTime(isRight))) tally.losses.push(...wrong);
      await last.kill("SIGTERM");
      await server.stop();
      tally.leftovers.push(...leftoversIn(data));
    }
    return tally;
  },
};

/** The thread as recorded so far, and the events that are recorded twice. */
async function readTree(env: Environment, root: string): Promise<{ tree: TreeNode; repeated: string[] }> {
  const library = new Library({
    env,
    store: new MemoryStore(),
    price: () => null,
    staleAfterMs: Number.MAX_SAFE_INTEGER,
  });
  await library.refresh();
  const { key } = resolve(library, `opencode://${root}`);
  const forest = library.forestOf([key]);
  const seen = new Set<string>();
  const repeated: string[] = [];
  for (const { uri, kind, text, tool } of await readEvents(library, forest, subtreeOf(forest, key))) {
    const event = JSON.stringify([uri, kind, text, tool]);
    if (seen.has(event)) repeated.push(`reported twice: ${event.slice(0, 200)}`);
    seen.add(event);
  }
  return { tree: treeOf(forest, key, library.price) as unknown as TreeNode, repeated };
}
