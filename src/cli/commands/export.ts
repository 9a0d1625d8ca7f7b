import { DESTINATIONS, SENT_FORMATS, type SentFormat } from "../../app/export/destinations/index.ts";
import { renderFile } from "../../app/export/file.ts";
import type { FileFormat, OldTraces } from "../../app/export/formats.ts";
import { Failure } from "../../app/failure.ts";
import { live } from "../../app/live/live.ts";
import { redactionOf } from "../../app/settings/settings.ts";
import type { RedactionLevel, RedactionRules } from "../../core/redaction/redaction.ts";
import type { Context } from "../context.ts";
import { stopSignal, writeOutput } from "../output.ts";
import { sendTree } from "./export-send.ts";

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

export async function exportTree(
  context: Context,
  format: SentFormat | FileFormat,
  uri: string | undefined,
  options: ExportOptions,
): Promise<void> {
  check(format, uri, options);
  const settings = await context.settings();
  const rules = { ...redactionOf(settings), ...(options.level === undefined ? {} : { level: options.level }) };
  if (isSent(format)) return sendTree(context, format, uri, options, rules);
  await writeTree(context, format, uri as string, options, rules);
}

const isSent = (format: string): format is SentFormat => SENT_FORMATS.some((sent) => sent === format);

function check(format: string, uri: string | undefined, { backfill, since, follow, preview, out, old }: ExportOptions) {
  const wrong = (problem: string, hint: string) => {
    throw new Failure("usage", problem, [hint]);
  };
  if (backfill === true && !isSent(format))
    wrong(`--backfill cannot be used with ${format}`, `only ${SENT_FORMATS.join(" and ")} support it`);
  if (backfill === true && uri !== undefined) wrong("--backfill exports all threads", "omit the URI or --backfill");
  if (backfill === true && since === undefined) wrong("--backfill needs --since", "write --since 7d, or a date");
  if (backfill !== true && since !== undefined)
    wrong("--since needs --backfill", "write retinue export <format> --backfill --since 7d");
  if (backfill === true && follow === true) wrong("--backfill cannot be used with --follow", "run one after the other");
  if (preview === true && follow === true) wrong("--preview cannot be used with --follow", "omit one of them");
  const refusing = DESTINATIONS.filter(({ refusesOld }) => refusesOld);
  if (old !== undefined && !refusing.some((kind) => kind.format === format))
    wrong(
      `--old cannot be used with ${format}`,
      `only ${refusing.map(({ title }) => title).join(" and ")} refuses old traces`,
    );
  if (uri === undefined && backfill !== true && !(follow === true && isSent(format)))
    wrong("no URI", `write retinue export ${format} <uri>, or latest`);
  if (follow === true && !isSent(format) && out === undefined)
    wrong("--follow needs a file to rewrite", "write --out <file>");
}

async function writeTree(
  context: Context,
  format: FileFormat,
  uri: string,
  options: ExportOptions,
  rules: RedactionRules,
): Promise<void> {
  const { library, agents } = await context.find(uri);
  const [{ key }] = agents;
  const write = async () => {
    writeOutput(await renderFile(format, library, key, rules), options.out, context.host);
  };
  await write();
  if (options.follow !== true) return library.close();
  const stop = stopSignal();
  for await (const _ of live(library, { signal: stop })) await write();
  library.close();
}
