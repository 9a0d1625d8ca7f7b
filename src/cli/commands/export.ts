import { writeFileSync } from "node:fs";
import { exportLog, exportLogPath } from "../../app/debug-log.ts";
import { destinationsFor, type Exported, exportThreads, previewThreads, type ThreadToSend } from "../../app/export.ts";
import { renderFile } from "../../app/export-file.ts";
import { Failure } from "../../app/failure.ts";
import { type FileFormat, type OldTraces, SENT_FORMATS, type SentFormat } from "../../app/formats.ts";
import { keep, type Library } from "../../app/library.ts";
import { live } from "../../app/live.ts";
import { redactionOf } from "../../app/settings.ts";
import { sinceOf } from "../../app/since.ts";
import { Tracer } from "../../app/tracing.ts";
import type { RedactionLevel, RedactionRules } from "../../core/redaction.ts";
import type { Context } from "../context.ts";
import { plural, printable } from "../render/format.ts";

export interface ExportOptions {
  readonly out?: string;
  readonly preview?: boolean;
  readonly follow?: boolean;
  readonly backfill?: boolean;
  readonly since?: string;
  readonly old?: OldTraces;
  readonly level?: RedactionLevel;
  readonly debug?: boolean;
}

/** A service that is away for longer gets it from the outbox, later. */
const PATIENCE_MS = 30_000;

export async function exportTree(context: Context, format: SentFormat | FileFormat, uri: string | undefined, options: ExportOptions): Promise<void> {
  check(format, uri, options);
  const settings = await context.settings();
  const rules = { ...redactionOf(settings), ...(options.level === undefined ? {} : { level: options.level }) };
  if (isSent(format)) return sendTree(context, format, uri, options, rules);
  await writeTree(context, format, uri as string, options, rules);
}

const isSent = (format: string): format is SentFormat => SENT_FORMATS.some((sent) => sent === format);

function check(format: string, uri: string | undefined, { backfill, since, follow, preview, out, old }: ExportOptions) {
  const wrong = (words: string, right: string) => {
    throw new Failure("usage", words, [right]);
  };
  if (backfill === true && !isSent(format)) wrong(`--backfill does not go with ${format}`, `it is for what is sent: ${SENT_FORMATS.join(" and ")}`);
  if (backfill === true && uri !== undefined) wrong("--backfill goes over all threads", "leave the URI out, or leave --backfill out");
  if (backfill === true && since === undefined) wrong("--backfill wants to know how far back", "write --since 7d, or a date");
  if (backfill !== true && since !== undefined) wrong("--since goes with --backfill", "write retinue export <format> --backfill --since 7d");
  if (backfill === true && follow === true) wrong("--backfill and --follow do not go together", "run one after the other");
  if (preview === true && follow === true) wrong("--preview and --follow do not go together", "leave one of them out");
  if (old !== undefined && format !== "langsmith") wrong(`--old does not go with ${format}`, "only LangSmith refuses old traces");
  if (uri === undefined && backfill !== true && !(follow === true && isSent(format))) wrong("no URI", `write retinue export ${format} <uri>, or latest`);
  if (follow === true && !isSent(format) && out === undefined) wrong(`--follow writes ${format} again and again`, "write --out <file>");
}

async function sendTree(context: Context, format: SentFormat, uri: string | undefined, options: ExportOptions, rules: RedactionRules): Promise<void> {
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
      return options.out === undefined ? void process.stdout.write(text) : writeFileSync(options.out, text, { mode: 0o600 });
    }
    const kept = await keep(env);
    try {
      if (options.follow === true)
        return await follow(context, library, new Tracer({ library, outbox: kept.outbox, log, old, ...followed(threads) }, destinations, terminal.talk));
      const results: Exported[] = [];
      const onProgress = terminal.progress === null ? {} : { onProgress: terminal.progress };
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
const followed = ([first]: readonly ThreadToSend[]) => (first === undefined ? { since: Date.now() } : { thread: first.key, since: 0 });

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

async function writeTree(context: Context, format: FileFormat, uri: string, options: ExportOptions, rules: RedactionRules): Promise<void> {
  const { library, agents } = await context.find(uri);
  const [{ key }] = agents;
  const write = async () => {
    const text = await renderFile(format, library, key, rules);
    if (options.out === undefined) process.stdout.write(text);
    else writeFileSync(options.out, text, { mode: 0o600 });
  };
  await write();
  if (options.follow !== true) return library.close();
  const stop = stopSignal();
  for await (const _ of live(library, { signal: stop })) await write();
  library.close();
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

async function follow(context: Context, library: Library, tracer: Tracer): Promise<void> {
  const { talk, colors } = context.terminal;
  const onError = (error: Error) => talk(`watching: ${error.message}`);
  talk(colors.dim("Ctrl-C stops it."));
  try {
    for await (const threads of live(library, { signal: stopSignal(), onError })) tracer.changed(threads);
  } finally {
    await tracer.stop();
  }
}

const leftOut = (turns: number) =>
  `${plural(turns, "turn")} began more than a day ago, which LangSmith's cloud refuses: left out. --old shift sends them with today's times, the true ones beside; --old send tries.`;

/** Says what arrived. What did not is a failure, even if it will be tried again. */
function report({ terminal, json }: Context, results: readonly Exported[]): void {
  if (json) terminal.out(JSON.stringify(results, null, 2));
  for (const { destination, threads, traces, items, put, tooOld, tooMany, open, turnedDown } of results) {
    if (!json)
      terminal.out(printable(`${destination}: ${plural(items, "item")} of ${plural(traces, "turn")} in ${plural(threads, "thread")}, ${put} of them new`));
    if (tooOld > 0) terminal.talk(leftOut(tooOld));
    if (tooMany > 0) terminal.talk(`${plural(tooMany, "item")} left out: LangSmith takes 25,000 a turn`);
    if (open > 0) terminal.talk(`${plural(open, "thread")} still at work: run it again for the rest, or with --follow`);
    if (turnedDown !== null) terminal.talk(`turned down: ${turnedDown}`);
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
