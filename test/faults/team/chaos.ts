/**
 * Two team servers, PostgreSQL and many machines that ship while their transcripts grow; all of them are killed and
 * restarted at random. The first person has a second machine with a synced home folder. Afterwards each server must
 * answer what each machine computes.
 */
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../../../scripts/bench/random.ts";
import { Tally } from "../scenario.ts";
import { compare, leftoversIn } from "../state.ts";
import { answeredState, libraryOf, localState, shipRest } from "./answers.ts";
import { Follower } from "./follower.ts";
import { Machine, type Shipping, Twin } from "./machine.ts";
import { Site } from "./site.ts";

export interface ChaosOptions {
  readonly scratch: string;
  readonly random: Random;
  readonly machines: number;
  /** Shippers that run at the same time. */
  readonly alive: number;
  /** It ends after this many kills or this time, whichever comes first. */
  readonly kills: number;
  readonly ms: number;
  /** Shippers, servers and PostgreSQL live this many times shorter. */
  readonly haste: number;
  readonly notify: (text: string) => void;
}

export interface ChaosOutcome {
  readonly tally: Tally;
  readonly kills: { shippers: number; servers: number; databases: number };
  /** Of all machines in the end. */
  readonly compared: { threads: number; events: number; lines: number };
  /** Documents that were acknowledged during the disturbance, and those that were left. */
  readonly sent: { before: number; now: number };
  /** Reconnects of the live stream. */
  reconnects: number;
}

const SERVERS = 2;
const LONGEST_LIFE_MS = 25_000;
/** Local clock of the comparison: nothing runs any more then. */
const LATER_MS = 365 * 86_400_000;

export async function chaos(options: ChaosOptions): Promise<ChaosOutcome> {
  const { scratch, random, notify } = options;
  const site = await Site.start(scratch, SERVERS, random);
  try {
    const owners = Array.from({ length: options.machines }, (_, i) => `dev${i}`);
    const { ship, admin } = await site.tokens(owners);
    const machines = owners.map((owner, i) => new Machine(join(scratch, owner), owner, ship[i] ?? "", random));
    const outcome: ChaosOutcome = {
      tally: new Tally(),
      kills: { shippers: 0, servers: 0, databases: 0 },
      compared: { threads: 0, events: 0, lines: 0 },
      sent: { before: 0, now: 0 },
      reconnects: 0,
    };
    const follower = new Follower(site.address, admin);
    const [first] = machines;
    const twin = first === undefined ? null : new Twin(join(scratch, "twin"), first, ship[0] ?? "", random);
    await disturb(options, site, { machines, twin }, outcome);
    notify(`disturbed: ${JSON.stringify(outcome.kills)}`);
    await check(options, site, { machines, twin }, admin, outcome);
    const left = await follower.missing();
    outcome.reconnects = follower.reconnects;
    outcome.tally.losses.push(...left, ...site.noise.map((line) => `a server printed: ${line}`));
    await follower.stop();
    return outcome;
  } finally {
    await site.stop();
  }
}

interface Machines {
  readonly machines: readonly Machine[];
  /** Of the first machine. */
  readonly twin: Twin | null;
}

async function disturb(options: ChaosOptions, site: Site, { machines, twin }: Machines, outcome: ChaosOutcome) {
  const { random, alive, kills: most, ms, haste } = options;
  const { tally, kills } = outcome;
  const end = Date.now() + ms;
  const isOver = () => tally.faults >= most || Date.now() >= end;
  /** False if there were enough kills. */
  const count = (what: keyof typeof kills) => {
    if (tally.faults >= most) return false;
    tally.faults += 1;
    kills[what] += 1;
    return true;
  };
  const pause = (least: number, longest: number) => wait((least + random.next() * (longest - least)) / haste);
  const until = async (work: () => Promise<unknown>) => {
    while (!isOver()) await work();
  };
  const shippers: readonly Shipping[] = [...machines, ...(twin === null ? [] : [twin])];
  const shipper = async () => {
    const machine = random.of(shippers);
    // Sometimes two processes ship from one machine.
    if (machine.run !== null && !machine.run.isOver && !random.chance(0.1)) return wait(5);
    const run = machine.start(site.address);
    await Promise.race([pause(300, LONGEST_LIFE_MS), run.ended]);
    if ((await run.kill(random.chance(0.85) ? "SIGKILL" : "SIGTERM")) && run.child.signalCode === "SIGKILL")
      count("shippers");
  };
  await Promise.all([
    ...Array.from({ length: alive }, () => until(shipper)),
    until(async () => {
      const machine = random.of(machines);
      machine.work(machine === machines[0]);
      if (random.chance(0.02)) twin?.sync();
      await wait(Math.max(1, 200 / machines.length));
    }),
    until(async () => {
      await pause(1_500, 6_000);
      if (!isOver() && (await site.killServer(random.chance(0.75) ? "SIGKILL" : "SIGTERM", random.next() * 1_500)))
        count("servers");
    }),
    until(async () => {
      await pause(6_000, 20_000);
      if (isOver()) return;
      await site.restartDatabase(random.chance(0.7) ? "immediate" : "fast", random.next() * 3_000);
      count("databases");
    }),
  ]);
}

/** Ships the rest of each machine, and compares what both servers answer with what the machine computes. */
async function check(
  { notify }: ChaosOptions,
  site: Site,
  { machines, twin }: Machines,
  admin: string,
  outcome: ChaosOutcome,
) {
  const { tally, compared } = outcome;
  const now = Date.now() + LATER_MS;
  for (const [i, machine] of machines.entries()) {
    machine.finish();
    const copy = i === 0 ? twin : null;
    copy?.sync();
    const library = await libraryOf(machine, now);
    const libraryOfCopy = copy === null ? null : await libraryOf(copy, now);
    try {
      const shipAll = async () => {
        const { before, now: rest } = await shipRest(machine, library, site.address);
        const more = copy === null || libraryOfCopy === null ? null : await shipRest(copy, libraryOfCopy, site.address);
        return { before, now: rest + (more?.now ?? 0) };
      };
      const { before, now: rest } = await shipAll();
      outcome.sent.before += before;
      outcome.sent.now += rest;
      // The server may ask one of the two for its copy.
      if (copy !== null) await shipAll();
      const again = await shipAll();
      if (again.now > 0) tally.duplicates.push(`${machine.owner}: ${again.now} documents are sent again`);
      // Which of two equal copies is stored does not matter.
      const homes = [machine, ...(copy === null ? [] : [copy])].map(({ home }) => home);
      const plain = (line: string) => homes.reduce((text, home) => text.replaceAll(home, "~"), line);
      const right = (await localState(library)).map(plain);
      compared.lines += right.length;
      compared.threads += right.filter((line) => line.startsWith("tree ")).length;
      compared.events += right.filter((line) => line.startsWith("event ")).length;
      for (const server of site.servers) {
        const answered = (await answeredState(server, admin, machine.owner)).map(plain);
        const { losses, duplicates } = compare(answered, right);
        tally.losses.push(...losses.map((line) => `${machine.owner}: ${line}`));
        tally.duplicates.push(...duplicates.map((line) => `${machine.owner}: ${line}`));
      }
      tally.leftovers.push(...leftoversIn(machine.data).map((path) => `${machine.owner}: ${path}`));
    } finally {
      library.close();
      libraryOfCopy?.close();
    }
    notify(`${machine.owner} compared, ${tally.losses.length} losses, ${tally.duplicates.length} duplicates`);
  }
}
