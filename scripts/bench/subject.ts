import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { setTimeout as wait } from "node:timers/promises";
import { filesBelow } from "../../test/support/fixtures.ts";
import type { HomeStats } from "./home.ts";
import type { Command } from "./measure.ts";

const ROOT = join(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "bin/retinue.js");

/** The built command on one generated home. */
export class Subject {
  readonly home: string;
  readonly stats: HomeStats;
  #data: string;

  constructor(home: string, stats: HomeStats) {
    this.home = home;
    this.stats = stats;
    this.#data = mkdtempSync(join(home, "data-"));
  }

  /** Replaces retinue's data folder by an empty one. */
  reset(): void {
    rmSync(this.#data, { recursive: true });
    this.#data = mkdtempSync(join(this.home, "data-"));
  }

  /** Removes retinue's data folder and keeps the transcripts. */
  remove(): void {
    rmSync(this.#data, { recursive: true });
  }

  command(...args: string[]): Command {
    return { program: process.execPath, args: [PROGRAM, ...args], env: this.#env() };
  }

  #env(): Record<string, string> {
    return { PATH: process.env.PATH ?? "", HOME: this.home, RETINUE_HOME: this.#data, NO_COLOR: "1" };
  }

  /** Size of retinue's data folder. */
  keptBytes(): number {
    return filesBelow(this.#data).reduce((sum, path) => sum + readFileSync(join(this.#data, path)).length, 0);
  }

  /** Appends a record to the newest session, in the format of its product. */
  grow(number: number): void {
    const { id, path } = this.stats.newest;
    const at = new Date(Date.parse("2026-12-01T00:00:00.000Z") + number * 1_000).toISOString();
    const uuid = `ffffffff-0000-4000-8000-${String(number).padStart(12, "0")}`;
    const common = {
      parentUuid: null,
      isSidechain: false,
      uuid,
      timestamp: at,
      sessionId: id,
      version: "2.1.220",
      cwd: "/home/dev/project",
    };
    appendFileSync(
      path,
      `${JSON.stringify({ ...common, type: "user", message: { role: "user", content: `One more, number ${number}.` } })}\n`,
    );
  }

  /**
   * Seconds from writing a record until `events --follow` prints it, for `count` records in sequence.
   */
  async followDelays(first: number, count: number): Promise<number[]> {
    const { program, args, env } = this.command("events", `claude://${this.stats.newest.id}`, "--follow");
    const child = spawn(program, [...args], { env: { ...env }, stdio: ["ignore", "pipe", "inherit"] });
    try {
      return await this.#delays(child.stdout, first, count);
    } finally {
      child.kill();
    }
  }

  /** The same until a client of the server's live stream receives it. */
  async streamDelays(first: number, count: number): Promise<number[]> {
    const { program, args, env } = this.command("serve", "--port", "0", "--no-open");
    const child = spawn(program, [...args], { env: { ...env }, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [address] = (await once(child.stdout, "data")) as [Buffer];
      const url = new URL(
        `/api/live?events=${encodeURIComponent(`claude://${this.stats.newest.id}`)}`,
        address.toString().trim(),
      );
      // The server responds before it has read the files.
      for (let tries = 0; (await fetch(url)).status !== 200 && tries < 600; tries += 1) await wait(100);
      const { body } = await fetch(url);
      if (body === null) throw new Error("the live stream is empty");
      const output = Readable.fromWeb(body as ReadableStream<Uint8Array>);
      const delays = await this.#delays(output, first, count);
      output.destroy();
      return delays;
    } finally {
      child.kill();
    }
  }

  #delays(output: Readable, first: number, count: number): Promise<number[]> {
    return new Promise<number[]>((resolve, reject) => {
      const delays: number[] = [];
      let written = 0;
      let text = "";
      const write = () => {
        written = performance.now();
        this.grow(first + delays.length);
      };
      // Existing events come first. Starts writing when no output has arrived for a while.
      let quiet = setTimeout(write, QUIET_MS);
      const limit = setTimeout(() => reject(new Error("a new record was not shown within a minute")), 60_000);
      output.on("error", reject).on("data", (piece: Uint8Array) => {
        text = (text + Buffer.from(piece).toString()).slice(-100_000);
        if (written === 0) {
          clearTimeout(quiet);
          quiet = setTimeout(write, QUIET_MS);
        } else if (text.includes(`One more, number ${first + delays.length}.`)) {
          delays.push((performance.now() - written) / 1_000);
          if (delays.length < count) {
            setTimeout(write, PAUSE_MS);
            return;
          }
          clearTimeout(limit);
          resolve(delays);
        }
      });
    });
  }
}

const QUIET_MS = 2_000;
/** Long enough for the previous record to be processed, and not round, so that writes do not align with timers. */
const PAUSE_MS = 370;
