/**
 * Manual links between requests: the child takes the place of an unmatched call, and undoing the link restores
 * everything.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { RequestRecord, Subtask } from "../../src/core/views/request.ts";
import { startServer, type TestServer, until } from "../support/server.ts";
import { type Proxied, startProxied } from "./proxied.ts";
import type { Upstream } from "./upstream.ts";
import { anonymous, replay, startUpstream, type WireExchange, wireOf } from "./wires.ts";

type Page<T> = { readonly items: T[]; readonly next: string | null };

let [server, upstream, proxied]: [TestServer, Upstream, Proxied] = [] as never;

/** A client that rewords the prompts of its agents: nothing in the traffic identifies their parents. */
const reworded = (wire: readonly WireExchange[]): WireExchange[] =>
  anonymous(wire).map((exchange) => {
    const { messages, ...request } = exchange.request as { messages: { role: string; content: unknown }[] };
    const texts = JSON.stringify(messages[0]).match(/@@[\w-]+/g);
    const isMain = texts?.at(-1) === "@@main" || texts === null;
    return isMain
      ? exchange
      : {
          ...exchange,
          request: {
            ...request,
            messages: [{ role: "user", content: `Agent ${texts?.at(-1)}` }, ...messages.slice(1)],
          },
        };
  });
const WIRE = reworded(wireOf("claude", "b-parallel3"));

const requests = () =>
  server.json<Page<RequestRecord>>("/api/requests?limit=1000").then(({ items }) => items.toReversed());
const subtasksOf = (id: string) =>
  server.json<Page<Subtask>>(`/api/requests/${id}/subtasks`).then(({ items }) => items);
const treeOf = (uri: string) => server.json<AgentTree>(`/api/agents/${encodeURIComponent(uri)}`);
const link = (child: string, parent: string) =>
  server.json<{ uri: string; parent: string | null }>("/api/links", {
    method: "POST",
    body: JSON.stringify({ child, parent }),
    headers: { "Content-Type": "application/json" },
  });
const unlink = (child: string) =>
  server.json<{ uri: string; parent: string | null }>(`/api/links/${encodeURIComponent(child)}`, { method: "DELETE" });

beforeAll(async () => {
  server = await startServer(null);
  upstream = await startUpstream();
  proxied = await startProxied(upstream.url, { env: server.env });
  await replay(WIRE, proxied.url, upstream);
  await until(async () => (await requests()).filter(({ status }) => status === "completed").length === WIRE.length);
});
afterAll(async () => {
  await proxied.dispose();
  await upstream.close();
  await server.close();
});

/** Everything that a link may change. */
async function everything(): Promise<unknown> {
  const all = await requests();
  const subtasks = await Promise.all(all.map(({ request_id }) => subtasksOf(request_id)));
  const { items } = await server.json<Page<AgentTree>>("/api/threads");
  const trees = await Promise.all(items.map(({ uri }) => treeOf(uri)));
  // A link does not change how much of the recording was read, and that may still grow.
  return JSON.parse(
    JSON.stringify({ all, subtasks, trees }, (name, value: unknown) => (name === "records" ? undefined : value)),
  );
}

it("a child linked by request ids is matched with a call of that request; unlinking restores both exactly", async () => {
  const before = await everything();
  const all = await requests();
  const parent = all.find(({ task_tool_invocation }) => task_tool_invocation.length === 3);
  const children = [
    ...Map.groupBy(
      all.filter(({ uri }) => uri !== parent?.uri),
      ({ uri }) => uri,
    ).values(),
  ].map(([first]) => first);
  expect(children).toHaveLength(3);
  const parentId = parent?.request_id ?? "";
  expect((await subtasksOf(parentId)).map(({ request_id }) => request_id)).toEqual([null, null, null]);

  const linked: string[] = [];
  for (const child of children) {
    const id = child?.request_id ?? "";
    expect((await link(id, parentId)).parent).toBe(parent?.uri);
    linked.push(id);
    expect((await requests()).find(({ request_id }) => request_id === id)).toMatchObject({
      parent_task_request_id: parentId,
      is_subtask: true,
    });
    const subtasks = await subtasksOf(parentId);
    expect(subtasks).toHaveLength(3);
    expect(subtasks.map(({ request_id }) => request_id).filter((one) => one !== null)).toEqual(linked);
    expect(new Set(subtasks.map(({ tool_use_id }) => tool_use_id)).size).toBe(3);
    const tree = await treeOf(parent?.uri ?? "");
    expect([tree.children.length, tree.counts.spawned, tree.counts.descendants]).toEqual([3, 3, 3]);
    expect(tree.children.filter(({ link: why }) => why?.rule === "spawn-call")).toHaveLength(3 - linked.length);
  }
  const done = await treeOf(parent?.uri ?? "");
  expect(done.children.map(({ status, link: why }) => [status, why?.source])).toEqual(
    Array(3).fill(["completed", "manual"]),
  );

  for (const id of linked) expect((await unlink(id)).parent).toBeNull();
  expect(await everything()).toEqual(before);
});

it("a child linked by URIs gets the only unmatched call; a request without calls still becomes the parent request", async () => {
  const before = await everything();
  const all = await requests();
  const parent = all.find(({ task_tool_invocation }) => task_tool_invocation.length === 3);
  const [one, two, three] = [...new Set(all.filter(({ uri }) => uri !== parent?.uri).map(({ uri }) => uri ?? ""))];
  const last = all.findLast(({ uri }) => uri === parent?.uri);
  for (const uri of [one, two]) await link(uri ?? "", parent?.request_id ?? "");
  const { uri } = await link(three ?? "", parent?.uri ?? "");
  expect((await treeOf(parent?.uri ?? "")).children.map((child) => child.link?.rule)).toEqual([
    "manual",
    "manual",
    "manual",
  ]);
  expect((await subtasksOf(parent?.request_id ?? "")).map((subtask) => subtask.uri)).toContain(uri);

  await link(three ?? "", last?.request_id ?? "");
  expect(await subtasksOf(last?.request_id ?? "")).toMatchObject([{ uri, tool_use_id: null, task_number: 1 }]);
  expect(
    (await requests())
      .filter((request) => request.uri === uri)
      .every((request) => request.parent_task_request_id === last?.request_id),
  ).toBe(true);
  for (const child of [one, two, three]) await unlink(child ?? "");
  expect(await everything()).toEqual(before);
});
