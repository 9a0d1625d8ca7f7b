import { hookProblems } from "../../app/guard/examine.ts";
import { pollingNow } from "../../app/live/live.ts";
import { examine } from "../../app/query/examine.ts";
import { bytes, plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import { type Examination, isListed } from "../../core/views/examination.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";

export async function doctor(context: Context): Promise<void> {
  const library = await context.library();
  const { env } = context;
  const hooks = await hookProblems(env);
  const found = examine(library, await context.settings(), env, await pollingNow(library), hooks);
  context.terminal.out(context.json ? printJson(found, 2) : render(found, context.terminal.colors));
}

function render(found: Examination, colors: Context["terminal"]["colors"]): string {
  const paint = { error: colors.red, "data-loss": colors.yellow, info: colors.dim };
  const roots = found.roots
    .filter(isListed)
    .map(
      (r) =>
        `  ${r.product}: ${r.path}  ${r.exists ? `${plural(r.files, "file")}, ${bytes(r.bytes)}` : colors.dim("not found")}`,
    );
  const products = new Map(found.roots.map(({ provider, product }) => [provider, product]));
  const versions = [...Map.groupBy(found.versions, ({ provider }) => provider)].map(
    ([provider, ofProduct]) =>
      `  ${products.get(provider) ?? provider}: ${oneLine(ofProduct.map((v) => `${v.version ?? "unknown version"} (${v.threads})`).join(", "))}`,
  );
  const problems = found.problems.flatMap((p) => [
    `  ${paint[p.severity](p.severity.padEnd(9))} ${p.code} ×${p.count}: ${p.sentence}`,
    ...p.examples.map((e) => colors.dim(`              ${oneLine(e.where)}: ${oneLine(e.detail)}`)),
    ...(p.count > p.examples.length ? [colors.dim(`              … and ${p.count - p.examples.length} more`)] : []),
  ]);
  return [
    colors.bold("Root folders searched"),
    ...roots,
    "",
    colors.bold("Found"),
    `  ${plural(found.threads, "thread")} with ${plural(found.agents, "agent")} below them; ${plural(found.internal, "internal transcript")}`,
    ...(versions.length === 0 ? [] : ["", colors.bold("Threads by version"), ...versions]),
    "",
    colors.bold("Settings"),
    ...settingsLines(found.settings, colors),
    "",
    colors.bold("Data of retinue"),
    `  ${found.index.path}  ${plural(found.index.files, "file")} indexed, ${bytes(found.index.bytes)}`,
    `  ${found.kept.path}  ${found.kept.exists ? plural(found.kept.links, "manual link") : colors.dim("not found; no manual links")}`,
    "",
    colors.bold(`How running agents are detected on ${found.system.platform}`),
    `  processes    ${found.system.processes}`,
    `  databases    ${found.system.writers}`,
    `  locks        ${found.system.locks}`,
    "",
    colors.bold("Problems"),
    ...(problems.length === 0 ? ["  none"] : problems),
  ].join("\n");
}

function settingsLines(
  { path, exists, set }: Examination["settings"],
  colors: Context["terminal"]["colors"],
): string[] {
  return [`  ${path}  ${exists ? set.join(", ") || "no keys set" : colors.dim("not found; using defaults")}`];
}
