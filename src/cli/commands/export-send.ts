import { Endings } from "../../app/export/endings.ts";
import type { SentFormat } from "../../app/export/formats.ts";
import { exportLog, exportLogPath } from "../../app/export/log.ts";
import { destinationsFor, type Exported, exportThreads, previewThreads, type ThreadToSend } from "../../app/export/send.ts";
import { Tracer } from "../../app/export/tracing.ts";
import { Failure } from "../../app/failure.ts";
import { keep } from "../../app/kept-file.ts";
import type { Library } from "../../app/library.ts";
import { live } from "../../app/live.ts";
import { sinceOf } from "../../app/since.ts";
import { plural } from "../../core/format.ts";
import { printJson } from "../../core/json.ts";
import type { RedactionRules } from "../../core/redaction.ts";
import type { Context } from "../context.ts";
import { give, stopSignal } from "../output.ts";
import type { ExportOptions } from "./export.ts";

/** A service that is away for longer gets it from the outbox, later. */
const PATIENCE_MS = 30_000;

/** Sends a tree, or all there are, and waits for the word that it arrived. */
export async function sendTree(context: Context, format: SentFormat, uri: string | undefined, options: ExportOptions, rules: RedactionRules): Promise<void> {
  const { env, terminal } = context;
  const destinations = destinationsFor(format, env, rules, options.preview === true || options.out !== undefined);
  const log = exportLog(env, options.debug === true);
  const { library, threads } = await wanted(context, uri, options);
  const old = options.old ?? null;
  try {
    if (options.preview === true || options.out !== undefined) {
      // Each of several gets the same.
      const [first] = destinations;
      const { text, tooOld } = first === undefined ? { text: "", tooOld: 0 } : await previewThreads(first, threads, { library, log, old });
      if (tooOld > 0) terminal.talk(leftOut(tooOld));
      return give(text, options.out);
    }
    const kept = await keep(env);
    try {
      if (options.follow === true)
        return await follow(
          context,
          library,
          new Tracer({ library, outbox: kept.outbox, endings: new Endings(library), log, old, ...followed(threads) }, destinations, terminal.talk),
        );
      const results: Exported[] = [];
      const onProgress = terminal.progressOf === null ? {} : { onProgress: terminal.progressOf("sending", "threads") };
      for (const destination of destinations)
        results.push(await exportThreads(destination, threads, { library, outbox: kept.outbox, log, old, patienceMs: PATIENCE_MS, ...onProgress }));
      report(context, results);
      if (options.debug === true) terminal.talk(`debug: ${exportLogPath(env)}`);
    } finally {
      kept.close();
    }
  } finally {
    library.close();
  }
}

/** One thread from its beginning, or all of them from now on. */
function followed([first]: readonly ThreadToSend[]) {
  if (first === undefined) return { since: Date.now() };
  return { thread: first.key, since: 0, ...(first.below === undefined ? {} : { below: first.below }) };
}

async function wanted(
  context: Context,
  uri: string | undefined,
  { since }: ExportOptions,
): Promise<{ readonly library: Library; readonly threads: readonly ThreadToSend[] }> {
  if (uri !== undefined) {
    const { library, agents } = await context.find(uri);
    const [agent] = agents;
    return { library, threads: [{ key: agent.key, ...(agent.parent === null ? {} : { below: agent.uri }) }] };
  }
  const from = since === undefined ? null : sinceOf(since, Date.now());
  const library = await context.library();
  // Oldest first, as it happened.
  const rows = from === null ? [] : [...library.threadRows({ since: from })].reverse();
  return { library, threads: rows.map(({ place }) => ({ key: place.key })) };
}

async function follow(context: Context, library: Library, tracer: Tracer): Promise<void> {
  const { talk, colors } = context.terminal;
  talk(colors.dim("Ctrl-C stops it."));
  try {
    for await (const threads of live(library, { signal: stopSignal(), talk })) tracer.changed(threads);
  } finally {
    await tracer.stop();
  }
}

const leftOut = (turns: number) =>
  `${plural(turns, "turn")} began more than a day ago, which LangSmith's cloud refuses: left out. --old shift sends them with today's times, the true ones beside; --old send tries.`;

/** Says what arrived. What did not is a failure, even if it will be tried again. */
function report({ terminal, json }: Context, results: readonly Exported[]): void {
  if (json) terminal.out(printJson(results, 2));
  for (const { destination, threads, traces, items, put, tooOld, tooMany, open, turnedDown } of results) {
    if (!json) terminal.out(`${destination}: ${plural(items, "item")} of ${plural(traces, "turn")} in ${plural(threads, "thread")}, ${put} of them new`);
    if (tooOld > 0) terminal.talk(leftOut(tooOld));
    if (tooMany > 0) terminal.talk(`${plural(tooMany, "item")} left out: LangSmith takes 25,000 a turn`);
    if (open > 0) terminal.talk(`${plural(open, "thread")} still at work: run it again for the rest, or with --follow`);
    for (const words of turnedDown) terminal.talk(`turned down: ${words}`);
  }
  const [stuck] = results.filter(({ waiting, refused }) => waiting > 0 || refused > 0);
  if (stuck !== undefined)
    throw new Failure(
      "failed",
      stuck.waiting > 0
        ? `${plural(stuck.waiting, "item")} did not arrive: ${stuck.reason ?? "another process is sending them"}`
        : `${plural(stuck.refused, "item")} refused`,
      [stuck.waiting > 0 ? "they wait in the outbox and are sent next time: retinue outbox" : "retinue outbox says why"],
    );
}
