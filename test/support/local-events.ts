import type { Library } from "../../src/app/ingest/library.ts";
import { readEvents } from "../../src/app/query/events.ts";
import type { AgentKey } from "../../src/core/facts/ids.ts";
import type { Forest } from "../../src/core/link/forest.ts";
import { DEFAULT_REDACTION, Redactor } from "../../src/core/redaction/redaction.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";

const REDACTOR = new Redactor(DEFAULT_REDACTION);

/** The local events of an agent as they are shipped: without the status of an agent that has not ended. */
export async function localEvents(library: Library, forest: Forest, key: AgentKey): Promise<AgentEvent[]> {
  const redact = REDACTOR.events();
  const events = await readEvents(library, forest, [key]);
  return events
    .filter(({ status }) => status?.status !== "running" && status?.status !== "pendingInit")
    .map((event, i) => redact({ ...event, seq: i + 1 }));
}
