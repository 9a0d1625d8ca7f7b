/** Tries inputs on a target, minimizes those that fail, and saves them. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../scripts/bench/random.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { type Opened, requireUnpolluted } from "./target.ts";

export const CORPUS = join(FIXTURES, "fuzz");
/** Limit of processor time for one input. */
const LIMIT_MS = 5_000;
/** A target with this many failures is not tried further. */
const MAX_FAILURES = 10;
const MINIMISE_MS = 20_000;

export interface Failed {
  readonly input: Buffer;
  readonly error: string;
}

/** The violated property; null if all hold. */
export async function faultOf(target: Opened, input: Buffer): Promise<string | null> {
  const before = process.threadCpuUsage();
  try {
    await target.check(input);
    requireUnpolluted();
  } catch (error) {
    return error instanceof Error
      ? error.name === "AssertionError"
        ? error.message
        : (error.stack ?? error.message)
      : String(error);
  }
  const { user, system } = process.threadCpuUsage(before);
  const ms = (user + system) / 1_000;
  return ms > LIMIT_MS ? `it took ${Math.round(ms)} ms of processor time` : null;
}

export interface CampaignOptions {
  readonly inputs: number;
  readonly seed: number;
  /** Called before each input, so that an input that never ends is known. */
  readonly onInput?: (input: Buffer) => void;
}

export async function campaign(
  target: Opened,
  { inputs, seed, onInput }: CampaignOptions,
): Promise<{ tried: number; failures: Failed[] }> {
  const random = seeded(seed);
  const failures = new Map<string, Failed>();
  let tried = 0;
  for (; tried < inputs && failures.size < MAX_FAILURES; tried += 1) {
    const input = target.generate(random);
    onInput?.(input);
    const error = await faultOf(target, input);
    if (error === null || failures.has(kindOf(error))) continue;
    failures.set(kindOf(error), await smallest(target, { input, error }));
  }
  return { tried, failures: [...failures.values()] };
}

/** Failures of the same kind are reported once. */
const kindOf = (error: string) => (error.split(/[:\n]/, 1)[0] ?? "") + (/^\s+at .*$/m.exec(error)?.[0] ?? "");

/** Removes pieces as long as the input fails in the same way. */
async function smallest(target: Opened, failed: Failed): Promise<Failed> {
  const end = Date.now() + MINIMISE_MS;
  let best = failed;
  for (let size = best.input.length >> 1; size >= 1 && Date.now() < end; ) {
    let isSmaller = false;
    for (let at = 0; at < best.input.length && Date.now() < end; ) {
      const input = Buffer.concat([best.input.subarray(0, at), best.input.subarray(at + size)]);
      const error = await faultOf(target, input);
      if (error !== null && kindOf(error) === kindOf(failed.error)) {
        best = { input, error };
        isSmaller = true;
      } else at += size;
    }
    if (!isSmaller || size > 1) size >>= 1;
  }
  return best;
}

/** Writes an input that failed to the corpus; returns its path. */
export function keepInput(target: string, input: Buffer): string {
  const folder = join(CORPUS, target);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, createHash("sha256").update(input).digest("hex").slice(0, 12));
  writeFileSync(path, input);
  return path;
}

export function keptInputs(target: string): { readonly name: string; readonly input: Buffer }[] {
  const folder = join(CORPUS, target);
  return existsSync(folder)
    ? readdirSync(folder).map((name) => ({ name, input: readFileSync(join(folder, name)) }))
    : [];
}
