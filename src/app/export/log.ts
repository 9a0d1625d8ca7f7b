import { renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { everyone, type Story } from "../../core/story.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { type Env, retinueHome } from "../home.ts";
import type { Library } from "../library.ts";
import { troubledFiles } from "../trouble.ts";

/** Takes down a line; holds ids, paths and counts, and never what anybody said. */
export type Log = (line: string) => void;

/** Longer ones make room, keeping one older. */
const MAX_BYTES = 8 << 20;

export const exportLogPath = (env: Env) => join(retinueHome(env), "logs", "export.log");

/** Writes to a file if the user wants to see what is going on, and nowhere otherwise. */
export function exportLog(env: Env, isWanted: boolean): Log {
  if (!isWanted && env.CC_LANGSMITH_DEBUG?.toLowerCase() !== "true") return () => {};
  const path = exportLogPath(env);
  privateFolder(dirname(path));
  return (line) => {
    try {
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES) renameSync(path, `${path}.1`);
      writePrivate(path, `${new Date().toISOString()} ${process.pid} ${line.replace(/\s*\n\s*/g, " ")}\n`, "a");
    } catch {
      // A full disk must not stop what the log only tells about.
    }
  };
}

/** Which calls spawned whom, and whose records are missing or empty. */
export function logStory(story: Story, log: Log, library: Library): void {
  const files = troubledFiles(
    library,
    story.record.records.map(({ path }) => path),
  );
  for (const { path, says } of files) log(`${story.record.uri}: file ${path} ${says}`);
  for (const one of everyone(story)) {
    const { record, steps } = one;
    for (const child of one.children)
      log(
        `${record.uri}: call ${child.record.link?.toolCallId ?? "unknown"} spawned agent ${child.record.agentId ?? child.record.uri}, by ${child.record.link?.rule}`,
      );
    const answered = new Set(one.children.map((child) => child.record.link?.toolCallId));
    for (const { event } of steps)
      if (event.kind === "toolCall" && event.tool !== null && !answered.has(event.tool.callId))
        log(`${record.uri}: call ${event.tool.callId} of ${event.tool.name} spawned nobody`);
    const troubled = files.find(({ path }) => record.agentId !== null && basename(path).includes(record.agentId));
    const without = troubled === undefined ? "no file of its own was found" : `its file ${troubled.path} ${troubled.says}`;
    if (record.records.length === 0) log(`${record.uri}: ${without} (${record.status}: ${record.statusReason})`);
    for (const { path, bytes } of record.records) log(`${record.uri}: read ${path}, ${bytes === 0 ? "which is empty" : `${bytes} bytes`}`);
    for (const warning of record.warnings) log(`${record.uri}: ${warning}`);
  }
}
