/** Small files, facts and rows for tests of stores. */

import { FactColumns } from "../../src/core/facts/fact-columns.ts";
import { type AgentKey, observationId, recordKey, threadKey } from "../../src/core/facts/ids.ts";
import type { Fact, Observation } from "../../src/core/facts/observation.ts";
import type { FileBatch, FileState, RootRow } from "../../src/core/ports/store.ts";
import type { AgentRecord } from "../../src/core/views/agent.ts";

export const [A, B, C] = [threadKey("toy", "aaaaaaaa"), threadKey("toy", "bbbbbbbb"), threadKey("toy", "cccccccc")];
export const UNDER = ["/root"];

export const state = (path: string, more: Partial<FileState> = {}): FileState => ({
  path,
  within: null,
  root: "/root",
  provider: "toy",
  identity: "1:1",
  size: 10,
  modifiedMs: 1,
  offset: 10,
  lines: 1,
  generation: 0,
  tail: "t",
  parser: { remembers: ["this"] },
  gone: false,
  ...more,
});

export const observationOf = (
  speaker: AgentKey,
  place: string,
  fact: Fact,
  keys: readonly string[] = [],
): Observation => ({
  ...fact,
  id: observationId(place, 0),
  at: 1,
  speaker,
  keys: keys.map((k) => recordKey("toy", k)),
  order: 1,
});
export const recordIn = (speaker: AgentKey, place: string, record: string): Observation =>
  observationOf(
    speaker,
    place,
    { type: "record", role: "user", state: "open", certain: true, calls: [], results: [], text: null, message: true },
    [record],
  );
export const batch = (
  after: FileState,
  observations: readonly Observation[],
  before: FileState | null = null,
): FileBatch => ({
  before,
  after,
  facts: FactColumns.of(after.path, observations),
  problems: [],
  texts: [],
});
export const root = (key: AgentKey, lastActivity: number, more: Partial<RootRow> = {}): RootRow => ({
  key,
  provider: "toy",
  cwd: "/work",
  lastActivity,
  settled: true,
  internals: 0,
  record: { uri: `toy://${key}` } as AgentRecord,
  ...more,
});
export const ids = (list: readonly Observation[]) => list.map((o) => o.id).sort();
