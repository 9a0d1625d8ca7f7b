import type { AgentKey } from "../../core/facts/ids.ts";

/** What a sync changed. */
export interface Changes {
  /** Threads with new facts. */
  readonly threads: ReadonlySet<AgentKey>;
  /** Files that were read, with the number of lines of each that were known before. */
  readonly files: ReadonlyMap<string, number>;
}

export const NO_CHANGES: Changes = { threads: new Set(), files: new Map() };

/** Earlier ones first: of a file that was read twice, the lines known before the first time count. */
export const bothChanges = (a: Changes, b: Changes): Changes => ({
  threads: a.threads.union(b.threads),
  files: new Map([...b.files, ...a.files]),
});
