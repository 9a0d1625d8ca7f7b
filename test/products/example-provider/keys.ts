import { agentKey, callKey, recordKey, threadKey } from "../../../src/core/facts/ids.ts";

const NAME = "example";

/** Builds keys from the product's ids. Ids of agents, calls and records are unique in their thread. */
export const thread = (id: string) => threadKey(NAME, id);
export const agent = (threadId: string, id: string | null) =>
  id === null ? thread(threadId) : agentKey(NAME, threadId, id);
export const call = (threadId: string, id: string) => callKey(NAME, `${threadId}/${id}`);
export const record = (threadId: string, id: string) => recordKey(NAME, `${threadId}/${id}`);
export const response = (id: string) => recordKey(NAME, `response/${id}`);
