import { filesOfAgent } from "../../app/explain/explain.ts";
import { printJson } from "../../core/tools/json.ts";
import type { UsedFile } from "../../core/views/files.ts";
import type { Context } from "../context.ts";
import { renderFiles } from "../render/files.ts";
import { walk } from "../render/tree.ts";

export interface FilesOptions {
  readonly own?: boolean;
  readonly diff?: boolean;
}

/** The files that an agent and the agents below it read and changed. */
export async function files(context: Context, uri: string, { own = false, diff = false }: FilesOptions): Promise<void> {
  const { library, forest, agents } = await context.find(uri);
  const [agent] = agents;
  const all = await filesOfAgent(library, forest, agent.key);
  const found = own ? all.flatMap((file) => onlyOf(file, agent.uri)) : all;
  if (context.json) return context.terminal.out(printJson({ uri: agent.uri, files: found }, 2));
  const records = new Map([...walk(context.treeOf(forest, agent.key))].map((record) => [record.uri, record]));
  context.terminal.out(renderFiles(found, records, diff, context.terminal));
}

function onlyOf(file: UsedFile, uri: string): UsedFile[] {
  const uses = file.uses.filter((use) => use.uri === uri);
  const count = (kind: string) => uses.filter((use) => use.kind === kind && !use.isError).length;
  return uses.length === 0
    ? []
    : [{ ...file, uses, agents: [uri], reads: count("read"), writes: count("write"), edits: count("edit") }];
}
