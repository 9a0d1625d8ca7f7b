import type { PidMark } from "../facts/observation.ts";
import { asList, asNonBlank, asNumber, asObject, asText, asTime, type JsonObject } from "../tools/json.ts";

/** Notes about a wrapped command in its recording. */
export interface RunBegan {
  readonly command: readonly string[];
  readonly cwd: string | null;
  readonly process: PidMark;
}

export interface RunEnded {
  readonly code: number | null;
  readonly signal: string | null;
}

export const beganNote = ({ command, cwd, process }: RunBegan): JsonObject => ({ began: { command, cwd, ...process } });
export const endedNote = ({ code, signal }: RunEnded): JsonObject => ({ ended: { code, signal } });

export function beganIn(note: JsonObject): RunBegan | null {
  const began = asObject(note.began);
  const pid = asNumber(began?.pid);
  if (began === null || pid === null) return null;
  return {
    command: asList(began.command).flatMap((word) => asText(word) ?? []),
    cwd: asNonBlank(began.cwd),
    process: {
      pid,
      birth: asNonBlank(began.birth),
      domain: asNonBlank(began.domain),
      startedAt: asTime(began.startedAt),
    },
  };
}

export function endedIn(note: JsonObject): RunEnded | null {
  const ended = asObject(note.ended);
  return ended === null ? null : { code: asNumber(ended.code), signal: asNonBlank(ended.signal) };
}
