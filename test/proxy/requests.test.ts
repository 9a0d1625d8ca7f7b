/** Recorded requests over HTTP while they arrive: requests, their sub-tasks, conversations, manual links. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Conversation } from "../../src/app/query/conversations.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { ConversationMessage, RequestDetail, RequestRecord, Subtask } from "../../src/core/views/request.ts";
import { type ApiDocument, faultsIn } from "../support/openapi.ts";
import { startServer, type TestServer, until } from "../support/server.ts";
import { type Proxied, startProxied } from "./proxied.ts";
import type { Upstream } from "./upstream.ts";
import { replay, startUpstream, wireOf } from "./wires.ts";

type Page<T> = { readonly items: T[]; readonly next: string | null };

type ConversationPage = Omit<Conversation, "messages" | "subtasks"> & {
  readonly message_count: number;
  readonly subtask_count: number;
  readonly branch: string;
  readonly messages: Page<ConversationMessage>;
  readonly subtasks: Page<Subtask>;
};

let [server, upstream, proxied]: [TestServer, Upstream, Proxied] = [] as never;
let document: ApiDocument;
const NESTED = wireOf("claude", "c-nested");
const CUSTOM = wireOf("claude", "i-custom");
const all = () => server.json<Page<RequestRecord>>("/api/requests?limit=1000");

beforeAll(async () => {
  server = await startServer(null);
  upstream = await startUpstream();
  proxied = await startProxied(upstream.url, { env: server.env });
  document = await server.json<ApiDocument>("/api/openapi.json");
  for (const wire of [NESTED, CUSTOM]) await replay(wire, proxied.url, upstream);
  await until(
    async () =>
      (await all()).items.filter(({ status }) => status === "completed").length === NESTED.length + CUSTOM.length,
  );
});
afterAll(async () => {
  expect(server.messages).toEqual([]);
  await proxied.dispose();
  await upstream.close();
  await server.close();
});

async function ask<T>(route: string, path: string, status = 200): Promise<T> {
  const answer = await server.get(path);
  const body: unknown = await answer.json();
  expect({ path, status: answer.status, faults: faultsIn(document, route, "GET", answer.status, body) }).toEqual({
    path,
    status,
    faults: null,
  });
  return body as T;
}

const sessionOf = (wire: typeof NESTED) => wire[0]?.headers["x-claude-code-session-id"] ?? "";

describe("requests", () => {
  it("are listed newest first, page by page, each with its agent", async () => {
    const { items } = await ask<Page<RequestRecord>>("/api/requests", "/api/requests?limit=1000");
    expect(items.map(({ started_at }) => started_at)).toEqual(
      items
        .map(({ started_at }) => started_at)
        .toSorted()
        .reverse(),
    );
    expect(items.length).toBeGreaterThan(3);
    const paged: string[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const page: Page<RequestRecord> = await ask(
        "/api/requests",
        `/api/requests?limit=3${next === "" ? "" : `&cursor=${next}`}`,
      );
      paged.push(...page.items.map(({ request_id }) => request_id));
      next = page.next;
    }
    expect(paged).toEqual(items.map(({ request_id }) => request_id));
    expect(items.every(({ uri, usage }) => uri !== null && usage !== null)).toBe(true);
  });

  it("name the request that spawned their agent", async () => {
    const { items } = await all();
    const byId = new Map(items.map((item) => [item.request_id, item]));
    const subtasks = items.filter(({ is_subtask }) => is_subtask);
    expect(subtasks.length).toBeGreaterThan(0);
    for (const { parent_task_request_id, uri } of subtasks) {
      const parent = byId.get(parent_task_request_id ?? "");
      const agent = await server.json<AgentTree>(`/api/agents/${encodeURIComponent(uri ?? "")}`);
      expect(parent?.uri).toBe(agent.parent);
      expect(parent?.task_tool_invocation.map(({ tool_use_id }) => tool_use_id)).toContain(agent.link?.toolCallId);
    }
    expect(
      items
        .filter(({ is_subtask }) => !is_subtask)
        .every(({ parent_task_request_id }) => parent_task_request_id === null),
    ).toBe(true);
  });

  it("name their sub-tasks, also those with the same prompt", async () => {
    const { items } = await all();
    const spawning = items.find(({ task_tool_invocation }) => task_tool_invocation.length === 4);
    const subtasks = await ask<Page<Subtask>>(
      "/api/requests/{id}/subtasks",
      `/api/requests/${spawning?.request_id}/subtasks`,
    );
    expect(subtasks.items.map(({ task_number }) => task_number)).toEqual([1, 2, 3, 4]);
    expect(new Set(subtasks.items.map(({ uri }) => uri)).size).toBe(4);
    expect(subtasks.items.every(({ status, tokens }) => status === "completed" && tokens > 0)).toBe(true);
    for (const { request_id, uri } of subtasks.items)
      expect(items.find((item) => item.request_id === request_id)?.uri).toBe(uri);
  });

  it("can be filtered by agent", async () => {
    const tree = await server.json<AgentTree>(`/api/agents/${sessionOf(NESTED)}`);
    const [child] = tree.children;
    const { items } = await ask<Page<RequestRecord>>(
      "/api/requests",
      `/api/requests?agent=${encodeURIComponent(child?.uri ?? "")}`,
    );
    expect(items).toHaveLength(child?.usage.own.calls ?? -1);
    expect(new Set(items.map(({ uri }) => uri))).toEqual(new Set([child?.uri]));
  });

  it("show the request, the response, and what is new in it", async () => {
    const { items } = await all();
    const second = items.find(
      ({ uri, previous_request_id }) => uri === `claude://${sessionOf(NESTED)}` && previous_request_id !== null,
    );
    const { content } = await ask<RequestDetail>("/api/requests/{id}", `/api/requests/${second?.request_id}`);
    expect(content.headers["x-api-key"]).toMatch(/^\[withheld:[0-9a-f]{8}\]$/);
    expect(content.system?.is_new).toBe(false);
    expect(content.messages.some(({ is_new }) => is_new)).toBe(true);
    expect(content.messages.some(({ is_new }) => !is_new)).toBe(true);
    expect(content.answer).toEqual([{ type: "text", text: "main done" }]);
    const { json } = await ask<{ json: unknown }>(
      "/api/requests/{id}/pieces/{piece}",
      `/api/requests/${second?.request_id}/pieces/${content.messages[0]?.piece}`,
    );
    expect(json).toEqual((NESTED.at(-1)?.request?.messages as unknown[] | undefined)?.[0]);
  });

  it.each([
    ["/api/requests", "/api/requests?cursor=xyz", 400],
    ["/api/requests", "/api/requests?limit=0", 400],
    ["/api/requests", "/api/requests?agent=claude%3A%2F%2F00000000-0000-4000-8000-000000000000", 404],
    ["/api/requests/{id}", "/api/requests/req-none", 404],
    ["/api/requests/{id}/subtasks", "/api/requests/req-none/subtasks", 404],
    ["/api/requests/{id}/pieces/{piece}", "/api/requests/req-none/pieces/x", 404],
    ["/api/conversations", "/api/conversations?cursor=xyz", 400],
    ["/api/conversations/{id}", `/api/conversations/${sessionOf(NESTED)}?messages_cursor=xyz`, 400],
    ["/api/conversations/{id}", `/api/conversations/${sessionOf(NESTED)}?branch=none`, 404],
    ["/api/conversations/{id}", "/api/conversations/00000000-0000-4000-8000-000000000000", 404],
  ])("%s, invalid request: %s", async (route, path, status) => {
    await ask(route, path, status);
  });
});

it("conversations have messages, sub-tasks and branches", async () => {
  const { items } = await ask<Page<Conversation>>("/api/conversations", "/api/conversations");
  expect(items.map(({ id, requests, subtasks }) => [id, requests, subtasks])).toEqual([
    [sessionOf(CUSTOM), CUSTOM.length, 4],
    [sessionOf(NESTED), NESTED.length, 3],
  ]);
  const one = await ask<ConversationPage>("/api/conversations/{id}", `/api/conversations/${sessionOf(NESTED)}`);
  const { messages, subtasks, message_count, subtask_count, branch, ...rest } = one;
  expect({ ...rest, messages: message_count, subtasks: subtask_count }).toEqual(items[1]);
  expect([branch, one.branches]).toMatchObject(["main", [{ name: "main", requests: 2 }]]);
  const first = await ask<Page<Conversation>>("/api/conversations", "/api/conversations?limit=1");
  const second = await ask<Page<Conversation>>("/api/conversations", `/api/conversations?limit=1&cursor=${first.next}`);
  expect([first.items[0]?.id, second.items[0]?.id]).toEqual(items.map(({ id }) => id));
});

it("a conversation has its messages and sub-tasks, a page at a time", async () => {
  const path = `/api/conversations/${sessionOf(NESTED)}`;
  const { messages, subtasks, message_count } = await ask<ConversationPage>("/api/conversations/{id}", path);
  const last = NESTED.findLast(({ headers }) => headers["x-claude-code-agent-id"] === undefined);
  expect(messages.items.slice(0, -1).map(({ content }) => content)).toEqual(last?.request?.messages);
  expect(messages.items.at(-1)).toMatchObject({
    role: "assistant",
    text: "main done",
    content: [{ type: "text", text: "main done" }],
  });
  expect(messages.items.map(({ number }) => number)).toEqual(messages.items.map((_, i) => i + 1));
  expect(messages.items.filter(({ role }) => role !== "system")).toHaveLength(message_count);
  expect(subtasks.items).toHaveLength(3);

  const page = (cursors: string) => ask<ConversationPage>("/api/conversations/{id}", `${path}?limit=2${cursors}`);
  const first = await page("");
  const second = await page(`&messages_cursor=${first.messages.next}&subtasks_cursor=${first.subtasks.next}`);
  expect(first.messages.items).toEqual(messages.items.slice(0, 2));
  expect(second.messages.items).toEqual(messages.items.slice(2, 4));
  expect([...first.subtasks.items, ...second.subtasks.items]).toEqual(subtasks.items);
  expect(second.subtasks.next).toBeNull();
});

it("sub-tasks count the messages of their requests and responses", async () => {
  const { subtasks } = await ask<ConversationPage>(
    "/api/conversations/{id}",
    `/api/conversations/${sessionOf(NESTED)}`,
  );
  for (const { uri, message_count } of subtasks.items) {
    const { items } = await ask<Page<RequestRecord>>("/api/requests", `/api/requests?agent=${encodeURIComponent(uri)}`);
    const id = uri.slice(uri.lastIndexOf("/") + 1);
    const last = NESTED.findLast(({ headers }) => headers["x-claude-code-agent-id"] === id);
    const messages = ((last?.request?.messages ?? []) as { role: string }[]).filter(({ role }) => role !== "system");
    expect({ uri, message_count }).toEqual({ uri, message_count: messages.length + 1 });
    expect(message_count).toBe(2 * items.length);
    const tree = await server.json<AgentTree>(`/api/agents/${encodeURIComponent(uri)}`);
    expect(tree.counts.messages).toBe(message_count);
  }
});

it("an agent can be linked manually by one of its requests, and unlinked", async () => {
  const { items } = await all();
  const [child, parent] = [
    items.find(({ is_subtask, uri }) => is_subtask && uri?.includes(sessionOf(CUSTOM))),
    items.find(({ uri }) => uri === `claude://${sessionOf(NESTED)}`),
  ];
  const linked = await server.json<{ parent: string }>("/api/links", {
    method: "POST",
    body: JSON.stringify({ child: child?.request_id, parent: parent?.request_id }),
    headers: { "Content-Type": "application/json" },
  });
  expect(linked.parent).toBe(`claude://${sessionOf(NESTED)}`);
  const back = await server.json<{ parent: string }>(`/api/links/${child?.request_id}`, { method: "DELETE" });
  expect(back.parent).toBe(`claude://${sessionOf(CUSTOM)}`);
});
