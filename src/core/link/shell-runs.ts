import { type AgentKey, type CallKey, nativeCall, type ObservationId, partsOf, threadOf } from "../facts/ids.ts";
import {
  byTime,
  type Launch,
  type Observation,
  type ObservationOf,
  OWN_FOLDER,
  type RecordState,
} from "../facts/observation.ts";
import { lowerBound } from "../tools/collections.ts";
import { singleSpaced } from "../tools/spaces.ts";
import { setBest } from "./call-book.ts";
import type { GatheredAgent } from "./gather.ts";
import { DISTINCTIVE } from "./lineage-keys.ts";
import type { Candidate, Fit } from "./start-matching.ts";

/** A thread that a shell command may have started. */
export interface StartedThread {
  readonly key: AgentKey;
  readonly began: number;
  /** Whether it was finished at this time. It may have been continued later. */
  readonly isDone: (at: number) => boolean;
  readonly prompt: string | null;
  /** Its last answer until this time; null: at any time. */
  readonly answer: (until: number | null) => string | null;
  readonly cwd: string | null;
  readonly interactive: boolean | null;
  /** The home folder whose products recorded it; null if unknown, such as for imported threads. */
  readonly home: string | null;
}

/** The home folder of the user whose product wrote a file; null if unknown, undefined if the file does not show it. */
export type HomeOf = (path: string) => string | null | undefined;

/** All agents, with what the search for starts needs. */
export function startedThreads(
  facts: readonly Observation[],
  gathered: ReadonlyMap<AgentKey, GatheredAgent>,
  homeOf: HomeOf = () => "",
): readonly StartedThread[] {
  if (!facts.some((o) => o.type === "shell-called" || o.type === "starter-seen")) return [];
  const began = new Map<AgentKey, ObservationOf<"thread-began">>();
  for (const o of facts) {
    if (o.type !== "thread-began" || o.at === null) continue;
    const known = began.get(o.thread);
    if (known === undefined || byTime(o, known) < 0) began.set(o.thread, o);
  }
  return [...gathered.values()].flatMap((info): StartedThread[] => {
    const { key, firstAt, prompt, files } = info;
    const first = began.get(key);
    const start = first?.at ?? firstAt;
    if (start === null) return [];
    const homes = new Set(files.map(({ path }) => homeOf(path)).filter((home) => home !== undefined));
    return [
      {
        key,
        began: start,
        isDone: (at) =>
          !isLater(info, at) || ENDS.has(stepsUntil(info, at).findLast(({ state }) => state !== null)?.state),
        prompt,
        answer: (until) =>
          until !== null && isLater(info, until)
            ? (stepsUntil(info, until).findLast(({ text }) => text !== null)?.text ?? null)
            : info.answer,
        cwd: first?.cwd ?? info.cwd,
        interactive: first?.interactive ?? null,
        home: homes.size === 1 ? ([...homes][0] ?? null) : null,
      },
    ];
  });
}

const ENDS: ReadonlySet<RecordState | null | undefined> = new Set(["answered", "failed", "interrupted"] as const);

/** Whether the thread has records after this time. */
const isLater = ({ firstAt, lastAt }: GatheredAgent, at: number) => (lastAt ?? firstAt ?? 0) > at;

const stepsUntil = ({ steps }: GatheredAgent, at: number) =>
  steps().filter((step) => step.at !== null && step.at <= at);

export interface Shells {
  readonly runs: readonly ShellRun[];
  /** Threads that may have been started, by start time. */
  readonly threads: readonly StartedThread[];
  /** The commands that may have started each thread. */
  candidates(threads: readonly StartedThread[]): readonly Candidate[];
  /** The scripts that printed the answer of a thread. */
  scripts(threads: readonly StartedThread[]): readonly Candidate[];
  /** All scripts that ran when a thread began. */
  anyScripts(threads: readonly StartedThread[]): readonly Candidate[];
}

