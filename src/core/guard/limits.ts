/** Limits against agents that spawn or spend without end, and the function that decides what a limit does. */
import { plural } from "../tools/format.ts";
import { limitText } from "./limit-text.ts";

export const LIMIT_NAMES = ["agents", "concurrent", "depth", "cost_usd", "tokens", "minutes"] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];
const SPENDING_NAMES = ["cost_usd", "tokens", "minutes"] as const satisfies readonly LimitName[];

export const LIMIT_ACTIONS = ["warn", "deny"] as const;
export type LimitAction = (typeof LIMIT_ACTIONS)[number];

export interface Limit {
  readonly max: number;
  readonly action: LimitAction;
}

export type LimitSet = { readonly [Name in LimitName]?: Limit };

/** As in the settings. Names are agent types, folders and providers. */
export interface Limits extends LimitSet {
  readonly by_type?: Readonly<Record<string, LimitSet>>;
  readonly by_project?: Readonly<Record<string, LimitSet>>;
  readonly by_product?: Readonly<Record<string, LimitSet>>;
}

/** The limits of one thread: those of the thread as a whole, and those of its agents by their type. */
export interface ThreadLimits {
  readonly thread: LimitSet;
  readonly byType: Readonly<Record<string, LimitSet>>;
}

/** In `by_type`: agents of every type. */
const ANY_TYPE = "*";

export const NO_LIMITS: Limits = {};

export interface ThreadPlace {
  readonly product: string;
  readonly cwd: string | null;
  /** The folder that `~` stands for. */
  readonly home: string;
}

/** The more specific limit of a name applies: of the project, then of the product, then the general one. */
export function limitsFor(limits: Limits, { product, cwd, home }: ThreadPlace): ThreadLimits {
  const { by_type = {}, by_project = {}, by_product = {}, ...general } = limits;
  const projects = Object.entries(by_project)
    .map(([folder, set]) => [folder.replace(/^~(?=\/|$)/, home), set] as const)
    .filter(([folder]) => cwd !== null && isInProject(cwd, folder))
    .sort(([a], [b]) => a.length - b.length)
    .map(([, set]) => set);
  return {
    thread: Object.assign({}, general, own(by_product, product), ...projects) as LimitSet,
    byType: by_type,
  };
}

export const isLimited = ({ thread, byType }: ThreadLimits) =>
  Object.keys(thread).length > 0 || Object.values(byType).some((set) => Object.keys(set).length > 0);

/** All sets of limits, of whatever they apply to. */
const setsIn = ({ by_type, by_project, by_product, ...general }: Limits): readonly LimitSet[] => [
  general,
  ...[by_type, by_project, by_product].flatMap((sets) => Object.values(sets ?? {})),
];

const limitsAny = (limits: Limits, names: readonly LimitName[]) =>
  setsIn(limits).some((set) => names.some((name) => set[name] !== undefined));

export const hasLimits = (limits: Limits) => limitsAny(limits, LIMIT_NAMES);
/** Whether a limit depends on what agents use while they work, and not only on spawns. */
export const limitsSpending = (limits: Limits) => limitsAny(limits, SPENDING_NAMES);

/** The folder itself or one below it. A name without a slash is that of the project's folder. */
function isInProject(cwd: string, folder: string): boolean {
  const parts = (path: string) => path.split(/[\\/]+/).filter((part) => part !== "");
  const [inside, wanted] = [parts(cwd), parts(folder)];
  if (!/[\\/]/.test(folder)) return inside.at(-1) === folder;
  return wanted.every((part, i) => inside[i] === part);
}

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** The limits of agents of one type. */
export function limitsOfType({ byType }: ThreadLimits, type: string | null): LimitSet {
  return { ...own(byType, ANY_TYPE), ...(type === null ? {} : own(byType, type)) };
}

/** What an agent, with all agents below it, has used. Null if it is not known. */
export interface Spent {
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly minutes: number | null;
}

interface AgentSpent extends Spent {
  readonly name: string;
  readonly type: string | null;
}

/** Numbers of agents below a thread. */
export interface AgentCount {
  readonly agents: number;
  readonly running: number;
}

/** What a thread has used at the moment of a decision. */
export interface Used extends Spent, AgentCount {
  ofType(type: string): AgentCount;
  /** The agent that makes the proposal, and those between it and the thread. */
  readonly chain: readonly AgentSpent[];
}

/** An agent that is to be spawned, or a model call or tool call of an existing one. */
type Proposal =
  | { readonly is: "spawn"; readonly type: string | null; readonly depth: number }
  | { readonly is: "call" };

/** A limit that the proposal would exceed. */
interface Exceeded extends LimitUse {
  readonly used: number;
  /** For the model: what was exceeded, and what it may do instead. */
  readonly text: string;
}

export type Verdict =
  | { readonly action: "allow"; readonly exceeded: null }
  | { readonly action: LimitAction; readonly exceeded: Exceeded };

export const ALLOWED: Verdict = { action: "allow", exceeded: null };

/** Decides about a proposal. A limit that denies takes precedence over one that warns. */
export function decide(limits: ThreadLimits, used: Used, proposal: Proposal): Verdict {
  const exceeded = [...exceededBy(limits, used, proposal)];
  const decisive = exceeded.find(({ action }) => action === "deny") ?? exceeded[0];
  return decisive === undefined ? ALLOWED : { action: decisive.action, exceeded: decisive };
}

