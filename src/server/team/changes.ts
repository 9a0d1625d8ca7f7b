import type { AgentPlace, OwnerChanges, Reader } from "../../app/team/store.ts";
import type { ChangeStream, LiveMessage } from "../../core/ports/catalog.ts";
import { subtreeTest, withDuration } from "../../core/views/shared-tree.ts";
import { shortened } from "../cut.ts";
import type { Feed } from "./feed.ts";
import { formatPosition, parsePosition } from "./position.ts";
import { spansSince } from "./spans.ts";

export interface Followed {
  readonly threads: boolean;
  readonly trees: readonly AgentPlace[];
  readonly events: readonly AgentPlace[];
  readonly logs: readonly AgentPlace[];
  readonly spans: readonly AgentPlace[];
}

interface Sources {
  readonly reader: Reader;
  readonly feed: Feed;
  /** Those that the viewer may see. */
  readonly owners: readonly string[];
}

type Body = Pick<LiveMessage, "type"> & { readonly data: unknown };

/** Messages about what is followed, after a position. Reads the changes of an owner only if there are new shipments. */
export async function followChanges(
  { reader, feed, owners }: Sources,
  followed: Followed,
  after: string | null,
  until: AbortSignal,
): Promise<ChangeStream> {
  const near = await feed.heads(owners);
  const given = after === null ? near : parsePosition(after, owners);
  const isReached = (heads: ReadonlyMap<string, number>) =>
    given !== null && owners.every((owner) => (given.get(owner) ?? 0) <= (heads.get(owner) ?? 0));
  const current = given === null || isReached(near) ? near : await feed.newestHeads(owners);
  const isKnown = given !== null && isReached(current);
  const at = new Map(isKnown ? given : current);
  const relevant = owners.filter(
    (owner) => followed.threads || isUnfiltered(followed) || placesIn(followed).some((place) => place.owner === owner),
  );
  let losses = feed.losses;
  /** The last state of the spans that was sent, as `next` of `spans`. */
  const spansAt = new Map<AgentPlace, number>();
  const readSpans = async () => {
    for (const place of followed.spans) spansAt.set(place, await newestSpans(reader, place));
  };
  await readSpans();

  const message = ({ type, data }: Body, id = formatPosition(at)): LiveMessage => ({
    type,
    id,
    data: JSON.stringify(data),
  });
  const reset = (reason: string) => message({ type: "reset", data: { reason } });

  return {
    first: isKnown ? message({ type: "ready", data: {} }) : reset("changes since then are no longer available"),
    next: async () => {
      for (;;) {
        if (until.aborted) return [];
        if (feed.losses !== losses) {
          // Numbers are used again, so what the client has may be void.
          losses = feed.losses;
          for (const owner of owners) at.set(owner, feed.headOf(owner));
          await persistently(readSpans, feed, until);
          return until.aborted ? [] : [reset("the database has lost changes")];
        }
        for (const owner of relevant) {
          const [from, to] = [at.get(owner) ?? 0, feed.headOf(owner)];
          if (to <= from) continue;
          const bodies = await persistently(
            async () => {
              const changes = await feed.changes(owner, from, to);
              return changes === null ? null : bodiesOf(reader, followed, spansAt, owner, changes);
            },
            feed,
            until,
          );
          if (until.aborted) return [];
          at.set(owner, to);
          if (bodies === null || bodies === undefined) return [reset("too many changes in the meantime")];
          if (bodies.length === 0) continue;
          const id = formatPosition(at);
          return bodies.map((body) => message(body, id));
        }
        const isCurrent = relevant.every((owner) => feed.headOf(owner) <= (at.get(owner) ?? 0));
        if (isCurrent && feed.losses === losses) await feed.next(until);
      }
    },
  };
}

const placesIn = ({ trees, events, logs, spans }: Followed) => [...trees, ...events, ...logs, ...spans];
/** Nothing in particular is followed, so everything is. */
export const isUnfiltered = (followed: Followed) => !followed.threads && placesIn(followed).length === 0;

/** What is followed, with the questions that each change of an owner asks. */
function interestIn(followed: Followed, owner: string, { parents }: OwnerChanges) {
  const isAll = isUnfiltered(followed);
  const urisIn = (list: readonly AgentPlace[]) =>
    new Set(list.flatMap((place) => (place.owner === owner ? [place.uri] : [])));
  const [trees, events] = [urisIn(followed.trees), urisIn(followed.events)];
  const [isInTree, isInLog] = [subtreeTest(parents, trees), subtreeTest(parents, urisIn(followed.logs))];
  return {
    asRecord: (thread: string, uri: string) =>
      isAll ||
      (followed.threads && thread === uri) ||
      isInTree(uri) ||
      // A removed agent has no parents any more.
      (!parents.has(uri) && trees.has(thread)),
    asEvent: (uri: string) => isAll || events.has(uri) || isInLog(uri),
  };
}

/** The messages about changes of one owner. `spansAt` is brought up to date. */
async function bodiesOf(
  reader: Reader,
  followed: Followed,
  spansAt: Map<AgentPlace, number>,
  owner: string,
  changes: OwnerChanges,
): Promise<Body[]> {
  const { asRecord, asEvent } = interestIn(followed, owner, changes);
  const cut = changes.cuts.find(({ agent }) => asEvent(agent));
  const now = Date.now();
  const bodies: Body[] =
    cut === undefined ? [] : [{ type: "reset", data: { reason: `the log of ${cut.agent} was read anew` } }];
  for (const { thread, uri, record } of changes.agents)
    if (asRecord(thread, uri))
      bodies.push(
        record === null
          ? { type: "removed", data: { uri, owner } }
          : { type: "agent", data: { ...withDuration(record, now), owner } },
      );
  // After a reset the client fetches the events.
  for (const { agent, event } of changes.events)
    if (cut === undefined && asEvent(agent)) bodies.push({ type: "event", data: shortened(event) });
  for (const place of followed.spans) {
    const isInside = subtreeTest(changes.parents, new Set([place.uri]));
    if (place.owner !== owner || !changes.spans.some(({ agent }) => isInside(agent))) continue;
    const before = spansAt.get(place) ?? 0;
    const agents = [...changes.parents.keys()].filter(isInside);
    const { items, next } = await spansSince(reader, place, agents, before);
    spansAt.set(place, Number(next.slice(1)));
    bodies.push({ type: "spans", data: { uri: place.uri, after: `s${before}`, next, items } });
  }
  return bodies;
}

/** Repeats a query until the database responds: a stream waits for it instead of ending. */
async function persistently<T>(work: () => Promise<T>, feed: Feed, until: AbortSignal): Promise<T | undefined> {
  for (;;) {
    try {
      return await work();
    } catch {
      // The feed wakes when the database is back.
      await feed.next(until);
      if (until.aborted) return undefined;
    }
  }
}

/** The number of the shipment that last changed spans of a subtree. */
async function newestSpans(reader: Reader, place: AgentPlace): Promise<number> {
  const agents = await reader.agents(place);
  const parents = new Map([...agents].map(([uri, { record }]) => [uri, record.parent]));
  const below = [...agents.keys()].filter(subtreeTest(parents, new Set([place.uri])));
  return Number((await spansSince(reader, place, below, null)).next.slice(1));
}
