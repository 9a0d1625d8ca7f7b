/** Derives the truth from the model's log: the parent of each agent, and its usage. Never reads the product's files. */
import type { ThreadTruth } from "../../support/judge.ts";
import type { Exchange } from "./model.ts";

export type Ending = "completed" | "errored" | "shutdown";
/** How an agent ended, by its first script; agents that are not named here completed. */
export type Endings = Record<string, Ending>;

export function truthOf(exchanges: readonly Exchange[], endings: Endings): ThreadTruth[] {
  const threads = Map.groupBy(exchanges, ({ thread }) => thread);
  const spawns = spawnsIn(exchanges);
  const parentOf = (thread: string) => spawns.get(threads.get(thread)?.[0]?.script ?? "")?.thread ?? null;
  const rootOf = (thread: string): string => {
    const parent = parentOf(thread);
    return parent === null ? thread : rootOf(parent);
  };
  return [...Map.groupBy(threads.keys(), rootOf)].map(([root, members]) => ({
    root,
    agents: members.map((thread) => {
      const own = threads.get(thread) ?? [];
      const parent = parentOf(thread);
      const script = own[0]?.script ?? "";
      return {
        agentId: thread === root ? null : thread,
        parentAgentId: parent === root ? null : parent,
        status: endings[script] ?? "completed",
        statusWhy: `script ${script}`,
        ...usageOf(own),
      };
    }),
  }));
}

/** The thread that spawned the agent of a script. */
function spawnsIn(exchanges: readonly Exchange[]): Map<string, { thread: string }> {
  const spawns = new Map<string, { thread: string }>();
  for (const { thread, answer } of exchanges)
    for (const item of answer?.output ?? []) {
      const words =
        item.type === "function_call" && item.name === "spawn_agent"
          ? item.arguments
          : item.type === "custom_tool_call"
            ? item.input
            : "";
      for (const [, script = ""] of words.matchAll(/@@([A-Za-z0-9_-]+)/g)) spawns.set(script, { thread });
    }
  return spawns;
}

function usageOf(exchanges: readonly Exchange[]) {
  const usages = exchanges.flatMap(({ answer, finished }) => (answer !== null && finished ? [answer.usage] : []));
  const sum = (read: (usage: (typeof usages)[number]) => number) =>
    usages.reduce((total, usage) => total + read(usage), 0);
  return {
    calls: usages.length,
    inputTokens: sum((u) => u.input_tokens - u.input_tokens_details.cached_tokens),
    outputTokens: sum((u) => u.output_tokens),
    cacheReadTokens: sum((u) => u.input_tokens_details.cached_tokens),
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
}
