import { Failure } from "../../app/failure.ts";
import { listPrice } from "../../app/query/prices.ts";
import { count, exact, plural, UNKNOWN } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import {
  type Difference,
  KIND_WORDS,
  type Sum,
  type Verification,
  verifyAll,
  verifyThreadOf,
} from "../../core/views/verify.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { type Column, table } from "../render/table.ts";
import type { Terminal } from "../terminal.ts";
import { nothingFound } from "./ls.ts";

/** `retinue verify [uri]`: one thread, or every thread on the machine. */
export async function verify(context: Context, uri: string | undefined): Promise<void> {
  const found = uri === undefined ? await everyThread(context) : await oneThread(context, uri);
  const wrong = found.filter((v) => v.verdict === "differs");
  if (wrong.length > 0)
    throw new Failure(
      "failed",
      `${wrong.length} of ${plural(found.length, "thread")} ${wrong.length === 1 ? "differs" : "differ"} from what the product itself reports`,
      wrong.length === found.length && found.length === 1
        ? ["next: retinue doctor"]
        : wrong.slice(0, SHOWN).map((v) => `next: retinue verify ${v.uri}`),
    );
}

const SHOWN = 5;

async function everyThread(context: Context): Promise<readonly Verification[]> {
  const library = await context.library();
  const found = [...library.forests()].flatMap((forest) => verifyAll(forest, listPrice));
  const { terminal } = context;
  if (context.json) terminal.out(printJson(found, 2));
  if (found.length === 0) throw nothingFound(library);
  if (context.json) return found;
  terminal.out(render(found, terminal));
  const number = (verdict: Verification["verdict"], one: string, many: string) => {
    const n = found.filter((v) => v.verdict === verdict).length;
    return `${n} ${n === 1 ? one : many}`;
  };
  const sum = [
    number("agrees", "agrees", "agree"),
    number("explained", "differs for known reasons", "differ for known reasons"),
    number("differs", "differs", "differ"),
    number("nothing", "has nothing to compare with", "have nothing to compare with"),
  ];
  terminal.notify(terminal.colors.dim(`\n${plural(found.length, "thread")}: ${sum.join(", ")}`));
  return found;
}

async function oneThread(context: Context, uri: string): Promise<readonly Verification[]> {
  const { forest, agents } = await context.find(uri);
  const found = verifyThreadOf(forest, agents[0].key, listPrice);
  context.terminal.out(context.json ? printJson(found, 2) : render([found], context.terminal));
  return [found];
}

const COLUMNS: readonly Column[] = [
  { title: "" },
  { title: "THREAD" },
  { title: "STATED", align: "right" },
  { title: "COUNTED", align: "right" },
];
const VERDICT_WORDS = { agrees: "ok", explained: "ok", differs: "differs", nothing: UNKNOWN } as const;

/** One line per thread, followed by its differences. */
function render(found: readonly Verification[], { width, colors }: Pick<Terminal, "width" | "colors">): string {
  const paint = { agrees: colors.green, explained: colors.green, differs: colors.red, nothing: colors.dim };
  const [head = "", ...lines] = table(
    COLUMNS,
    found.map((v) => [
      { text: VERDICT_WORDS[v.verdict], paint: paint[v.verdict] },
      { text: v.uri },
      { text: v.stated === null ? "" : count(tokensIn(v.stated)) },
      { text: count(tokensIn(v.counted)) },
    ]),
    width,
    colors.dim,
  );
  const below = (v: Verification) => [
    ...v.differences.map((d) => colors.red(`differs by ${oneLine(differenceText(d))}`)),
    ...v.reasons.map((r) => colors.dim(oneLine(r.says))),
    ...v.hints.map((hint) => colors.dim(hint)),
  ];
  return [
    head,
    ...lines.flatMap((line, i) => [line, ...below(found[i] as Verification).map((text) => `    ${text}`)]),
  ].join("\n");
}

function differenceText({ model, kind, stated, counted }: Difference): string {
  const by = stated - counted;
  return `${by > 0 ? "+" : ""}${exact(by)} ${KIND_WORDS[kind]} on ${model}: the product states ${exact(stated)}, retinue counted ${exact(counted)}`;
}

const tokensIn = (sum: Sum) =>
  (sum.inputTokens ?? 0) + (sum.outputTokens ?? 0) + (sum.cacheReadTokens ?? 0) + (sum.cacheWriteTokens ?? 0);
