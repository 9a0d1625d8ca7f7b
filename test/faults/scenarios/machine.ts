/**
 * Faults of the machine under a server: the disk is full or read-only, the index is locked, the clock jumps,
 * files change while they are read.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { filesBelow } from "../../support/fixtures.ts";
import { type Environment, environment, holdsInTime, Run } from "../process.ts";
import { type Scenario, type Stage, Tally } from "../scenario.ts";
import { compare, freshState, leftoversIn, makeHome, stateOf } from "../state.ts";
import { shortened } from "./serve.ts";

interface Health {
  readonly watching: boolean;
}

interface Disturbed extends Stage {
  readonly home: string;
  readonly data: string;
  readonly env: Environment;
  readonly tally: Tally;
  /** Appends a line to some transcript. */
  readonly grow: () => void;
}

/**
 * A server that runs all the time. It must respond during the fault, and know everything afterwards without a
 * restart.
 */
async function disturbed(
  stage: Stage,
  node: readonly string[],
  disturb: (on: Disturbed) => Promise<void>,
): Promise<Tally> {
  const home = join(stage.scratch, "home");
  const data = join(stage.scratch, "data");
  const env = environment(home, data);
  makeHome(home);
  mkdirSync(data, { recursive: true });
  const more = shortened(home);
  const tally = new Tally();
  const server = new Run(["serve", "--port", "0", "--no-open"], env, { node });
  const address = (await server.firstLine()) ?? "";
  const get = async (path: string) =>
    (await fetch(new URL(path, address), { signal: AbortSignal.timeout(30_000) })).json();
  await holdsInTime(async () => ((await get("/api/health")) as Health).watching);
  await disturb({ ...stage, home, data, env, tally, grow: () => more.next().value?.() });
  // New records are in the index soon afterwards, or stay in memory if nothing can be written.
  const right = (await freshState(env)).filter((line) => line.startsWith("tree "));
  let losses: readonly string[] = [];
  const isRight = async () => {
    const { items } = (await get("/api/threads?limit=1000")) as { items: { uri: string }[] };
    const trees = await Promise.all(
      items.map(async ({ uri }) => `tree ${JSON.stringify(await get(`/api/agents/${encodeURIComponent(uri)}`))}`),
    );
    losses = compare(trees.sort(), right).losses;
    return losses.length === 0;
  };
  const isCaughtUp = await holdsInTime(isRight).catch((error: Error) => {
    losses = [`the server does not answer: ${error.message}`];
    return false;
  });
  if (!isCaughtUp) tally.losses.push(...losses, `its messages: ${server.stderr.slice(0, 600)}`);
  if (/bug in retinue|no longer watching/.test(server.stderr))
    tally.losses.push(`its messages: ${server.stderr.slice(0, 600)}`);
  const code = await Promise.race([
    server.kill("SIGTERM").then(() => server.ended),
    wait(30_000).then(() => "nothing"),
  ]);
  if (code !== 0) tally.losses.push(`it ends with ${code} when asked to: ${server.stderr.slice(0, 600)}`);
  await server.kill();
  const after = compare(await stateOf(env), await freshState(env));
  tally.losses.push(...after.losses);
  tally.duplicates.push(...after.duplicates);
  tally.leftovers.push(...leftoversIn(data));
  return tally;
}

/** One command during the fault: it must still work. */
async function lists({ env, tally }: Disturbed): Promise<void> {
  const run = new Run(["ls", "--json", "--limit", "1000"], env);
  const code = await Promise.race([run.ended, wait(60_000).then(() => "nothing")]);
  if (code !== 0) tally.losses.push(`ls ends with ${code}: ${run.stderr.slice(0, 300)}`);
  await run.kill();
}

const hasMount = () => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root, to mount a small tmpfs";
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" });
    return null;
  } catch {
    return "mounting is not allowed here";
  }
};

async function onSmallDisk(stage: Stage, disturb: (on: Disturbed) => Promise<void>): Promise<Tally> {
  const data = join(stage.scratch, "data");
  mkdirSync(data);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", data]);
  try {
    return await disturbed(stage, [], disturb);
  } finally {
    execFileSync("umount", ["--lazy", data]);
  }
}

