import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { partsOf } from "../../core/facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent } from "../../core/link/forest.ts";
import {
  type Attach,
  type AttachedAgent,
  type AttachedFile,
  type AttachRequest,
  type CutAfter,
  nameIn,
  type Resumption,
  type TranscriptCopy,
  type TranscriptRecord,
  type Unable,
} from "../../core/ports/attach.ts";
import type { Provider } from "../../core/ports/provider.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { noReads, readIfThere } from "../../transports/files.ts";
import { join } from "../../transports/system/paths.ts";
import { Failure } from "../failure.ts";
import { type Env, retinueHome } from "../home.ts";
import { jsonLines } from "../ingest/json-lines.ts";
import type { Library } from "../ingest/library.ts";
import { EventReader, isWholeDocument, type PlacedEvent } from "../query/events.ts";
import { contextOf } from "./context.ts";

export interface AttachOptions {
  /** The first message; null if the user types it. */
  readonly message: string | null;
  /** The id or the number of the last event to keep; null for the whole history. */
  readonly at: string | null;
  /** Where to run the product; null for the agent's own folder. */
  readonly folder: string | null;
  /** The product runs in a terminal. Otherwise it responds to the message and ends. */
  readonly isInteractive: boolean;
  /** More arguments for the product. */
  readonly args: readonly string[];
}

/** What to run to continue an agent. Nothing has been written yet. */
export interface AttachPlan {
  readonly uri: string;
  readonly product: string;
  /** `history`: the product resumes the agent. `text`: a new session begins with the agent's history as a message. */
  readonly begins: "history" | "text";
  readonly command: readonly string[];
  readonly cwd: string;
  /** The agent's folder does not exist, and the user named none: `cwd` is the current folder. */
  readonly isHere: boolean;
  /** Files to write first. */
  readonly copies: readonly TranscriptCopy[];
  /** What the user should know, one sentence each. */
  readonly notes: readonly string[];
}

/** Where copies are written. They are not read as transcripts. */
const attachedFolder = (env: Env, provider: string) => join(retinueHome(env), "attached", provider);

/** Plans how an agent is continued: by its product, with its history, or else in a new session with the history as text. */
export async function planAttach(
  env: Env,
  library: Library,
  forest: Forest,
  agent: LinkedAgent,
  options: AttachOptions,
): Promise<AttachPlan> {
  const { provider, attach } = attachOf(agent);
  const cut = options.at === null ? null : await cutAt(library, forest, agent, options.at);
  const id = randomUUID();
  const request: AttachRequest = {
    message: options.message,
    isInteractive: options.isInteractive,
    until: cut?.after ?? null,
    args: options.args,
    id,
    copyAt: (name) => join(attachedFolder(env, provider.name), name),
  };
  const attached = attachedAgent(library, forest, agent);
  const found = await resumption(library, attach, attached, request);
  const where = folderOf(forest, agent, options.folder);
  const plan = { uri: agent.uri, product: provider.product, cwd: where.cwd, isHere: where.isHere };
  const notes = [
    ...where.notes,
    ...(agent.verdict.status === "running"
      ? ["the agent is still running; the new session has its history up to now, and both continue"]
      : []),
  ];
  if (!("unable" in found)) {
    const { command, copies, limits } = found;
    return { ...plan, begins: "history", command, copies, notes: [...notes, ...limits] };
  }
  const placed = cut?.events ?? (await new EventReader(library).nextPlaced(forest, [agent.key]));
  const events = placed.map(({ event }) => event);
  const path = request.copyAt(`${id}.md`);
  const context = contextOf(agent, provider.product, events, options.message, path);
  const reason = `${provider.product} cannot resume this agent: ${found.unable}. A new session begins with the agent's history as its first message`;
  return {
    ...plan,
    begins: "text",
    command: attach.begin(context.message, attached, request),
    copies: [{ path, records: [context.whole] }],
    notes: [...notes, reason],
  };
}

/** How the agent's product continues agents. Throws if it cannot. */
function attachOf({ key, uri }: LinkedAgent): { readonly provider: Provider; readonly attach: Attach } {
  const provider = PROVIDERS.find(({ name }) => name === partsOf(key).provider);
  if (provider?.attach !== undefined) return { provider, attach: provider.attach };
  throw new Failure("failed", `${uri} cannot be continued: ${provider?.product ?? "its product"} has no sessions`, [
    `products: ${PROVIDERS.flatMap(({ attach, product }) => (attach === undefined ? [] : [product])).join(", ")}`,
  ]);
}

