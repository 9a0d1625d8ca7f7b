import type { CommandLine } from "../../../core/ports/command-line.ts";
import type { Manifest } from "../../../core/ports/manifest.ts";
import * as products from "../../index.ts";
import { literal, type Word } from "./simple-command.ts";

/** How shell commands start a product (`core/ports/command-line.ts`), as sets of words. */
export interface ProductCommand {
  readonly provider: string;
  readonly names: ReadonlySet<string>;
  /** Null if a flag or nothing makes it run without a terminal. */
  readonly runs: ReadonlySet<string> | null;
  readonly prints: ReadonlySet<string>;
  readonly others: ReadonlySet<string>;
  readonly continues: ReadonlySet<string>;
  readonly forks: ReadonlySet<string>;
  readonly folder: ReadonlySet<string>;
  readonly id: string | undefined;
}

const MANIFESTS: readonly Manifest[] = Object.values(products);

const wordsIn = (text: string | undefined): ReadonlySet<string> => new Set(text?.split(" "));

function commandOf({ name, commandLine, forkOf }: Manifest): ProductCommand | null {
  if (commandLine === undefined) return null;
  const original = MANIFESTS.find((one) => one.name === forkOf)?.commandLine;
  const { names, runs, prints, others, continues, forks, folder, id }: CommandLine = { ...original, ...commandLine };
  return {
    provider: name,
    names: wordsIn(names),
    runs: runs === undefined ? null : wordsIn(runs),
    prints: wordsIn(prints),
    others: wordsIn(others),
    continues: wordsIn(continues),
    forks: wordsIn(forks),
    folder: wordsIn(folder),
    id,
  };
}

const BY_NAME = new Map(
  MANIFESTS.flatMap((manifest) => commandOf(manifest) ?? []).flatMap((product) =>
    [...product.names].map((name) => [name, product] as const),
  ),
);

export const productOf = (name: string): ProductCommand | undefined => BY_NAME.get(name);

/** Matches a text that contains the name of a product; tested before the text is parsed. */
export const NAMES_PRODUCT = new RegExp(
  `(?<![\\w-])(?:${[...BY_NAME.keys()].map((name) => name.replaceAll("/", "\\/")).join("|")})(?![\\w-])`,
);

/** Flags that print information instead of starting a thread. */
const INFO_FLAGS = new Set(["-h", "--help", "-v", "-V", "--version"]);

/** A start of a product that creates a thread; null if the arguments create none. */
export function startIn(product: ProductCommand, args: readonly Word[]): { readonly id: string | null } | null {
  const texts = args.flatMap((word) => flagsIn(product, literal(word)));
  if (texts.some((text) => text !== null && INFO_FLAGS.has(text))) return null;
  const given = new Set(texts.flatMap((text) => text?.split("=", 1)[0] ?? []));
  const command = texts.find((text) => text !== null && !text.startsWith("-")) ?? null;
  // Without a terminal the first word is a prompt, or an option's value.
  if (command !== null && product.others.has(command) && !isHeadless(product, args)) return null;
  for (const word of given) if (word.startsWith("-") && product.others.has(word)) return null;
  const isContinued = [...product.continues].some((word) =>
    // A sub-command counts only in its place: the same word may be in a prompt.
    word.startsWith("-") ? given.has(word) : isSubCommand(word, texts, product),
  );
  if (isContinued && ![...product.forks].some((word) => given.has(word))) return null;
  const at = product.id === undefined ? -1 : texts.indexOf(product.id);
  return { id: at < 0 ? null : (texts[at + 1] ?? null) };
}

/** Whether the product runs without a terminal. */
export function isHeadless({ runs, prints, continues }: ProductCommand, args: readonly Word[]): boolean {
  const texts = args.flatMap((word) => flagsIn({ prints, continues }, literal(word)));
  return texts.some((text) => text !== null && (runs?.has(text) === true || prints.has(text.split("=", 1)[0] ?? "")));
}

/** Two flags in one word, such as `-pc` for `-p -c`. */
function flagsIn(
  { prints, continues }: Pick<ProductCommand, "prints" | "continues">,
  text: string | null,
): readonly (string | null)[] {
  if (text === null || !/^-[A-Za-z]{2}$/.test(text)) return [text];
  const flags = [...text.slice(1)].map((letter) => `-${letter}`);
  return flags.every((flag) => prints.has(flag) || continues.has(flag)) ? flags : [text];
}

/** `codex resume` and `codex exec resume`. */
function isSubCommand(word: string, texts: readonly (string | null)[], product: ProductCommand): boolean {
  const plain = texts.filter((text) => text === null || !text.startsWith("-"));
  const [first, second] = plain;
  return first === word || (first != null && product.runs?.has(first) === true && second === word);
}
