import { plural } from "../../core/tools/format.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import type { FileChange } from "../../core/views/file-change.ts";
import type { UsedFile } from "../../core/views/files.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "./printable.ts";
import { table } from "./table.ts";
import { labelOf } from "./tree.ts";

type Look = Pick<Terminal, "colors" | "width">;

export function renderFiles(
  files: readonly UsedFile[],
  records: ReadonlyMap<string, AgentRecord>,
  withDiff: boolean,
  look: Look,
): string {
  if (files.length === 0) return "no tool call names a file; files that shell commands use are not known";
  const nameOf = (uri: string) => {
    const record = records.get(uri);
    return record === undefined ? uri : labelOf(record, 30);
  };
  if (withDiff) return files.map((file) => renderDiffs(file, nameOf, look)).join("\n\n");
  const number = (n: number) => ({ text: n === 0 ? "" : String(n) });
  const rows = files.map(({ path, reads, writes, edits, agents, uses }) => [
    { text: path },
    number(reads),
    number(writes),
    number(edits),
    number(uses.filter(({ isError }) => isError).length),
    { text: `${agents.length > 1 ? `${agents.length}: ` : ""}${agents.map(nameOf).join(", ")}` },
  ]);
  const columns = [
    { title: "FILE" },
    { title: "READ", align: "right" as const },
    { title: "WRITTEN", align: "right" as const },
    { title: "EDITED", align: "right" as const },
    { title: "FAILED", align: "right" as const },
    { title: "AGENTS", flex: true as const },
  ];
  return [...table(columns, rows, look.width, look.colors.dim), plural(files.length, "file")].join("\n");
}

function renderDiffs({ path, uses }: UsedFile, nameOf: (uri: string) => string, { colors }: Look): string {
  return [
    colors.bold(oneLine(path)),
    ...uses.flatMap(({ kind, uri, at, isError, change }) => [
      colors.dim(`${kind}${isError ? " (failed)" : ""} · ${nameOf(uri)} · ${at ?? "no time"}`),
      ...(change === null ? [] : linesOf(change, colors)),
    ]),
  ].join("\n");
}

function linesOf(change: FileChange, { red, green }: Look["colors"]): string[] {
  const lines = (text: string) => (text === "" ? [] : text.split("\n"));
  if (change.is === "patch")
    return lines(change.patch).map((line) =>
      line.startsWith("-") ? red(line) : line.startsWith("+") ? green(line) : line,
    );
  return change.edits.flatMap(({ before, after }) => [
    ...lines(before).map((line) => red(`-${line}`)),
    ...lines(after).map((line) => green(`+${line}`)),
  ]);
}