/** Null if there are no shell calls and no process was seen. */
export function shellsIn(
  facts: readonly Observation[],
  agents: readonly StartedThread[],
  isFree: (thread: AgentKey) => boolean,
  resolve: (call: CallKey) => CallKey,
): Shells | null {
  const called = byCall(
    facts.filter((o) => o.type === "shell-called"),
    resolve,
  );
  if (called.size === 0 && !facts.some((o) => o.type === "starter-seen")) return null;
  const returned = byCall(
    facts.filter((o) => o.type === "shell-returned"),
    resolve,
  );
  const byKey = new Map(agents.map((agent) => [agent.key, agent]));
  const homeOf = (agent: AgentKey) => byKey.get(agent)?.home ?? byKey.get(threadOf(agent))?.home ?? null;
  const cwdOf = (agent: AgentKey) => byKey.get(agent)?.cwd ?? byKey.get(threadOf(agent))?.cwd ?? null;
  const runs = [...called].map(([call, o]) => {
    const { speaker } = o;
    return new ShellRun(
      { ...o, folders: inFolder(o.folders, cwdOf(speaker)) },
      call,
      returned.get(call),
      homeOf(speaker),
    );
  });
  for (const run of runs) run.leaveOut((thread) => byKey.has(thread));
  const threads = agents
    .filter(({ key }) => partsOf(key).agent === null && isFree(key))
    .sort((a, b) => a.began - b.began || (a.key < b.key ? -1 : 1));
  const launching = runs.filter(({ isScript }) => !isScript);
  const scripts = runs.filter(({ isScript }) => isScript);
  return {
    runs: launching,
    threads,
    candidates: (of) => launching.flatMap((run) => run.candidates(of)),
    anyScripts: (of) => scripts.flatMap((run) => run.candidates(of, true)),
    scripts: (of) =>
      withoutOuter(
        scripts.flatMap((run) => run.candidates(of)),
        byKey,
      ),
  };
}

/** The folders of a command, if that of its agent is known. */
function inFolder(folders: readonly string[] | null, cwd: string | null): readonly string[] | null {
  const isOwn = (folder: string) => folder === OWN_FOLDER || folder.startsWith(`${OWN_FOLDER}/`);
  if (folders === null || !folders.some(isOwn)) return folders;
  return cwd === null ? null : folders.map((folder) => (isOwn(folder) ? `${cwd}${folder.slice(1)}` : folder));
}

function byCall<T extends ObservationOf<"shell-called"> | ObservationOf<"shell-returned">>(
  facts: readonly T[],
  resolve: (call: CallKey) => CallKey,
): Map<CallKey, T> {
  const found = new Map<CallKey, T>();
  for (const o of facts) setBest(found, o, resolve(o.call));
  return found;
}

/** The output of a script contains that of the scripts that its agents run. */
function withoutOuter(
  candidates: readonly Candidate[],
  byKey: ReadonlyMap<AgentKey, StartedThread>,
): readonly Candidate[] {
  return candidates.filter(
    (one) => !candidates.some((other) => other.child === one.child && one.run.isAround(other.run, byKey)),
  );
}

/** How long after its call a command in the background may start an agent; longer if it waits first. */
const BACKGROUND_MS = 30_000;
const DELAYED_MS = 600_000;
/** The same for a command without a result, which may still run or was killed. */
const UNRETURNED_MS = 3_600_000;
/** The end of an answer that must be in the output. */
const ANSWER_CHARS = 160;
const MAX_TIMES = 32;

interface NamedThread {
  readonly child: StartedThread;
  readonly rule: "command names it" | "printed id";
}

/** One shell command of an agent, from its call to its result. */
export class ShellRun {
  readonly call: CallKey;
  readonly speaker: AgentKey;
  readonly at: number | null;
  /** When it returned; null if it has not, or continued in the background. */
  readonly ends: number | null;
  readonly from: ObservationId;
  readonly isScript: boolean;
  readonly #called: ObservationOf<"shell-called">;
  readonly #returned: ObservationOf<"shell-returned"> | undefined;
  readonly #home: string | null;
  readonly #output: string;
  /** The starts for which no thread was found yet. */
  #left: { readonly launch: Launch; readonly times: number }[];