function attachedAgent(library: Library, forest: Forest, agent: LinkedAgent): AttachedAgent {
  const { thread, agent: id } = partsOf(agent.key);
  const last = [...agent.calls].at(-1);
  return {
    key: agent.key,
    thread,
    agent: id,
    type: nameIn(agent.agentType ?? agent.spawnCall?.agentType),
    isBelow: agent.parent !== null,
    isRunning: agent.verdict.status === "running" || agent.verdict.status === "pendingInit",
    model: nameIn(last?.model),
    vendor: nameIn(last?.vendor),
    files: filesOf(library, agent),
    above: aboveOf(forest, agent).flatMap((one) => filesOf(library, one).map(({ path }) => path)),
  };
}

/** The agents above, the parent first. */
function aboveOf(forest: Forest, { parent }: LinkedAgent): LinkedAgent[] {
  const above: LinkedAgent[] = [];
  for (let at = parent; at !== null; at = agentOf(forest, at).parent) above.push(agentOf(forest, at));
  return above;
}

/** The transcripts of an agent, the product's own first. Without recordings, which the product cannot resume. */
function filesOf(library: Library, { files }: LinkedAgent): AttachedFile[] {
  return files
    .flatMap(({ path }) => {
      const source = library.source(path);
      const root = library.roots.find((one) => one.path === source?.root && one.provider === source.provider);
      if (source === undefined || root === undefined || root.recorded) return [];
      return [{ path, object: source.object ?? null, isOwn: !root.imported && root.loose === null }];
    })
    .sort((a, b) => Number(b.isOwn) - Number(a.isOwn));
}

/** Runs the provider's plan, and gives it the transcripts that it requests. */
async function resumption(
  library: Library,
  attach: Attach,
  agent: AttachedAgent,
  request: AttachRequest,
): Promise<Resumption | Unable> {
  const steps = attach.resume(agent, request);
  if (!("next" in steps)) return steps;
  let step = steps.next();
  while (step.done !== true) step = steps.next(await recordsOf(library, step.value));
  return step.value;
}

async function recordsOf(library: Library, path: string): Promise<readonly TranscriptRecord[] | null> {
  const source = library.source(path);
  if (source === undefined || source.stream.shape === "database" || !existsSync(path)) return null;
  if (source.stream.shape === "document") {
    const bytes = readIfThere(path);
    return bytes === null ? null : [{ bytes, line: 0, offset: 0 }];
  }
  const records: TranscriptRecord[] = [];
  for await (const lines of jsonLines(path, noReads(), undefined, source.stream.packed))
    for (const line of lines)
      if (line.is === "line") records.push({ bytes: line.bytes, line: line.number, offset: line.offset });
  return records;
}

interface Cut {
  readonly after: CutAfter;
  /** The events up to the cut. */
  readonly events: readonly PlacedEvent[];
}

async function cutAt(library: Library, forest: Forest, agent: LinkedAgent, at: string): Promise<Cut> {
  const events = await new EventReader(library).nextPlaced(forest, [agent.key]);
  const index = events.findIndex(({ event }) => event.id === at || String(event.seq) === at);
  const found = events[index];
  const next = [`events of this agent: retinue events ${agent.uri}`];
  if (found === undefined) throw new Failure("not_found", `no event ${at} of ${agent.uri}`, next);
  const { from, isRecorded, event } = found;
  if (from === null)
    throw new Failure("usage", `a ${event.kind} event is not a record of the agent; choose the event before it`, next);
  if (isRecorded)
    throw new Failure("failed", `event ${at} is not in the agent's transcript, only in a recording of it`, next);
  const { path, place } = from;
  const isRecord = !("row" in place) && !isWholeDocument(place);
  return {
    after: { path, line: isRecord ? place.line : 0, offset: isRecord ? place.offset : null },
    events: events.slice(0, index + 1),
  };
}

function folderOf(
  forest: Forest,
  agent: LinkedAgent,
  requested: string | null,
): { readonly cwd: string; readonly isHere: boolean; readonly notes: readonly string[] } {
  if (requested !== null) {
    if (!isFolder(requested)) throw new Failure("usage", `no folder ${requested}`, ["--in needs an existing folder"]);
    return { cwd: requested, isHere: false, notes: [] };
  }
  // Some products record the folder of the thread only.
  const cwd = [agent, ...aboveOf(forest, agent)].find((one) => one.cwd !== null)?.cwd ?? null;
  if (cwd !== null && isFolder(cwd)) return { cwd, isHere: false, notes: [] };
  const here = process.cwd();
  const why = cwd === null ? "its folder is not known" : `its folder ${cwd} does not exist`;
  return { cwd: here, isHere: true, notes: [`${why}; the product runs in the current folder (--in names another)`] };
}

/** A recorded path may contain a NUL byte, which `statSync` does not accept. */
const isFolder = (path: string) =>
  !path.includes("\0") && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
