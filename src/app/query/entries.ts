import { partsOf } from "../../core/facts/ids.ts";
import { formatUri, parseTarget } from "../../core/facts/uri.ts";
import type { LinkedAgent } from "../../core/link/forest.ts";
import type { Entry, Provider } from "../../core/ports/provider.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { noReads } from "../../transports/files.ts";
import { jsonLines } from "../ingest/json-lines.ts";
import type { Library } from "../ingest/library.ts";

/** An entry of a thread and its place. */
export interface ThreadEntry extends Entry {
  readonly uri: string;
  /** True if no entry follows it. */
  readonly isLeaf: boolean;
  readonly path: string;
  readonly line: number;
}

const providerOf = ({ key }: LinkedAgent): Provider | undefined =>
  PROVIDERS.find((provider) => provider.name === partsOf(key).provider);

/** The entries of a thread in the order they were written; null if the product has no entries. */
export async function entriesOf(library: Library, agent: LinkedAgent): Promise<readonly ThreadEntry[] | null> {
  const provider = providerOf(agent);
  const { thread, agent: agentId } = partsOf(agent.key);
  if (provider?.entry === undefined || agentId !== null) return null;
  const entries = new Map<string, Omit<ThreadEntry, "isLeaf">>();
  for (const { path } of agent.files) {
    if (library.source(path)?.stream.shape !== "lines") continue;
    for await (const lines of jsonLines(path, noReads())) {
      for (const line of lines) {
        const entry = line.is === "line" ? provider.entry(line.bytes) : null;
        // Several roots may contain the same session.
        if (entry === null || entries.has(entry.id)) continue;
        entries.set(entry.id, { ...entry, uri: formatUri(provider.name, thread, entry.id), path, line: line.number });
      }
    }
  }
  const followed = new Set([...entries.values()].map((entry) => entry.parent));
  return [...entries.values()].map((entry) => ({ ...entry, isLeaf: !followed.has(entry.id) }));
}

/** The thread and entry that the URI may name; null if it cannot name an entry. */
export function asEntry(input: string): { readonly thread: string; readonly entry: string } | null {
  const target = parseTarget(input, PROVIDERS, () => true);
  if ("wrong" in target || target.agent === null || target.provider === "unassigned") return null;
  const thread = target.is === "latest" ? "latest" : target.thread;
  return { thread: target.provider === null ? thread : `${target.provider}://${thread}`, entry: target.agent };
}

/** The entry and all entries before it on its branch, oldest first. */
export function branchTo(entries: readonly ThreadEntry[], entry: ThreadEntry): readonly ThreadEntry[] {
  const byId = new Map(entries.map((one) => [one.id, one]));
  const branch = new Set<ThreadEntry>();
  for (let at: ThreadEntry | undefined = entry; at !== undefined && !branch.has(at); at = byId.get(at.parent ?? ""))
    branch.add(at);
  return [...branch].reverse();
}
