import type { Destination } from "../../app/export/destination.ts";
import { DESTINATIONS, type SentFormat } from "../../app/export/destinations/index.ts";
import type { Manifest } from "../../app/export/destinations/manifest.ts";
import { Endings } from "../../app/export/endings.ts";
import type { OldTraces } from "../../app/export/formats.ts";
import { exportLog, exportLogPath, type Log } from "../../app/export/log.ts";
import { type Exported, exportThreads, previewThreads, type ThreadToSend } from "../../app/export/send.ts";
import { Tracer } from "../../app/export/tracing.ts";
import { Failure } from "../../app/failure.ts";
import type { Library } from "../../app/ingest/library.ts";
import { openKept } from "../../app/kept/kept-file.ts";
import { live } from "../../app/live/live.ts";
import { sinceOf } from "../../app/query/since.ts";
import type { Outbox } from "../../core/ports/outbox.ts";
import type { RedactionRules } from "../../core/redaction/redaction.ts";
import { plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { stopSignal, writeOutput } from "../output.ts";
import type { ExportOptions } from "./export.ts";

/** How long to wait for the service. Items that it has not confirmed by then stay in the outbox. */
const PATIENCE_MS = 30_000;

/** Sends one tree, or all threads of a backfill, and waits for the acknowledgement. */
export async function sendTree(
  context: Context,
  format: SentFormat,
  uri: string | undefined,
  options: ExportOptions,
  rules: RedactionRules,
): Promise<void> {
  const { env, terminal } = context;
  const kind = DESTINATIONS.find((one) => one.format === format) as Manifest;
  const isPreview = options.preview === true || options.out !== undefined;
  const destinations = await kind.open(env, rules, isPreview);
  const log = exportLog(env, options.debug === true);
  const { library, threads } = await selected(context, uri, options);
  const batch: Batch = { kind, destinations, library, threads, log, old: options.old ?? null };
  try {
    if (isPreview) return await preview(context, batch, options.out);
    const kept = await openKept(env);
    try {
      if (options.follow === true) return await follow(context, batch, kept.outbox);
      await send(context, batch, kept.outbox);
      if (options.debug === true) terminal.notify(`debug: ${exportLogPath(env)}`);
    } finally {
      kept.close();
    }
  } finally {
    library.close();
  }
}

/** What is sent, and where to. */
interface Batch {
  readonly kind: Manifest;
  readonly destinations: readonly Destination[];
  readonly library: Library;
  readonly threads: readonly ThreadToSend[];
  readonly log: Log;
  readonly old: OldTraces | null;
}

async function preview({ terminal, host }: Context, batch: Batch, out: string | undefined): Promise<void> {
  // All destinations of one format get the same content, so one preview is enough.
  const [first] = batch.destinations;
  const { text, tooOld } =
    first === undefined ? { text: "", tooOld: 0 } : await previewThreads(first, batch.threads, batch);
  if (tooOld > 0) terminal.notify(skippedText(tooOld, batch.kind.title));
  writeOutput(text, out, host);
}

async function send(context: Context, { kind, destinations, threads, ...batch }: Batch, outbox: Outbox): Promise<void> {
  const { progressOf } = context.terminal;
  const options = {
    ...batch,
    outbox,
    patienceMs: PATIENCE_MS,
    ...(progressOf === null ? {} : { onProgress: progressOf("sending", "threads") }),
  };
  const results: Exported[] = [];
  for (const destination of destinations) results.push(await exportThreads(destination, threads, options));
  report(context, kind, results);
}

/** One thread from its beginning, or all threads from now on. */
function followed([first]: readonly ThreadToSend[]) {
  if (first === undefined) return { since: Date.now() };
  return { thread: first.key, since: 0, ...(first.below === undefined ? {} : { below: first.below }) };
}

async function selected(
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
  // Oldest first.
  const rows = from === null ? [] : [...library.threadRows({ since: from })].reverse();
  return { library, threads: rows.map(({ place }) => ({ key: place.key })) };
}

/** Sends changes until the command is interrupted. */
async function follow(
  { terminal }: Context,
  { destinations, library, threads, log, old }: Batch,
  outbox: Outbox,
): Promise<void> {
  const { notify, colors } = terminal;
  const watched = { library, outbox, endings: new Endings(library), log, old, ...followed(threads) };
  const tracer = new Tracer(watched, destinations, notify);
  notify(colors.dim("Press Ctrl-C to stop."));
  try {
    for await (const { threads } of live(library, { signal: stopSignal(), notify })) tracer.changed(threads);
  } finally {
    await tracer.stop();
  }
}

const skippedText = (turns: number, service: string) =>
  `${plural(turns, "turn")} skipped: they began more than a day ago, and ${service}'s cloud refuses them. --old shift sends them with today's times and the original times as metadata; --old send sends them unchanged.`;

/** Prints what was delivered. Items that were not delivered are a failure, even though they will be sent again. */
function report({ terminal, json }: Context, { title }: Manifest, results: readonly Exported[]): void {
  if (json) terminal.out(printJson(results, 2));
  for (const { destination, threads, traces, items, put, tooOld, tooMany, open, turnedDown } of results) {
    if (!json)
      terminal.out(
        `${destination}: ${plural(items, "item")} of ${plural(traces, "turn")} in ${plural(threads, "thread")}, ${put} of them new`,
      );
    if (tooOld > 0) terminal.notify(skippedText(tooOld, title));
    if (tooMany > 0) terminal.notify(`${plural(tooMany, "item")} skipped: ${title} accepts at most 25,000 per turn`);
    if (open > 0)
      terminal.notify(`${plural(open, "thread")} still running: run the export again later, or use --follow`);
    for (const reason of turnedDown) terminal.notify(`rejected after delivery: ${reason}`);
  }
  const [stuck] = results.filter(({ waiting, refused }) => waiting > 0 || refused > 0);
  if (stuck !== undefined)
    throw new Failure(
      "failed",
      stuck.waiting > 0
        ? `${plural(stuck.waiting, "item")} not delivered: ${stuck.reason ?? "another process is sending them"}`
        : `${plural(stuck.refused, "item")} refused`,
      [stuck.waiting > 0 ? "they stay in the outbox and will be sent again: retinue outbox" : "next: retinue outbox"],
    );
}
