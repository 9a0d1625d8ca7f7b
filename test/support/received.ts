/**
 * A receiver of shipments in memory, by the rules of the documents: it stores and answers, and keeps to the revisions
 * whatever arrives in whatever order. `serveReceived` is the same as a server on loopback.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { contextWindow } from "../../src/app/query/prices.ts";
import type {
  AgentDocument,
  DetailDocument,
  EventDocument,
  ListDocument,
  SharedDetails,
  ShipmentDocument,
} from "../../src/core/ports/shipment.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import type { Explanation } from "../../src/core/views/explain.ts";
import type { UsedFile } from "../../src/core/views/files.ts";
import { type Message, sortedMessages } from "../../src/core/views/messages.ts";
import { type SharedParts, sharedExplanation, sharedFiles, sharedTree } from "../../src/core/views/shared-tree.ts";
import type { Span } from "../../src/core/views/span.ts";

interface Stored {
  agent: AgentDocument | null;
  events: Map<number, EventDocument>;
  lists: Map<string, ListDocument>;
  details: Map<string, DetailDocument>;
}

export class Received {
  /** By thread, then by agent. */
  readonly #threads = new Map<string, Map<string, Stored>>();
  readonly #removedAt = new Map<string, number>();
  readonly #fromAt = new Map<string, { at: number; revision: number }[]>();
  accepted = 0;
  readonly documents: ShipmentDocument[] = [];

  get threads(): string[] {
    return [...this.#threads.keys()].filter((uri) => this.#stored(uri, uri)?.agent != null).sort();
  }

  apply(document: ShipmentDocument): void {
    this.accepted += 1;
    this.documents.push(document);
    const { thread, revision } = document;
    if (document.is === "removed") {
      const key = `${thread} ${document.uri}`;
      this.#removedAt.set(key, Math.max(this.#removedAt.get(key) ?? 0, revision));
      for (const [uri, stored] of this.#threads.get(thread) ?? [])
        if (uri === document.uri || document.uri === thread) clear(stored, revision);
      return;
    }
    const uri = document.is === "agent" ? document.uri : document.agent;
    const removed = Math.max(
      this.#removedAt.get(`${thread} ${uri}`) ?? 0,
      this.#removedAt.get(`${thread} ${thread}`) ?? 0,
    );
    if (revision <= removed) return;
    const agents = this.#threads.get(thread) ?? new Map<string, Stored>();
    this.#threads.set(thread, agents);
    const stored = agents.get(uri) ?? { agent: null, events: new Map(), lists: new Map(), details: new Map() };
    agents.set(uri, stored);
    const dropped = this.#fromAt.get(`${thread} ${uri}`) ?? [];
    switch (document.is) {
      case "agent":
        if (revision > (stored.agent?.revision ?? 0)) stored.agent = document;
        return;
      case "event":
        if (dropped.some((from) => document.at >= from.at && revision < from.revision)) return;
        if (revision > (stored.events.get(document.at)?.revision ?? 0)) stored.events.set(document.at, document);
        return;
      case "events-from":
        this.#fromAt.set(`${thread} ${uri}`, [...dropped, { at: document.at, revision }]);
        for (const [at, event] of stored.events)
          if (at >= document.at && event.revision < revision) stored.events.delete(at);
        return;
      case "spans":
      case "calls": {
        const name = `${document.is} ${document.at}`;
        if (revision > (stored.lists.get(name)?.revision ?? 0)) stored.lists.set(name, document);
        return;
      }
      case "detail":
        if (revision > (stored.details.get(document.what)?.revision ?? 0)) stored.details.set(document.what, document);
        return;
      default:
        document satisfies never;
    }
  }

  #stored(thread: string, uri: string): Stored | undefined {
    return this.#threads.get(thread)?.get(uri);
  }

  tree(thread: string, uri: string, now: number): AgentTree | null {
    const agents = [...(this.#threads.get(thread)?.values() ?? [])].flatMap(({ agent }) => agent ?? []);
    return sharedTree(agents, uri, now);
  }

  events(thread: string, uri: string): AgentEvent[] {
    const events = [...(this.#stored(thread, uri)?.events.values() ?? [])].sort((a, b) => a.at - b.at);
    for (const [i, { at }] of events.entries()) if (i !== at) throw new Error(`${uri} lacks event ${i}`);
    return events.map(({ event }) => event);
  }

  #list(thread: string, uri: string, is: ListDocument["is"]): unknown[] {
    return [...(this.#stored(thread, uri)?.lists.values() ?? [])]
      .filter((part) => part.is === is)
      .sort((a, b) => a.at - b.at)
      .flatMap(({ items }) => [...items]);
  }

  spans(thread: string, uri: string): Span[] {
    return this.#list(thread, uri, "spans") as Span[];
  }

  detail<K extends keyof SharedDetails>(thread: string, uri: string, what: K): SharedDetails[K] | null {
    return (this.#stored(thread, uri)?.details.get(what)?.value ?? null) as SharedDetails[K] | null;
  }

  #partsOf(thread: string): (uri: string) => SharedParts {
    return (uri) => ({
      events: this.events(thread, uri),
      calls: this.#list(thread, uri, "calls") as SharedParts["calls"],
      spans: this.spans(thread, uri),
      reports: this.detail(thread, uri, "reports") ?? [],
      why: this.detail(thread, uri, "why"),
    });
  }

  explain(thread: string, tree: AgentTree, now: number): Explanation {
    return sharedExplanation(tree, this.#partsOf(thread), { now, windowOf: contextWindow });
  }

  files(thread: string, tree: AgentTree): readonly UsedFile[] {
    return sharedFiles(tree, this.#partsOf(thread));
  }

  messages(thread: string, uris: readonly string[]): Message[] {
    return sortedMessages(uris.map((uri) => this.detail(thread, uri, "messages") ?? []));
  }
}

function clear(stored: Stored, revision: number): void {
  if (stored.agent !== null && stored.agent.revision < revision) stored.agent = null;
  for (const part of [stored.events, stored.lists, stored.details] as Map<unknown, { revision: number }>[])
    for (const [name, one] of part) if (one.revision < revision) part.delete(name);
}

/** What the next request gets instead of an acknowledgement. */
export type Mishap =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  /** Stores the shipment, and cuts the connection before the response. */
  | "lost-response"
  /** Cuts the connection before anything is stored. */
  | "lost-request"
  | "silence";

export interface ReceivedRules {
  /** Larger unpacked bodies are refused with 413. */
  maxBytes: number;
  /** A shipment with such a document is refused with 422. */
  refuses: (document: ShipmentDocument) => boolean;
  /** Whether the response then names the document. */
  namesDocument: boolean;
  /** The number of the last shipment; null: they are not counted. */
  number: number | null;
}

export interface ReceivedServer {
  readonly url: string;
  readonly received: Received;
  readonly token: string;
  /** Taken one by one by the next requests. */
  readonly mishaps: Mishap[];
  /** Every request: its size as sent, and its lines without the first. */
  readonly shipments: { readonly bytes: number; readonly lines: readonly ShipmentDocument[] }[];
  readonly rules: ReceivedRules;
  close(): Promise<void>;
}

export async function serveReceived(): Promise<ReceivedServer> {
  const received = new Received();
  const rules: ReceivedRules = {
    maxBytes: Number.POSITIVE_INFINITY,
    refuses: () => false,
    namesDocument: true,
    number: null,
  };
  const [mishaps, shipments, token]: [Mishap[], ReceivedServer["shipments"], string] = [[], [], "ship-token"];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const answer = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}) =>
      response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
    const mishap = mishaps.shift();
    if (mishap === "lost-request") return void request.socket.destroy();
    if (mishap === "silence") return;
    if (request.method !== "POST" || request.url !== "/api/ingest") return void answer(404, { error: "no route" });
    if (request.headers.authorization !== `Bearer ${token}`) return void answer(401, { error: "unknown token" });
    if (typeof mishap === "object")
      return void answer(mishap.status, mishap.body ?? { error: "refused" }, mishap.headers);
    const text = gunzipSync(body).toString();
    if (text.length > rules.maxBytes) return void answer(413, { error: "too large" });
    const [head, ...lines] = text.trimEnd().split("\n");
    const { schema } = JSON.parse(head ?? "") as { schema: string };
    if (schema !== "retinue/shipment@1" || request.headers["content-type"] !== "application/x-ndjson")
      return void answer(422, { error: "line 1 is no head" });
    const documents = lines.map((line) => JSON.parse(line) as ShipmentDocument);
    if (documents.some(({ revision, thread }) => !Number.isSafeInteger(revision) || typeof thread !== "string"))
      return void answer(422, { error: "a line has no revision or thread" });
    const document = documents.findIndex(rules.refuses);
    if (document >= 0) {
      const error = { code: "invalid", message: "unbelievable", next: null };
      return void answer(422, { error: rules.namesDocument ? { ...error, document } : error });
    }
    shipments.push({ bytes: body.length, lines: documents });
    for (const document of documents) received.apply(document);
    if (mishap === "lost-response") return void request.socket.destroy();
    if (rules.number !== null) rules.number += 1;
    const number = rules.number === null ? {} : { shipments: rules.number };
    answer(200, { accepted: documents.length, ignored: 0, ...number });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    token,
    mishaps,
    shipments,
    rules,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
