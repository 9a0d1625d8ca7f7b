import { expect, it, vi } from "vitest";
import type { AgentPlace, OwnerChanges, Reader } from "../../app/team/store.ts";
import { followChanges } from "./changes.ts";
import type { Feed } from "./feed.ts";
import { formatPosition } from "./position.ts";

const THREAD = "claude://a";
const PLACE: AgentPlace = { owner: "ann", thread: THREAD, uri: THREAD };
const CHANGES: OwnerChanges = {
  agents: [],
  events: [],
  spans: [{ thread: THREAD, agent: THREAD }],
  cuts: [],
  parents: new Map([[THREAD, null]]),
};

it("a stream waits for the database if it is lost between two queries about the same change", async () => {
  const lists = vi
    .fn<() => Promise<Map<string, { seq: number; items: never[] }[]>>>()
    .mockResolvedValueOnce(new Map())
    .mockRejectedValueOnce(new Error("Connection terminated"))
    .mockResolvedValue(new Map([[THREAD, [{ seq: 2, items: [] }]]]));
  const reader = { lists, agents: async () => new Map([[THREAD, { record: { parent: null } }]]) };
  const next = vi.fn(async () => {});
  const feed = { heads: async () => new Map([["ann", 1]]), headOf: () => 2, changes: async () => CHANGES, next };
  const followed = { threads: false, trees: [], events: [], logs: [], spans: [PLACE] };
  const sources = { reader: reader as unknown as Reader, feed: feed as unknown as Feed, owners: ["ann"] };
  const stream = await followChanges(sources, followed, null, new AbortController().signal);
  expect(await stream.next()).toMatchObject([{ type: "spans", id: formatPosition(new Map([["ann", 2]])) }]);
  expect(next).toHaveBeenCalledTimes(1);
});
