/** A machine of a developer: a home whose transcripts grow, are rewritten and deleted, and a shipper that is killed. */
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Random } from "../../../scripts/bench/random.ts";
import { Load } from "../../../scripts/soak/load.ts";
import { FIXTURES, filesBelow } from "../../support/fixtures.ts";
import { type Environment, environment, Run } from "../process.ts";

/** Nested, parallel, forked, resumed, compacted, failed and killed agents of several products. */
const CASES = [
  "claude/c3-nested-parallel",
  "claude/d-background",
  "claude/h-resume",
  "claude/h2-forks",
  "claude/j-compact",
  "claude/m2-teams",
  "claude/n-workflow",
  "claude/o-fork",
  "claude/v2.0.60",
  "claude/v2.1.300",
  "codex/any-fork@0.166.0",
  "codex/any-v2@0.145.0",
  "codex/any-killresume@0.107.0",
] as const;
const CASES_EACH = 3;
const LOAD = { threads: 2, agents: 6 };

/** A retinue home and the process that ships from it. */
export class Shipping {
  readonly owner: string;
  readonly env: Environment;
  readonly home: string;
  readonly data: string;
  readonly #random: Random;
  run: Run | null = null;

  constructor(folder: string, owner: string, token: string, random: Random) {
    this.owner = owner;
    this.home = join(folder, "home");
    this.data = join(folder, "data");
    this.#random = random;
    mkdirSync(this.home, { recursive: true });
    const settings = join(folder, "config.yaml");
    // The comparison takes place long after the work; deleted transcripts are to follow then, too.
    writeFileSync(settings, "team: { keep_deleted_after: never }\n");
    this.env = environment(this.home, this.data, { RETINUE_TEAM_TOKEN: token, RETINUE_CONFIG: settings });
  }

  /** A process that ships to this address, if none runs. */
  start(address: string): Run {
    const once = this.#random.chance(0.3) ? ["--once"] : [];
    this.run = new Run(["ship", "--to", address, ...once], this.env);
    return this.run;
  }
}

/** Another machine of the same person, to whose home folder that of a machine is synced from time to time. */
export class Twin extends Shipping {
  readonly #original: Machine;

  constructor(folder: string, original: Machine, token: string, random: Random) {
    super(folder, original.owner, token, random);
    this.#original = original;
  }

  sync(): void {
    for (const path of filesBelow(this.#original.home)) {
      const [from, to] = [join(this.#original.home, path), join(this.home, path)];
      const { size, mtime } = statSync(from);
      if (existsSync(to) && statSync(to).size === size) continue;
      mkdirSync(dirname(to), { recursive: true });
      copyFileSync(from, `${to}.sync`);
      utimesSync(`${to}.sync`, mtime, mtime);
      renameSync(`${to}.sync`, to);
    }
  }
}

export class Machine extends Shipping {
  readonly #random: Random;
  readonly #load: Load;
  /** Lines of recordings that are not written yet, by path. */
  readonly #rest = new Map<string, string[]>();
  /** Share of the load's agents that have been spawned. */
  #progress = 0;

  constructor(folder: string, owner: string, token: string, random: Random) {
    super(folder, owner, token, random);
    this.#random = random;
    for (let n = 0; n < CASES_EACH; n += 1)
      cpSync(join(FIXTURES, random.of(CASES), "home"), this.home, { recursive: true });
    for (const path of this.#transcripts()) this.#shorten(path);
    // The same thread ids on every machine: they must never be mixed up.
    this.#load = new Load(this.home, LOAD);
    this.#load.flush();
  }

  #transcripts(): string[] {
    return filesBelow(this.home).flatMap((path) =>
      path.endsWith(".jsonl") && !path.includes("-home-dev-soak-") ? [join(this.home, path)] : [],
    );
  }

  /** Removes the end of a recording; it is written again line by line. */
  #shorten(path: string): void {
    const lines = readFileSync(path, "utf8").split(/(?<=\n)/);
    const kept = this.#random.below(lines.length + 1);
    writeFileSync(path, lines.slice(0, kept).join(""));
    this.#rest.set(path, [...lines.slice(kept), ...(this.#rest.get(path) ?? [])]);
  }

  #append(path: string): void {
    const line = this.#rest.get(path)?.shift();
    if (line === undefined) this.#rest.delete(path);
    else if (existsSync(path)) appendFileSync(path, line);
  }

  /** Some work: mostly appended records, sometimes a transcript that is rewritten, replaced or deleted, unless `isSteady`. */
  work(isSteady: boolean): void {
    const random = this.#random;
    const what = isSteady ? Math.max(0.04, random.next()) : random.next();
    const [path] = what < 0.04 ? [random.of([...this.#transcripts(), ""])] : [""];
    if (what >= 0.5) {
      this.#progress = Math.min(1, this.#progress + 0.02);
      this.#load.write(1 + random.below(8), this.#progress);
    } else if (what >= 0.04 || path === undefined || path === "") {
      const paths = [...this.#rest.keys()];
      if (paths.length > 0) this.#append(random.of(paths));
    } else if (what < 0.01) {
      rmSync(path);
      this.#rest.delete(path);
    } else if (what < 0.025) this.#shorten(path);
    else {
      // Another file with one record less.
      const lines = readFileSync(path, "utf8").split(/(?<=\n)/);
      lines.splice(random.below(lines.length), 1);
      writeFileSync(`${path}.new`, lines.join(""));
      renameSync(`${path}.new`, path);
    }
  }

  /** Writes the rest. */
  finish(): void {
    for (const path of [...this.#rest.keys()]) while (this.#rest.has(path)) this.#append(path);
    this.#load.end();
  }
}
