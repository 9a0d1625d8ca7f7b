/** Shipments of a developer's work: threads with agents, their events, usage and evidence. */
import { gzipSync } from "node:zlib";
import { NO_USAGE } from "../../../src/core/facts/usage.ts";
import type { DetailDocument, ShipmentDocument } from "../../../src/core/ports/shipment.ts";
import { agentDocument, eventDocument, HEAD, spentRow } from "../../../test/team/documents.ts";
import { seeded } from "../random.ts";

export interface Work {
  readonly threads: number;
  /** Of each thread, with itself. */
  readonly agents: number;
  /** Of each agent. */
  readonly events: number;
}

/** In a third of the events, and in one of ten thousand. */
export const COMMON_WORD = "compile";
export const RARE_WORD = "zanzibar";
const WORDS =
  "the a file test error build function value of to in is module parse result returns index list query server".split(
    " ",
  );
const MODELS = ["claude-opus-4-8", "claude-sonnet-4-9", "gpt-5.5"];
const PROJECTS = ["shop", "billing", "website", "infra", "search"];
const DAY_MS = 86_400_000;

/** Of one owner; the newest thread last. `now` is the time of the last event. */
export function* documentsOf(
  owner: number,
  { threads, agents, events }: Work,
  now: number,
): Generator<ShipmentDocument> {
  const random = seeded(owner + 1);
  const words = (count: number) => Array.from({ length: count }, () => random.of(WORDS)).join(" ");
  const hex = (n: number, size: number) => n.toString(16).padStart(size, "0");
  for (let t = 0; t < threads; t += 1) {
    const thread = `claude://${hex(owner, 8)}-0000-4000-8000-${hex(t, 12)}`;
    const began = now - ((threads - t) / threads) * 28 * DAY_MS;
    const time = (n: number) => new Date(began + n * 1_000).toISOString();
    const project = random.of(PROJECTS);
    for (let a = 0; a < agents; a += 1) {
      const uri = a === 0 ? thread : `${thread}/a${hex(a, 16)}`;
      const model = random.of(MODELS);
      yield agentDocument(thread, uri, 1, {
        ...{ project, cwd: `/home/dev${owner}/${project}`, model: [model], prompt: words(60), title: words(6) },
        ...{ startedAt: time(0), lastActivityAt: time(events), endedAt: time(events), parent: a === 0 ? null : thread },
        usage: { own: NO_USAGE, internal: null, subtree: NO_USAGE, reported: null },
      });
      for (let e = 0; e < events; e += 1) {
        const rare = random.chance(0.0001) ? ` ${RARE_WORD}` : "";
        const text = `${words(20 + random.below(80))}${random.chance(0.3) ? ` ${COMMON_WORD}` : ""}${rare}`;
        yield eventDocument(thread, uri, e, 1, { id: `${t}-${a}-${e}`, at: time(e), text });
      }
      const spent = [spentRow(thread, random.next(), { day: time(0).slice(0, 10), model, project })];
      const detail = (what: DetailDocument["what"], value: unknown) =>
        ({ is: "detail", thread, agent: uri, what, revision: 1, value }) as DetailDocument;
      yield detail("spent", spent);
    }
  }
}

/** Compressed shipments of at most this many documents. */
export function* shipmentsOf(
  documents: Iterable<ShipmentDocument>,
  size: number,
): Generator<{ body: Buffer; count: number }> {
  let lines: string[] = [];
  const packed = () => ({ body: gzipSync([JSON.stringify(HEAD), ...lines].join("\n")), count: lines.length });
  for (const document of documents) {
    lines.push(JSON.stringify(document));
    if (lines.length < size) continue;
    yield packed();
    lines = [];
  }
  if (lines.length > 0) yield packed();
}
