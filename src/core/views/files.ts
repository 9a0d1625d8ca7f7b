import { asObject } from "../tools/json.ts";
import type { AgentEvent, EventRef } from "./event.ts";
import { changeOf, type FileChange, PATH, textOf } from "./file-change.ts";
import { everyone, type StoryCore } from "./story.ts";

export const FILE_USES = ["read", "write", "edit"] as const;
type FileUseKind = (typeof FILE_USES)[number];

/** A tool call that read or changed a file. */
export interface FileUse {
  /** The agent. */
  readonly uri: string;
  readonly kind: FileUseKind;
  readonly at: string | null;
  readonly event: string;
  readonly ref: EventRef | null;
  readonly tool: string | null;
  readonly isError: boolean;
  /** What was changed, if the call contains it. */
  readonly change: FileChange | null;
}

export interface UsedFile {
  /** Absolute if the agent's folder is known. */
  readonly path: string;
  readonly reads: number;
  readonly writes: number;
  readonly edits: number;
  /** Agents that used it, in order of first use. */
  readonly agents: readonly string[];
  /** Oldest first. */
  readonly uses: readonly FileUse[];
}

/**
 * The files that the agents of a subtree read and changed, by their tool calls. Files that a shell command uses are not
 * known. Most used first.
 */
export function filesOf(story: StoryCore): UsedFile[] {
  const uses = [...everyone(story)].flatMap((one) => usesOf(one));
  const byPath = Map.groupBy(uses, ({ path }) => path);
  const counted = [...byPath].map(([path, list]): UsedFile => {
    const ordered = list.map(({ use }) => use).sort((a, b) => timeOf(a) - timeOf(b));
    const done = ordered.filter(({ isError }) => !isError);
    const count = (kind: FileUseKind) => done.filter((use) => use.kind === kind).length;
    return {
      path,
      reads: count("read"),
      writes: count("write"),
      edits: count("edit"),
      agents: [...new Set(ordered.map(({ uri }) => uri))],
      uses: ordered,
    };
  });
  return counted.sort(
    (a, b) => changesIn(b) - changesIn(a) || b.uses.length - a.uses.length || (a.path < b.path ? -1 : 1),
  );
}

export const changesIn = ({ writes, edits }: UsedFile) => writes + edits;
const timeOf = ({ at }: FileUse) => (at === null ? 0 : Date.parse(at));

interface Used {
  readonly path: string;
  readonly use: FileUse;
}

function usesOf({ record, steps }: StoryCore): Used[] {
  const failed = new Set(
    steps.flatMap(({ event: { kind, tool } }) =>
      kind === "toolResult" && tool?.isError === true ? [tool.callId] : [],
    ),
  );
  return steps.flatMap(({ event }) => {
    if (event.kind !== "toolCall" || event.tool === null) return [];
    const base = {
      uri: record.uri,
      at: event.at,
      event: event.id,
      ref: event.ref,
      tool: event.tool.name,
      isError: failed.has(event.tool.callId),
    };
    return touchedBy(event).map(({ path, kind, change }) => ({
      path: absolute(path, record.cwd),
      use: { ...base, kind, change },
    }));
  });
}

interface Touched {
  readonly path: string;
  readonly kind: FileUseKind;
  readonly change: FileChange | null;
}

const READS = /^(?:.*[._])?(?:read|view|cat|open)(?:_?(?:file|files|many_files|text_file|image|notebook))?s?$/i;
/** Path names that only tools for reading use. */
const READ_PATH = [...PATH, "absolute_path", "target_file", "notebook_path"] as const;

function touchedBy({ tool }: AgentEvent): Touched[] {
  const { name = null, input = null } = tool ?? {};
  const change = changeOf(input);
  if (change?.is === "patch") return pathsIn(change.patch).map((path) => ({ path, kind: "edit", change }));
  if (change?.is === "edits") {
    const byPath = Map.groupBy(change.edits, ({ path }) => path);
    return [...byPath].flatMap(([path, edits]) =>
      path === null
        ? []
        : [
            {
              path,
              kind: edits.every(({ before }) => before === "") ? "write" : "edit",
              change: { is: "edits", edits },
            },
          ],
    );
  }
  const path = name !== null && READS.test(name) ? textOf(asObject(input) ?? {}, READ_PATH) : null;
  return path === null ? [] : [{ path, kind: "read", change: null }];
}

const PATCHED = /^(?:\*\*\* (?:Add|Update|Delete) File: (.+)|\+\+\+ (?:b\/)?(\S+).*|--- (?:a\/)?(\S+).*)$/gm;

function pathsIn(patch: string): string[] {
  const paths = [...patch.matchAll(PATCHED)].flatMap(([, file, after, before]) => file ?? after ?? before ?? []);
  return [...new Set(paths.map((path) => path.trim()))].filter((path) => path !== "/dev/null" && path !== "");
}

function absolute(path: string, cwd: string | null): string {
  if (cwd === null || path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path) || path.startsWith("~")) return path;
  return `${cwd.replace(/[\\/]+$/, "")}/${path.replace(/^\.\//, "")}`;
}
