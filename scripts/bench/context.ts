import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ccusageProgram } from "./ccusage.ts";
import { bytes } from "./format.ts";
import { type HomeOptions, type HomeStats, writeHome } from "./home.ts";
import type { Command } from "./measure.ts";
import { type RolloutStats, writeRollouts } from "./rollouts.ts";

export interface GeneratedHome {
  readonly folder: string;
  readonly stats: HomeStats;
  /** Null if the home has only transcripts of Claude Code. */
  readonly rollouts: RolloutStats | null;
}

/** Share of the bytes of a home that are rollouts of Codex. */
const ROLLOUTS_SHARE = 0.25;

/** Shared by the tables of one run: the generated homes, and ccusage. */
export class Context {
  readonly scratch: string;
  readonly runs: number;
  readonly notify: (text: string) => void;
  readonly #homes = new Map<string, GeneratedHome>();
  #ccusage: string | null = null;

  constructor(scratch: string, runs: number, notify: (text: string) => void) {
    this.scratch = scratch;
    this.runs = runs;
    this.notify = notify;
  }

  /** A folder that is removed at the end of the run. */
  folder(name: string): string {
    return mkdtempSync(join(this.scratch, `${name}-`));
  }

  /**
   * Written once, even if several tables measure it. Contains rollouts of Codex unless `sessions` is given.
   */
  home(options: HomeOptions): GeneratedHome {
    const known = this.#homes.get(nameOf(options));
    if (known !== undefined) return known;
    this.notify(`writing a home of ${bytes(options.bytes)}`);
    const folder = this.folder("home");
    const part = options.sessions === undefined ? ROLLOUTS_SHARE * options.bytes : 0;
    const stats = writeHome(join(folder, ".claude"), { ...options, bytes: options.bytes - part });
    const made = {
      folder,
      stats,
      rollouts: part === 0 ? null : writeRollouts(join(folder, ".codex"), { bytes: part, seed: options.seed }),
    };
    this.#homes.set(nameOf(options), made);
    return made;
  }

  /** Removes the homes that no remaining table measures. */
  keepOnly(options: readonly HomeOptions[]): void {
    const names = new Set(options.map(nameOf));
    for (const [name, { folder }] of this.#homes) {
      if (names.has(name)) continue;
      rmSync(folder, { recursive: true });
      this.#homes.delete(name);
    }
  }

  /** The command that sums up the sessions of one product. */
  async ccusage(home: string, product: "claude" | "codex" = "claude"): Promise<Command> {
    this.#ccusage ??= await ccusageProgram();
    return {
      program: this.#ccusage,
      args: [product, "session", "--json", "--offline"],
      env: { PATH: process.env.PATH ?? "", HOME: home },
    };
  }
}

const nameOf = (options: HomeOptions) => JSON.stringify(options);
