/** The API over recordings of every product: as documented, and equal to what the library returns. */
import { describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { agentOf, subtreeOf } from "../../src/core/link/forest.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { caseNames, RECORDED, recordedHome } from "../support/fixtures.ts";
import { type ApiDocument, faultsIn } from "../support/openapi.ts";
import { startServer } from "../support/server.ts";

/** Two recordings of each product. */
const CASES = RECORDED.flatMap(({ name }) => {
  const names = caseNames(name);
  return [0.3, 0.95].map((part) => [name, names[Math.floor(part * names.length)] ?? ""] as const);
});

interface Page<T> {
  readonly items: T[];
  readonly next: string;
}

describe("over recordings of products,", () => {
  it.each(CASES)("%s %s: every thread, agent and event is returned as documented", async (provider, name) => {
    const server = await startServer(recordedHome(provider, name).home);
    try {
      const document = await server.json<ApiDocument>("/api/openapi.json");
      const ask = async <T>(route: string, path: string) => {
        const body = await server.json<T>(path);
        expect({ path, faults: faultsIn(document, route, "GET", 200, body) }).toEqual({ path, faults: null });
        return body;
      };
      const { library, forest } = await readMachine({ env: server.env });
      const { items } = await ask<Page<AgentTree>>("/api/threads", "/api/threads?limit=1000");
      expect(items.map(({ uri }) => uri).sort()).toEqual(forest.roots.map((key) => agentOf(forest, key).uri).sort());
      for (const root of forest.roots) {
        const path = `/api/agents/${encodeURIComponent(agentOf(forest, root).uri)}`;
        const flat = (tree: AgentTree): string[] => [tree.uri, ...tree.children.flatMap(flat)];
        const keys = subtreeOf(forest, root);
        expect(flat(await ask<AgentTree>("/api/agents/{uri}", path)).sort()).toEqual(
          keys.map((key) => agentOf(forest, key).uri).sort(),
        );
        await ask("/api/agents/{uri}/why", `${path}/why`);
        await ask("/api/agents/{uri}/explain", `${path}/explain`);
        await ask("/api/agents/{uri}/files", `${path}/files`);
        const known: AgentEvent[] = [];
        for (const key of keys) known.push(...(await readEvents(library, forest, [key])));
        const returned = (
          await ask<Page<AgentEvent>>("/api/agents/{uri}/events", `${path}/events?subtree=true&limit=1000`)
        ).items;
        const byId = (events: readonly AgentEvent[]) =>
          new Map(events.map(({ seq: _, ...event }) => [event.id, { ...event, cut: null }]));
        expect(byId(returned)).toEqual(byId(known));
        const first = returned.find(({ ref }) => ref !== null);
        const own = first && `/api/agents/${encodeURIComponent(first.uri)}/events/${encodeURIComponent(first.id)}`;
        if (own !== undefined) expect(await ask("/api/agents/{uri}/events/{id}", own)).toEqual(first);
      }
      expect(server.messages).toEqual([]);
    } finally {
      await server.close();
    }
  });
});
