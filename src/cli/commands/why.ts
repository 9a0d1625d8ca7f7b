import { explain } from "../../app/query/why.ts";
import { percent, plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";

export async function why(context: Context, uri: string): Promise<void> {
  const { forest, agents } = await context.find(uri);
  const found = explain(forest, agents[0]);
  context.terminal.out(context.json ? printJson(found, 2) : render(found, context.terminal.colors));
}

function render(found: ReturnType<typeof explain>, colors: Context["terminal"]["colors"]): string {
  const { status } = found;
  const lines = [colors.bold(found.uri), ""];
  if (found.parent === null) {
    lines.push("parent: none; this is a top-level thread");
    if (found.forkedFrom !== null) lines.push(`it began as a copy of ${found.forkedFrom}`);
    if (found.undecided.length > 0) lines.push(colors.yellow("undecided: an agent may have started it"));
    for (const text of found.undecided) lines.push(`  open     ${oneLine(text)}`);
  } else {
    lines.push(`parent: ${found.parent}`);
    for (const e of found.parentEvidence) {
      const mark = e.decided ? colors.green("→ decided  ") : colors.dim("  also     ");
      const other = e.parent === found.parent ? "" : `  (names ${e.parent})`;
      lines.push(
        `${mark}${e.rule} · ${e.source} · confidence ${percent(e.confidence)}${other}`,
        `             ${oneLine(e.says)}`,
      );
      if (e.from !== null) lines.push(colors.dim(`             ${oneLine(e.from)}`));
    }
  }
  for (const uri of found.continuedIn) lines.push(`continued in ${uri}, which began as a copy of it`);
  lines.push(
    "",
    `status: ${status.status} · ${status.statusSource}${status.activity === null ? "" : ` · ${oneLine(status.activity)}`}`,
    `${colors.green("→ decided  ")}${oneLine(status.statusReason)}`,
  );
  for (const s of found.statusEvidence) {
    lines.push(`${colors.dim("  known    ")}${s.at ?? "no time"} · ${s.source} · ${oneLine(s.says)}`);
    if (s.from !== null) lines.push(colors.dim(`             ${oneLine(s.from)}`));
  }
  if (found.refused.length > 0)
    lines.push("", `refused: ${plural(found.refused.length, "spawn call")}; no agent exists for them`);
  for (const { at, toolCallId, type, description, reason } of found.refused)
    lines.push(
      `${colors.red("⊘ ")}${oneLine([description, type].filter((word) => word !== null).join(" · ") || toolCallId)}  ${colors.dim(`${at ?? "no time"} · ${toolCallId}`)}`,
      `             ${oneLine(reason ?? "no reason is recorded")}`,
    );
  return lines.join("\n");
}
