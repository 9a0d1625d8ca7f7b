import { renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { everyone, type Story } from "../../core/views/story.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { type Env, retinueHome } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { troubledFiles } from "../query/trouble.ts";

/** Writes one line. Lines contain ids, paths and counts, never transcript text. */
export type Log = (line: string) => void;

/** Size at which the log is rotated; one older file is kept. */
const MAX_BYTES = 8 << 20;

export const exportLogPath = (env: Env) => join(retinueHome(env), "logs", "export.log");

/** Writes to the log file if enabled. */
export function exportLog(env: Env, isWanted: boolean): Log {
  if (!isWanted && env.CC_LANGSMITH_DEBUG?.toLowerCase() !== "true") return () => {};
  const path = exportLogPath(env);
  privateFolder(dirname(path));
  return (line) => {
    try {
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES) renameSync(path, `${path}.1`);
      writePrivate(path, `${new Date().toISOString()} ${process.pid} ${line.replace(/\s*\n\s*/g, " ")}\n`, "a");
    } catch {
      // A full disk must not stop the export.
    }
  };
}

/** Logs which calls spawned which agents, and whose records are missing or empty. */
export function logStory(story: Story, log: Log, library: Library): void {
  const files = troubledFiles(
    library,
    story.record.records.map(({ path }) => path),
  );
  for (const { path, text } of files) log(`${story.record.uri}: file ${path} ${text}`);
  for (const one of everyone(story)) {
    const { record, steps } = one;
    for (const child of one.children)
      log(
        `${record.uri}: call ${child.record.link?.toolCallId ?? "unknown"} spawned agent ${child.record.agentId ?? child.record.uri}, by ${child.record.link?.rule}`,
      );
    const spawning = new Set(one.children.map((child) => child.record.link?.toolCallId));
    for (const { event } of steps)
      if (event.kind === "toolCall" && event.tool !== null && !spawning.has(event.tool.callId))
        log(`${record.uri}: call ${event.tool.callId} of ${event.tool.name} spawned no agent`);
    const troubled = files.find(({ path }) => record.agentId !== null && basename(path).includes(record.agentId));
    const without = troubled === undefined ? "no transcript found" : `its file ${troubled.path} ${troubled.text}`;
    if (record.records.length === 0) log(`${record.uri}: ${without} (${record.status}: ${record.statusReason})`);
    for (const { path, bytes } of record.records)
      log(`${record.uri}: read ${path}, ${bytes === 0 ? "empty" : `${bytes} bytes`}`);
    for (const warning of record.warnings) log(`${record.uri}: ${warning}`);
  }
}