  constructor(
    called: ObservationOf<"shell-called">,
    call: CallKey,
    returned: ObservationOf<"shell-returned"> | undefined,
    home: string | null,
  ) {
    this.#called = called;
    this.#returned = returned;
    this.#home = home;
    this.call = call;
    this.speaker = called.speaker;
    this.at = called.at;
    this.ends = returned === undefined || returned.continues === true ? null : returned.at;
    this.from = called.id;
    this.isScript = called.launches.length === 0;
    this.#output = singleSpaced(returned?.output ?? "");
    this.#left = called.launches.map((launch) => ({ launch, times: Math.min(launch.times ?? MAX_TIMES, MAX_TIMES) }));
  }

  /** The command and its call, for messages. */
  get name(): string {
    const command = singleSpaced(this.#called.command);
    return `${JSON.stringify(command.length > 60 ? `${command.slice(0, 60)}…` : command)} (call ${nativeCall(this.call)})`;
  }

  /** The threads that the command or its output names, of those that it may have started. */
  named(threads: ReadonlyMap<AgentKey, StartedThread>): readonly NamedThread[] {
    const fits = (key: AgentKey) => {
      const child = threads.get(key);
      return child !== undefined && this.fitsInTime(child) ? [child] : [];
    };
    const inCommand = this.#called.launches.flatMap(({ thread }) => thread ?? []);
    const printed = [...Map.groupBy(this.#returned?.printed ?? [], (key) => partsOf(key).provider)].flatMap(
      ([provider, keys]) => {
        const starts = this.#called.launches.filter((launch) => launch.provider === provider);
        const most = starts.reduce((sum, { times }) => sum + (times ?? MAX_TIMES), 0);
        const children = keys.filter((key) => !inCommand.includes(key)).flatMap(fits);
        const asked = children.filter(({ prompt }) => starts.some((launch) => promptFit(launch, prompt) !== null));
        // Other ids may be among the output: a thread with another prompt counts only if none has that of the command.
        const isOther = asked.length > 0 || [...threads.values()].some((one) => this.mayStart(one)?.prompt === true);
        const better = isOther ? asked : children;
        return better.length > most ? [] : better;
      },
    );
    return [
      ...inCommand.flatMap(fits).map((child) => ({ child, rule: "command names it" as const })),
      ...printed.map((child) => ({ child, rule: "printed id" as const })),
    ];
  }

  /** Removes the starts of threads that the output names and that are not known: they belong to no other thread. */
  leaveOut(isKnown: (thread: AgentKey) => boolean): void {
    for (const key of this.#returned?.printed ?? []) if (!isKnown(key)) this.#take(partsOf(key).provider, null);
  }

  /** Whether the thread began after the call, and before the result if nothing continues in the background. */
  fitsInTime(child: StartedThread, launch?: Launch): boolean {
    if (
      this.at === null ||
      child.began < this.at ||
      child.key === threadOf(this.speaker) ||
      child.home !== this.#home ||
      child.home === null
    )
      return false;
    const background = launch?.background ?? this.#called.background === true;
    if (!background && this.ends !== null) return child.began <= this.ends;
    if (this.#returned?.at == null) return child.began <= this.at + UNRETURNED_MS;
    const delay = this.#called.delayed === true ? DELAYED_MS : BACKGROUND_MS;
    return background || this.#returned.continues === true ? child.began <= this.#returned.at + delay : true;
  }

  /** Whether the other command was run by an agent that this one may have started. */
  isAround(other: ShellRun, threads: ReadonlyMap<AgentKey, StartedThread>): boolean {
    const inner = threads.get(threadOf(other.speaker));
    return inner !== undefined && inner.key !== threadOf(this.speaker) && this.fitsInTime(inner);
  }

  /** Removes the start of the command that started this thread. */
  take(child: StartedThread): void {
    this.#take(partsOf(child.key).provider, child.prompt);
  }

  #take(provider: string, prompt: string | null) {
    const fits = this.#left.filter(({ launch }) => launch.provider === provider);
    const taken = fits.find(({ launch }) => promptFit(launch, prompt) === "literal") ?? fits[0];
    this.#left = this.#left.flatMap((one) =>
      one !== taken ? [one] : one.times > 1 ? [{ ...one, times: one.times - 1 }] : [],
    );
  }

  mayStart(child: StartedThread): Fit | null {
    return this.#left.map(({ launch }) => this.#fit(launch, child)).find((fit) => fit !== null) ?? null;
  }

  /** `sorted`: by start time. `unseen`: a script need not have printed the answer. */
  candidates(sorted: readonly StartedThread[], unseen = false): readonly Candidate[] {
    const { at } = this;
    const children = at === null ? [] : sorted.slice(lowerBound(sorted, ({ began }) => began < at));
    if (this.isScript)
      return children.flatMap((child): Candidate[] => {
        if (!this.#fitsScript(child)) return [];
        const fit = { prompt: false, folder: true, answer: this.#printed(child) };
        if (unseen) return [{ child, run: this, start: "script", times: MAX_TIMES, fit }];
        const answer = this.#answerOf(child);
        const times = this.#output.split(answer).length - 1;
        return fit.answer && this.ends !== null ? [{ child, run: this, start: answer, times, fit }] : [];
      });
    return this.#left.flatMap(({ launch, times }, start) =>
      children.flatMap((child) => {
        const fit = this.#fit(launch, child);
        return fit === null ? [] : [{ child, run: this, start: String(start), times, fit }];
      }),
    );
  }

  #fit(launch: Launch, child: StartedThread): Fit | null {
    if (launch.provider !== partsOf(child.key).provider || !this.fitsInTime(child, launch)) return null;
    if (launch.headless && child.interactive === true) return null;
    if (launch.thread !== null && launch.thread !== child.key) return null;
    const prompt = promptFit(launch, child.prompt);
    if (prompt === null || (prompt === "open" && !this.#isSoon(child))) return null;
    const { folders } = this.#called;
    const folder = folders !== null && child.cwd !== null && folders.includes(withoutSlash(child.cwd));
    if (!folder && (folders !== null || prompt !== "literal")) return null;
    if (!launch.background && this.ends !== null && !child.isDone(this.ends)) return null;
    return { prompt: prompt === "literal", folder, answer: this.#printed(child) };
  }

  /** Without a result and a known prompt, a command is only known to have started agents soon after its call. */
  #isSoon({ began }: StartedThread): boolean {
    const delay = this.#called.delayed === true ? DELAYED_MS : BACKGROUND_MS;
    return this.#returned?.at != null || this.at === null || began <= this.at + delay;
  }

  #fitsScript(child: StartedThread): boolean {
    const { folders, background } = this.#called;
    if (!this.fitsInTime(child) || child.interactive === true) return false;
    const isThere = folders?.some((folder) => child.cwd === folder || child.cwd?.startsWith(`${folder}/`)) === true;
    return isThere && (background === true || this.ends === null || child.isDone(this.ends));
  }

  /** The end of its answer when the command returned. */
  #answerOf(child: StartedThread): string {
    return singleSpaced(child.answer(this.ends) ?? "").slice(-ANSWER_CHARS);
  }

  #printed(child: StartedThread): boolean {
    const answer = this.#answerOf(child);
    return answer.length >= DISTINCTIVE && this.#output.includes(answer);
  }
}

const withoutSlash = (path: string) => (path.length > 1 ? path.replace(/\/$/, "") : path);

/** `literal`: a word of the command is the prompt. `open`: it may be text that the command does not contain. */
function promptFit({ prompts, open }: Launch, prompt: string | null): "literal" | "open" | null {
  const text = prompt === null ? null : singleSpaced(prompt);
  if (text !== null && text !== "" && prompts.some((pieces) => matches(pieces.map(singleSpaced), text)))
    return "literal";
  return open || text === null ? "open" : null;
}

/** Whether the pieces occur in the prompt in their order. Products may add quotes or the text of stdin around a prompt. */
function matches(pieces: readonly string[], prompt: string): boolean {
  const literal = pieces.join("");
  if (literal.length < 3) return pieces.length === 1 && literal !== "" && literal === prompt;
  let at = 0;
  for (const piece of pieces) {
    const found = prompt.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  // A single word, such as `exec` or a path, may be part of any prompt.
  return (literal.length >= DISTINCTIVE && /\s/.test(literal.trim())) || literal.length * 2 >= prompt.length;
}
