import { type AgentKey, nativeCall, partsOf, type RecordKey, recordIn } from "../../core/facts/ids.ts";
import { isReport } from "../../core/facts/origin.ts";
import { SPAWN_CALL_RULE } from "../../core/link/evidence.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import type { ModelCall } from "../../core/link/gather.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { type Price, treeOf, withoutChildren } from "../../core/views/record.ts";
import { type WorkTimes, workTimes } from "../../core/views/spans.ts";
import type { Step, Story, StoryCall } from "../../core/views/story.ts";
import { foldTree } from "../../core/views/tree-fold.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import type { Library } from "../ingest/library.ts";
import { EventReader, type PlacedEvent } from "../query/events.ts";

/** Whether an agent is complete; see `Endings`. */
export type IsOver = (agent: LinkedAgent) => boolean;

/** For files, which can be written again later: the current status decides. */
const hasEnded: IsOver = ({ verdict: { status } }) => status !== "running" && status !== "pendingInit";

/** Collects the subtree of an agent with its events and model calls. */
export async function readStory(
  library: Library,
  forest: Forest,
  root: AgentKey,
  isOver: IsOver = hasEnded,
): Promise<Story> {
  const keys = subtreeOf(forest, root);
  const placed = await new EventReader(library).nextPlaced(forest, keys);
  const steps = Map.groupBy(placed, ({ event }) => event.uri);
  const reports = reportsIn(forest, keys);
  const storyOf = ({ tree, key }: Node, children: readonly Story[]): Story => {
    const agent = agentOf(forest, key);
    const own = steps.get(agent.uri) ?? [];
    const names = callNames(agent);
    const times = workTimes(forest, key);
    return {
      record: withoutChildren(tree),
      product: productOf(key)?.product ?? tree.provider,
      tracedAs:
        productOf(key)?.tracedAs ?? (productOf(key)?.product ?? tree.provider).toLowerCase().replaceAll(" ", "-"),
      soleCall: soleCallOf(forest, agent),
      steps: own.map((one) => stepOf(one, reports, names)),
      calls: callsOf(agent, times, library.price),
      undivided: agent.undivided.map(({ tokens }) => tokens),
      toolTimes: times.tools,
      children,
      isOver: isOver(agent),
      isPlaced: isPlaced(agent),
    };
  };
  // Both lists have the same children in the same order.
  const below = ({ tree, key }: Node) =>
    agentOf(forest, key).children.map((child, i): Node => ({ tree: tree.children[i] as AgentTree, key: child }));
  return foldTree({ tree: treeOf(forest, root, library.price), key: root }, below, storyOf);
}

interface Node {
  readonly tree: AgentTree;
  readonly key: AgentKey;
}

const productOf = (key: AgentKey) => PROVIDERS.find(({ name }) => name === partsOf(key).provider);

/** An agent that is only known from a spawn call has no id yet, and the call may turn out to be refused. */
const isPlaced = ({ evidence: [decided], spawnCall }: LinkedAgent) =>
  decided !== undefined &&
  decided.confidence === 1 &&
  decided.rule !== SPAWN_CALL_RULE &&
  spawnCall !== undefined &&
  !isReport(spawnCall);

function soleCallOf(forest: Forest, { key, parent, spawnCall }: LinkedAgent): string | null {
  if (parent === null || spawnCall?.makes !== "one") return null;
  const first = agentOf(forest, parent).children.find(
    (child) => agentOf(forest, child).spawnCall?.call === spawnCall.call,
  );
  return first === key ? nativeCall(spawnCall.call) : null;
}

/** The agents whose end each record reports. */
export function reportsIn(forest: Forest, keys: readonly AgentKey[]): ReadonlyMap<RecordKey, readonly string[]> {
  const reports = keys.flatMap((key) => {
    const { uri, statements } = agentOf(forest, key);
    const ends = statements.filter(
      ({ state, speaker }) => state !== "launched" && state !== "revived" && speaker !== key,
    );
    return ends.flatMap((end) => {
      const record = recordIn(end);
      return record === undefined ? [] : [{ record, uri }];
    });
  });
  return new Map(
    [...Map.groupBy(reports, ({ record }) => record)].map(([record, list]) => [
      record,
      [...new Set(list.map(({ uri }) => uri))],
    ]),
  );
}

/** Response by record key, for records that do not name their response. */
export const callNames = ({ calls }: LinkedAgent) =>
  new Map([...calls].flatMap(({ response, rows }) => (rows === null ? [] : [[rows, response] as const])));

function stepOf(
  { event, from, draft, isRecorded }: PlacedEvent,
  reports: ReadonlyMap<RecordKey, readonly string[]>,
  names: ReadonlyMap<RecordKey, RecordKey>,
): Step {
  const record = draft === null ? undefined : recordIn(draft);
  return {
    event,
    key: record === undefined ? event.id : `${record}#${from?.draft ?? 0}`,
    call: draft?.response == null ? null : (names.get(draft.response) ?? draft.response),
    reports: (record === undefined ? undefined : reports.get(record)) ?? [],
    isProvisional: isRecorded,
  };
}

export function callsOf(agent: LinkedAgent, times: WorkTimes, price: Price): StoryCall[] {
  const { provider } = partsOf(agent.key);
  const product = productOf(agent.key);
  const call = (made: ModelCall, isInternal: boolean): StoryCall => ({
    key: isInternal ? `internal:${made.response}` : made.response,
    at: made.at,
    time: times.calls.get(made.response) ?? null,
    model: made.model,
    vendor: made.vendor ?? product?.vendor ?? null,
    tokens: made.tokens,
    allOutput: made.tokens.outputTokens + (product?.thoughtsBesideOutput === true ? made.tokens.reasoningTokens : 0),
    costUsd: price(made, provider),
    isInternal,
    wasCut: made.end === "cut",
  });
  const internal = [...agent.ownBehalf.flatMap(({ calls }) => [...calls]), ...agent.revealed];
  return [...[...agent.calls].map((made) => call(made, false)), ...internal.map((made) => call(made, true))];
}
