/** A command line, parsed without knowledge of the program: its name and options. */
export interface Command {
  /** The program without folder and extension; for `npx` and the like, the package. */
  readonly name: string;
  readonly args: readonly string[];
}

const RUNNERS = new Set(["npx", "bunx", "pnpx", "node", "bun"]);

export function commandOf(argv: readonly string[]): Command | null {
  let rest = argv;
  if (baseName(rest[0]) === "env") rest = rest.slice(1);
  while (/^[A-Za-z_]\w*=/.test(rest[0] ?? "")) rest = rest.slice(1);
  const runner = baseName(rest[0]);
  if (RUNNERS.has(runner)) {
    const program = rest.findIndex((word, i) => i > 0 && !word.startsWith("-"));
    if (program > 0) rest = rest.slice(program);
  }
  const [first, ...args] = rest;
  if (first === undefined) return null;
  // A scoped package includes its scope, and any package may include a version.
  const isPackage = RUNNERS.has(runner) && (first.startsWith("@") || !/[\\/]/.test(first));
  return { name: isPackage ? first.replace(/(?<=.)@.*$/, "") : baseName(first), args };
}

const baseName = (path: string | undefined) =>
  (path?.split(/[\\/]/).at(-1) ?? "").replace(/\.(exe|cmd|c?js|mjs)$/i, "");

/** The value of an option: `--name value` or `--name=value`. Null if it is missing or has no value. */
export function optionIn(args: readonly string[], ...names: readonly string[]): string | null {
  for (const [i, word] of args.entries()) {
    if (word === "--") return null;
    const equals = word.indexOf("=");
    if (equals > 0 && names.includes(word.slice(0, equals))) return word.slice(equals + 1);
    if (names.includes(word)) return args[i + 1] ?? null;
  }
  return null;
}

export function hasFlag(args: readonly string[], ...names: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).some((word) => names.includes(word.split("=", 1)[0] ?? ""));
}
