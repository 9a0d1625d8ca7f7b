import { literal, type SimpleCommand, type Word } from "./simple-command.ts";

/** The values of a script's variables and the files that it writes, as far as they are known: prompts come from them. */
export class KnownText {
  readonly #script: string;
  readonly #variables = new Map<string, Word>();
  readonly files = new WrittenFiles();

  constructor(script: string) {
    this.#script = script;
  }

  /** Adds the variables that a command assigns, and the file that it writes. */
  add(command: SimpleCommand): void {
    const values = command.words.slice(DECLARES.has(literal(command.words[0]) ?? "") ? 1 : 0);
    const assigned = values.map(assignmentIn);
    if (!assigned.includes(null)) for (const [name, value] of assigned.filter(isKnown)) this.#assign(name, value);
    this.files.add(command);
  }

  variable(name: string): Word | undefined {
    return this.#variables.get(name);
  }

  /** The text that a command substitution is replaced by; null if it is not known. */
  substituted(commands: readonly SimpleCommand[]): Word | null {
    const [only, ...more] = commands;
    if (only === undefined || more.length > 0) return null;
    const [program, path, ...rest] = only.words;
    const isRead = literal(program) === "cat" && path !== undefined && rest.length === 0;
    const text = isRead ? this.files.get(literal(path)) : printedBy(only);
    return text == null ? null : [...text.slice(0, -1), (text.at(-1) ?? "").replace(/\n+$/, "")];
  }

  /** A variable that the script sets more than once has no known value. */
  #assign(name: string, value: Word) {
    const sets = new RegExp(`(?<![\\w$])${name}\\+?=|\\b(?:for|read|getopts|mapfile)\\b[^;\\n]*\\b${name}\\b`, "g");
    if ((this.#script.match(sets)?.length ?? 0) === 1) this.#variables.set(name, value);
  }
}

const DECLARES = new Set(["export", "local", "readonly", "declare", "typeset"]);
const isKnown = <T>(one: T | null): one is T => one !== null;

function assignmentIn([first = "", ...rest]: Word): readonly [string, Word] | null {
  const name = /^([A-Za-z_]\w*)=/.exec(first)?.[1];
  return name === undefined ? null : [name, [first.slice(name.length + 1), ...rest]];
}

/** The output of `echo`, `printf`, and `cat` with a known input; null for other commands. */
export function printedBy({ words: [program, ...args], input }: SimpleCommand): Word | null {
  switch (literal(program)) {
    case "cat":
      return args.every((word) => literal(word) === "-") ? (input ?? null) : null;
    case "echo":
      return joined(args.slice(args.findLastIndex((word) => /^-[neE]+$/.test(literal(word) ?? "")) + 1));
    case "printf": {
      const [format = [""], ...values] = args.map((word) => word.map((piece) => piece.replaceAll("\\n", "\n")));
      const isPlain = format.every((piece) => piece.replaceAll("%s", "").trim() === "");
      return isPlain && values.length > 0 ? joined(values) : format.flatMap((piece) => piece.split(/%[-\d.]*[a-z]/));
    }
    default:
      return null;
  }
}

const joined = (words: readonly Word[], by = " "): Word =>
  words.reduce<Word>(
    (text, [first = "", ...more], i) => [...text.slice(0, -1), `${text.at(-1)}${i > 0 ? by : ""}${first}`, ...more],
    [""],
  );

/** The files that commands write, as far as their text is known. */
export class WrittenFiles {
  readonly #texts = new Map<string, Word | null>();

  add(command: SimpleCommand): void {
    const { writes } = command;
    if (writes === null) return;
    const text = printedBy(command);
    const before = writes.isAppended ? this.#texts.get(writes.path) : undefined;
    const isKnown = text !== null && before !== null && (before !== undefined || !writes.isAppended);
    this.#texts.set(writes.path, isKnown ? joined([...(before === undefined ? [] : [before]), text], "\n") : null);
  }

  /** Null if the text is not known, undefined if no command writes the file. */
  get(path: string | null): Word | null | undefined {
    return path === null ? undefined : this.#texts.get(path);
  }
}