export const diskFull: Scenario = {
  name: "disk full",
  fault: "no room below RETINUE_HOME",
  times: 10,
  few: 0,
  cannot: hasMount,
  run: (stage) =>
    onSmallDisk(stage, async (on) => {
      const ballast = join(on.data, "recordings", "ballast");
      mkdirSync(join(on.data, "recordings"), { recursive: true });
      for (; on.tally.faults < on.times; on.tally.faults += 1) {
        try {
          for (let size = 4 << 20; size >= 1_024; ) {
            const { bavail, bsize } = statfsSync(on.data);
            if (bavail * bsize < size) size >>= 1;
            else writeFileSync(ballast, Buffer.alloc(size), { flag: "a" });
          }
        } catch {
          // The disk is full.
        }
        for (let n = 0; n < 40; n += 1) {
          on.grow();
          await wait(20);
        }
        await lists(on);
        rmSync(ballast, { force: true });
        await wait(500);
      }
    }),
};

export const readOnly: Scenario = {
  name: "read-only",
  fault: "RETINUE_HOME becomes read-only",
  times: 10,
  few: 0,
  cannot: hasMount,
  run: (stage) =>
    onSmallDisk(stage, async (on) => {
      for (; on.tally.faults < on.times; on.tally.faults += 1) {
        // Files open for writing keep a mount writable; a bind mount is read-only for all processes at once.
        execFileSync("mount", ["--bind", on.data, on.data]);
        execFileSync("mount", ["-o", "remount,bind,ro", on.data]);
        for (let n = 0; n < 40; n += 1) {
          on.grow();
          await wait(20);
        }
        await lists(on);
        execFileSync("umount", ["--lazy", on.data]);
        await wait(500);
      }
    }),
};

const LOCK = `
const { DatabaseSync } = await import("node:sqlite");
const index = new DatabaseSync(process.argv[1]);
index.exec("PRAGMA busy_timeout = 60000");
index.exec("BEGIN EXCLUSIVE");
process.stdout.write("locked\\n");
setInterval(() => {}, 1000);
`;

export const locked: Scenario = {
  name: "locked",
  fault: "index locked by a stopped process",
  times: 4,
  few: 0,
  run: (stage) =>
    disturbed(stage, [], async (on) => {
      for (; on.tally.faults < on.times; on.tally.faults += 1) {
        const holder = spawn(
          process.execPath,
          ["--input-type=module", "--no-warnings", "-e", LOCK, join(on.data, "index.sqlite")],
          {
            stdio: ["ignore", "pipe", "inherit"],
          },
        );
        await once(holder.stdout, "data");
        holder.kill("SIGSTOP");
        const listing = lists(on);
        for (let n = 0; n < 200; n += 1) {
          if (n % 5 === 0) on.grow();
          await wait(50);
        }
        holder.kill("SIGKILL");
        await listing;
      }
    }),
};

const CLOCK = `data:text/javascript,${encodeURIComponent(`
const [now, RealDate, start] = [Date.now, Date, Date.now()];
const [hour, years] = [3_600_000, 5 * 365 * 86_400_000];
const shifts = [0, -hour, 0, years, 0, -years];
const shift = () => shifts[Math.floor((now() - start) / 1000) % shifts.length];
Date.now = () => now() + shift();
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => (args.length === 0 ? new target(now() + shift()) : new target(...args)),
  apply: (target) => String(new target(now() + shift())),
});
`)}`;

export const clockJumps: Scenario = {
  name: "clock",
  fault: "the clock jumps back and forth, by an hour and by five years",
  times: 10,
  few: 0,
  run: (stage) =>
    disturbed(stage, ["--import", CLOCK], async (on) => {
      for (; on.tally.faults < on.times; on.tally.faults += 1)
        for (let n = 0; n < 40; n += 1) {
          on.grow();
          await wait(50);
        }
    }),
};

export const filesChange: Scenario = {
  name: "files",
  fault: "transcripts replaced, truncated, deleted, renamed",
  times: 100,
  few: 4,
  run: (stage) =>
    disturbed(stage, [], async ({ home, random, tally, times, grow }) => {
      const paths = filesBelow(home).filter((path) => path.endsWith(".jsonl"));
      for (; tally.faults < times; tally.faults += 1) {
        const path = join(home, random.of(paths));
        const whole = readFileSync(path);
        grow();
        const grown = readFileSync(path);
        const pause = () => wait(random.below(150));
        switch (random.below(4)) {
          case 0:
            copyFileSync(path, `${path}.new`);
            await pause();
            renameSync(`${path}.new`, path);
            break;
          case 1:
            truncateSync(path, random.below(whole.length + 1));
            await pause();
            writeFileSync(path, grown);
            break;
          case 2:
            rmSync(path);
            await pause();
            writeFileSync(path, grown);
            break;
          default:
            renameSync(path, `${path}.away`);
            await pause();
            renameSync(`${path}.away`, path);
        }
        await pause();
      }
    }),
};
