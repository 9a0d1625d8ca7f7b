/** A library and a shipper over recordings, and the comparison of what was shipped with the local views. */
import { expect } from "vitest";
import { openShippedFile } from "../../src/app/databases.ts";
import { explainAgent, filesOfAgent } from "../../src/app/explain/explain.ts";
import { Library } from "../../src/app/ingest/library.ts";
import { listPrice } from "../../src/app/query/prices.ts";
import { explain } from "../../src/app/query/why.ts";
import type { BatchLimit } from "../../src/app/ship/batch.ts";
import { withRevision } from "../../src/app/ship/post.ts";
import { Shipper } from "../../src/app/ship/shipper.ts";
import type { ShipTarget } from "../../src/app/ship/target.ts";
import { agentOf, subtreeOf } from "../../src/core/link/forest.ts";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import type { Shipped } from "../../src/core/ports/shipped.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { DEFAULT_REDACTION, Redactor } from "../../src/core/redaction/redaction.ts";
import { messagesIn } from "../../src/core/views/messages.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { spansOf } from "../../src/core/views/spans.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { homeEnv } from "./fixtures.ts";
import { localEvents } from "./local-events.ts";
import type { Received } from "./received.ts";

export const TARGET: ShipTarget = {
  name: "team test",
  url: "http://127.0.0.1",
  ingest: "http://127.0.0.1/api/ingest",
  redaction: DEFAULT_REDACTION,
  projects: [],
  keepsDeletedAfterMs: null,
  bandwidth: null,
  machine: "test",
};

export function libraryIn(home: string, now: () => number, store: Store = new MemoryStore()): Library {
  return new Library({
    env: homeEnv(home),
    store,
    price: listPrice,
    now,
    liveness: () => "unknown",
  });
}

/** A shipper whose shipments arrive at once. */
export async function shipperTo(
  library: Library,
  received: Received,
  {
    target = TARGET,
    shipped: given,
    beforeSend = () => {},
    beforeAnswer = () => {},
    limit,
  }: {
    readonly target?: ShipTarget;
    readonly shipped?: Shipped;
    readonly beforeSend?: () => void;
    readonly beforeAnswer?: () => void;
    readonly limit?: BatchLimit;
  } = {},
): Promise<{ readonly shipper: Shipper; readonly shipped: Shipped }> {
  const shipped = given ?? (await openShippedFile(":memory:"));
  const send = async (lines: readonly string[]) => {
    const first = shipped.reserve(target.name, lines.length, 1);
    beforeSend();
    for (const [i, line] of lines.entries())
      received.apply(JSON.parse(withRevision(line, first + i)) as ShipmentDocument);
    beforeAnswer();
    return lines.join("\n").length;
  };
  const { signal } = new AbortController();
  return {
    shipper: new Shipper({ library, target, shipped, send, signal, ...(limit === undefined ? {} : { limit }) }),
    shipped,
  };
}

const REDACTOR = new Redactor(DEFAULT_REDACTION);

/** Equal texts are the usual case and need no comparison of the values, which takes several times as long. */
function expectEqualJson(actual: unknown, expected: unknown): void {
  const [is, shouldBe] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== shouldBe) expect(JSON.parse(is)).toEqual(JSON.parse(shouldBe));
}

/** Every view of every thread is the same at the receiver as here. */
export async function expectSame(library: Library, received: Received): Promise<void> {
  const roots: string[] = [];
  for (const forest of library.forests()) {
    for (const root of forest.roots) {
      const thread = agentOf(forest, root).uri;
      roots.push(thread);
      const uris = subtreeOf(forest, root).map((key) => agentOf(forest, key).uri);
      const local = treeOf(forest, root, library.price);
      const tree = received.tree(thread, thread, library.now());
      expectEqualJson(tree, REDACTOR.tree(local));
      if (tree === null) continue;
      for (const key of subtreeOf(forest, root)) {
        const agent = agentOf(forest, key);
        expectEqualJson(received.events(thread, agent.uri), await localEvents(library, forest, key));
        expectEqualJson(received.spans(thread, agent.uri), spansOf(forest, key));
        expectEqualJson(received.detail(thread, agent.uri, "why"), REDACTOR.why(explain(forest, agent)));
      }
      expectEqualJson(received.messages(thread, uris), messagesIn(forest, root));
      expectEqualJson(received.files(thread, tree), await filesOfAgent(library, forest, root));
      expectEqualJson(received.explain(thread, tree, library.now()), await explainAgent(library, forest, root));
    }
  }
  expect(received.threads).toEqual(roots.sort());
}
