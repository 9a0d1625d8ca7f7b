import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { hash } from "../../core/tools/hash.ts";

/** One write of a recording: a line appended to a file, or a whole small document. */
interface Step {
  readonly path: string;
  readonly at: number;
  readonly text: string;
  readonly isWhole: boolean;
}

export interface Recording {
  readonly steps: readonly Step[];
  readonly began: number;
  readonly lasted: number;
}

export interface ReplayOptions {
  readonly to: string;
  /** Start of the replay in epoch milliseconds; earlier steps are written at once. */
  readonly begins: number;
  /** Duration of the replay. */
  readonly lasts: number;
  /** New ids are derived from it. Replays with equal ids would be linked as copies of each other. */
  readonly seed: number;
  readonly signal: AbortSignal;
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** Milliseconds since 1970; only values near the time of the recording are times. */
const EPOCH = /\b1\d{12}\b/g;
const AROUND_MS = 60_000;

/** The files of a folder as steps, ordered by the times of their records. */
export function recordingIn(folder: string): Recording {
  const paths = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
  const texts = new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
  const logs = [...texts].flatMap(([path, text]) => (TIME.test(text) ? [linesOf(path, text)] : []));
  const begins = new Map(logs.map((steps) => [steps[0]?.path ?? "", steps[0]?.at ?? 0]));
  const documents = [...texts]
    .filter(([path]) => !begins.has(path))
    .map(([path, text]): Step => ({ path, at: timeOfNearest(path, begins), text, isWhole: true }));
  const steps = [...documents, ...logs.flat()].sort((a, b) => a.at - b.at);
  const began = steps[0]?.at ?? 0;
  return { steps, began, lasted: Math.max(1, (steps.at(-1)?.at ?? 0) - began) };
}

/** A record without a time was written with the one before it. */
function linesOf(path: string, text: string): Step[] {
  const lines = text.split("\n").filter((line) => line !== "");
  let at = timeIn(text) ?? 0;
  return lines.map((line) => {
    at = Math.max(at, timeIn(line) ?? at);
    return { path, at, text: `${line}\n`, isWhole: false };
  });
}

function timeIn(text: string): number | null {
  const [found] = text.match(TIME) ?? [];
  return found === undefined ? null : Date.parse(found);
}

/** A document without a time is written when the log with the most similar name begins. */
function timeOfNearest(path: string, begins: ReadonlyMap<string, number>): number {
  const ids = path.match(ID) ?? [];
  const similarity = (other: string) => {
    let same = 0;
    while (same < path.length && path[same] === other[same]) same += 1;
    return same + path.length * ids.filter((id) => other.includes(id)).length;
  };
  const [nearest] = [...begins].sort(([a], [b]) => similarity(b) - similarity(a));
  return nearest?.[1] ?? 0;
}

/** Writes the recording again in real time. */
export async function replay(
  { steps, began, lasted }: Recording,
  { to, begins, lasts, seed, signal }: ReplayOptions,
): Promise<void> {
  const now = (at: number) => begins + ((at - began) / lasted) * lasts;
  const renamed = (text: string) => text.replace(ID, (id) => anotherId(id, seed));
  const isRecordedTime = (at: number) => Math.abs(at - began) < AROUND_MS + lasted;
  const retimed = (text: string) =>
    text
      .replace(TIME, (time) => new Date(now(Date.parse(time))).toISOString())
      .replace(EPOCH, (digits) => (isRecordedTime(Number(digits)) ? String(Math.round(now(Number(digits)))) : digits));
  for (const { path, at, text, isWhole } of steps) {
    const pause = now(at) - Date.now();
    if (pause > 0) await wait(pause, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const target = join(to, renamed(path));
    mkdirSync(dirname(target), { recursive: true });
    (isWhole ? writeFileSync : appendFileSync)(target, retimed(renamed(text)));
  }
}

/** Ids of sessions, agents, calls and records: UUIDs, long hexadecimal numbers, and random words after a prefix. */
const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\b[a-z]+_[0-9A-Za-z]{16,}\b/g;

/** Another id of the same form; deterministic for an id and a replay. */
function anotherId(id: string, seed: number): string {
  let at = 0;
  const digit = (of: number) => {
    at += 1;
    return hash(`${seed} ${at} ${id}`) % of;
  };
  const prefix = /^[a-z]+_/.exec(id)?.[0] ?? id.slice(0, 1);
  const isHex = /^[0-9a-f-]+$/.test(id);
  return (
    prefix +
    id.slice(prefix.length).replace(/[0-9a-zA-Z]/g, () => (isHex ? digit(16).toString(16) : digit(36).toString(36)))
  );
}