function* exceededBy(limits: ThreadLimits, used: Used, proposal: Proposal): Generator<Exceeded> {
  if (proposal.is === "spawn") {
    const { type, depth } = proposal;
    yield* spawning(limits.thread, used, depth, null);
    const ofType = type === null ? {} : limitsOfType(limits, type);
    if (type !== null) yield* spawning(ofType, used.ofType(type), depth, type);
  }
  yield* spending(limits.thread, used, null, proposal);
  for (const agent of used.chain) yield* spending(limitsOfType(limits, agent.type), agent, agent.name, proposal);
}

function* spawning(set: LimitSet, { agents, running }: AgentCount, depth: number, type: string | null) {
  const of = type === null ? "" : ` of type ${type}`;
  if (set.agents !== undefined && agents + 1 > set.agents.max)
    yield exceeding("agents", set.agents, agents, type, {
      because: `this thread already has ${plural(agents, "agent")}${of}, and its limit is ${set.agents.max}`,
      instead: "Do this part yourself, or use the results of the agents that have run",
      proposal: "spawn",
    });
  if (set.concurrent !== undefined && running + 1 > set.concurrent.max)
    yield exceeding("concurrent", set.concurrent, running, type, {
      because: `${plural(running, "agent")}${of} of this thread ${running === 1 ? "is" : "are"} running, and at most ${set.concurrent.max} may run at once`,
      instead:
        set.concurrent.max === 0
          ? "Do this part yourself"
          : "Wait until one of them has ended and start it then, or do this part yourself",
      proposal: "spawn",
    });
  if (set.depth !== undefined && depth > set.depth.max)
    yield exceeding("depth", set.depth, depth, type, {
      because: `it would be at depth ${depth}, and agents${of} may be at most at depth ${set.depth.max}`,
      instead: "Do this part yourself",
      proposal: "spawn",
    });
}

/** The value that a limit on what is spent applies to. */
const SPENDING = {
  cost_usd: ({ costUsd }: Spent) => costUsd,
  tokens: ({ tokens }: Spent) => tokens,
  minutes: ({ minutes }: Spent) => minutes,
} as const;

function* spending(set: LimitSet, spent: Spent, agent: string | null, { is }: Proposal): Generator<Exceeded> {
  for (const name of SPENDING_NAMES) {
    const [limit, used] = [set[name], SPENDING[name](spent)];
    if (limit === undefined || used === null || used < limit.max) continue;
    const text = (value: number) => `${limitText(name, value)}${name === "tokens" ? " tokens" : ""}`;
    yield exceeding(name, limit, used, agent, {
      because: `${agent === null ? "this thread" : agent} has used ${text(used)}, and its limit is ${text(limit.max)}`,
      instead: "Finish with what you have, and report what is left to do",
      proposal: is,
    });
  }
}

interface Words {
  readonly because: string;
  readonly instead: string;
  readonly proposal: Proposal["is"];
}

function exceeding(
  limit: LimitName,
  { max, action }: Limit,
  used: number,
  whose: string | null,
  { because, instead, proposal }: Words,
): Exceeded {
  const what = proposal === "spawn" ? "agent was not started" : "call was not made";
  // Only the number of running agents falls again.
  const again = limit === "concurrent" ? "" : " Trying again has the same result.";
  const text =
    action === "deny"
      ? `retinue: this ${what}, because ${because}. ${instead}.${again}`
      : `retinue: a limit is exceeded: ${because}. ${instead}.`;
  return { limit, action, max, used, whose, text };
}

/** How much of a limit is used. */
export interface LimitUse extends Limit {
  readonly limit: LimitName;
  /** Whose limit: null for the thread, else the type or the name of an agent. */
  readonly whose: string | null;
  /** Null if it is not known. */
  readonly used: number | null;
}

/** How much of each limit a thread has used. `depth` is that of its deepest agent. */
export function usesOf(limits: ThreadLimits, used: Used, depth: number): readonly LimitUse[] {
  const values = (counts: AgentCount, spent: Spent): Readonly<Record<LimitName, number | null>> => ({
    agents: counts.agents,
    concurrent: counts.running,
    depth,
    cost_usd: spent.costUsd,
    tokens: spent.tokens,
    minutes: spent.minutes,
  });
  const list = (set: LimitSet, of: Readonly<Record<LimitName, number | null>>, whose: string | null) =>
    LIMIT_NAMES.flatMap((limit) => {
      const given = set[limit];
      return given === undefined ? [] : [{ limit, whose, ...given, used: of[limit] }];
    });
  const counted = new Set<LimitName>(["agents", "concurrent"]);
  const spent = new Set<LimitName>(SPENDING_NAMES);
  return [
    ...list(limits.thread, values(used, used), null),
    ...Object.keys(limits.byType)
      .filter((type) => type !== ANY_TYPE)
      .flatMap((type) =>
        list(limitsOfType(limits, type), values(used.ofType(type), used), type).filter(({ limit }) =>
          counted.has(limit),
        ),
      ),
    ...used.chain.flatMap((agent) =>
      list(limitsOfType(limits, agent.type), values(used, agent), agent.name).filter(({ limit }) => spent.has(limit)),
    ),
  ];
}

/** The part of a limit that is used, 1 for all of it; null if it is not known. */
export const shareOf = ({ used, max }: Pick<LimitUse, "used" | "max">): number | null =>
  used === null ? null : max === 0 ? (used > 0 ? 1 : 0) : used / max;
