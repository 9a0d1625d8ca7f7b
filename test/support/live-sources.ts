/** Recordings of live sources next to the recorded homes, and the agents that each of them names. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { caseNames, FIXTURES, filesBelow, type RecordedHome, type RecordedThread, recordedHome } from "./fixtures.ts";

export interface LiveHome extends RecordedHome {
  readonly provider: string;
  readonly recordings: string;
  /** `run`, `hooks`, `otlp`. */
  readonly kinds: readonly string[];
  /** Agents of the truth that the source names, by the product's id; with their parents, if it names these as well. */
  named(
    kind: string,
    thread: RecordedThread,
  ): readonly { readonly agentId: string; readonly parentAgentId?: string | null }[];
}

export function liveHomes(provider: string): LiveHome[] {
  return caseNames(provider).flatMap((name) => {
    const recordings = join(FIXTURES, provider, name, "recordings");
    if (!existsSync(recordings)) return [];
    const kinds = readdirSync(join(recordings, provider)).sort();
    return [
      {
        ...recordedHome(provider, name),
        provider,
        recordings,
        kinds,
        named: (kind, thread) => namedIn(join(recordings, provider, kind), thread),
      },
    ];
  });
}

/** Agents whose id occurs anywhere in the recording. Ids are long enough to be unambiguous. */
function namedIn(folder: string, { agents }: RecordedThread) {
  const text = filesBelow(folder)
    .map((path) => readFileSync(join(folder, path), "utf8"))
    .join("\n");
  const isNamed = (id: string | null) => id !== null && text.includes(id);
  return agents.flatMap(({ agentId, parentAgentId, agentIdNative }) => {
    if (agentId === null || agentIdNative === false || !isNamed(agentId)) return [];
    return [parentAgentId === null || isNamed(parentAgentId) ? { agentId, parentAgentId } : { agentId }];
  });
}
