import type { FinalText } from "../facts/fact-columns.ts";
import { partsOf } from "../facts/ids.ts";
import type { ObservationOf } from "../facts/observation.ts";
import { singleSpaced } from "../tools/spaces.ts";

/**
 * Keys that a shell call and a thread that it started have in common, although neither names the other: a folder and a
 * time, the first line of a prompt, the last line of an answer. They only make both threads part of one component;
 * `external.ts` decides. Threads seek what calls offer: two threads with the same key have nothing to do with each other.
 */
export function lineageKeys(o: Traced): readonly string[] {
  const keys = keysIn(o);
  const mark = o.type === "shell-called" || o.type === "shell-returned" ? OFFERED : SOUGHT;
  return keys.map((key) => `${mark}${key}`);
}

type Traced = ObservationOf<"thread-began" | "agent-described" | "shell-called" | "shell-returned"> | FinalText;

/** First characters of keys: an offered key joins its thread only to threads that seek the same key. */
export const OFFERED = "!";
export const SOUGHT = "?";

function keysIn(o: Traced): readonly string[] {
  if (o.at === null) return [];
  switch (o.type) {
    case "thread-began":
      return [startKey(o.cwd, Math.floor(o.at / WINDOW_MS))];
    case "agent-described":
      return o.prompt === undefined || !isThread(o) ? [] : promptKeys(o.prompt, o.at, o.at);
    case "record":
      return o.text === null || !isThread(o) ? [] : answerKeys(o.text, 1, o.at, o.at);
    case "shell-called":
      return keysOfCall(o, o.at);
    case "shell-returned":
      return keysOfReturn(o, o.at);
    default:
      return o satisfies never;
  }
}

/** Threads that began this close to each other in one folder are linked together, if a shell call did so, too. */
const WINDOW_MS = 32_000;
const MAX_WINDOWS = 120;
const HOUR_MS = 3_600_000;
const MAX_HOURS = 3;
/** Shorter texts are too common. */
export const DISTINCTIVE = 12;
/** An answer may be followed by other output of the script. */
const LAST_LINES = 3;

const isThread = ({ speaker }: Traced) => partsOf(speaker).agent === null;
const startKey = (folder: string, window: number) => `start:${folder}:${window}`;

function keysOfCall(o: ObservationOf<"shell-called">, at: number): readonly string[] {
  if (o.launches.length === 0) return [];
  const first = Math.floor(at / WINDOW_MS);
  const starts = (o.folders ?? []).flatMap((folder) => [startKey(folder, first), startKey(folder, first + 1)]);
  const prompts = o.launches.flatMap((launch) =>
    launch.prompts.flatMap(([text = "", ...more]) =>
      more.length > 0 && !text.includes("\n") ? [] : promptKeys(text, at, at + HOUR_MS),
    ),
  );
  return [...starts, ...prompts];
}

function keysOfReturn(o: ObservationOf<"shell-returned">, at: number): readonly string[] {
  const from = o.calledAt ?? at;
  if (o.folders === null) return answerKeys(o.output, LAST_LINES, from, at);
  const [first, last] = [Math.floor(from / WINDOW_MS), Math.floor(at / WINDOW_MS) + 1];
  const windows = Array.from({ length: Math.min(last - first + 1, MAX_WINDOWS) }, (_, i) => first + i);
  return o.folders.flatMap((folder) => windows.map((window) => startKey(folder, window)));
}

function promptKeys(prompt: string, from: number, to: number): readonly string[] {
  const line = singleSpaced(prompt.trimStart().split("\n", 1)[0] ?? "").replace(/^["']|["']$/g, "");
  return line.length < DISTINCTIVE ? [] : hours(from, to).map((hour) => `asked:${hour}:${line}`);
}

function answerKeys(text: string, count: number, from: number, to: number): readonly string[] {
  const lines: string[] = [];
  const all = text.slice(-2_000).split("\n");
  for (let i = all.length - 1; i >= 0 && lines.length < count; i -= 1) {
    const line = singleSpaced(all[i] ?? "");
    if (line.length >= DISTINCTIVE) lines.unshift(line);
  }
  return lines.flatMap((line) => hours(from, to).map((hour) => `answered:${hour}:${line}`));
}

function hours(from: number, to: number): readonly number[] {
  const [first, last] = [Math.floor(from / HOUR_MS), Math.floor(to / HOUR_MS)];
  return Array.from({ length: Math.min(last - first + 1, MAX_HOURS) }, (_, i) => first + i);
}
