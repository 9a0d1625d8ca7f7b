import { WrittenFiles } from "./known-text.ts";
import { isHeadless, NAMES_PRODUCT, type ProductCommand, productOf, startIn } from "./products.ts";
import { simpleCommands } from "./shell-script.ts";
import { literal, type SimpleCommand, type Word } from "./simple-command.ts";

/** A start of a product in a shell command. */
export interface LaunchedProduct {
  readonly provider: string;
  /** The words that may be the prompt. */
  readonly prompts: readonly Word[];
  /** The prompt may be a text that the command does not contain. */
  readonly open: boolean;
  /** The id of the new thread, if the command names it. */
  readonly id: string | null;
  /** How often the product is started; null if unknown. */
  readonly times: number | null;
  /** The command returns before the product ends. */
  readonly background: boolean;
  /** The product runs without a terminal. */
  readonly headless: boolean;
}

/** The products that a shell command may start. */
export interface Launches {
  readonly launches: readonly LaunchedProduct[];
  /** The folders in which it may have started them, absolute; null if unknown. */
  readonly folders: readonly string[] | null;
  /** The command runs a script or a task whose content is unknown, and which may start agents. */
  readonly wraps: boolean;
  /** A part of the command runs in the background. */
  readonly background: boolean;
  /** The command may start products long after it returned. */
  readonly delayed: boolean;
}

const NONE: Launches = { launches: [], folders: [], wraps: false, background: false, delayed: false };

/** Programs that run scripts or tasks from files, and paths of programs. */
const WRAPPER =
  /(?:\.{0,2}\/|~\/|(?:ba|z|da)?sh\s|source\s|make\b|just\b|task\b|rake\b|npm\s|npx\s|pnpm\s|yarn\s|bunx?\s|tmux\s|screen\s|python[\d.]*\s|node\s|deno\s|ruby\s|perl\s|uv\s)/
    .source;
/** Such a program where a command may begin, and anywhere. */
const BEGINS_WITH_WRAPPER = new RegExp(`(?:^|[\\n;&|(){}!\`"'])[\\s\\\\]*${WRAPPER}`);
const CONTAINS_WRAPPER = new RegExp(`(?:^|[\\s;&|("'])${WRAPPER}`);

/** The products that a command starts when it is run in the folder `cwd`. */
export function launchesIn(command: string, cwd: string | null): Launches {
  if (!NAMES_PRODUCT.test(command) && !mayWrap(command)) return NONE;
  const found = new LaunchFinder(cwd);
  for (const simple of simpleCommands(command)) found.add(simple, false, 0);
  return found;
}

/** Programs that run the command in their arguments, with the number of arguments before it, apart from options. */
const PREFIXES = new Map<string, number>(
  Object.entries({
    builtin: 0,
    caffeinate: 0,
    chronic: 0,
    command: 0,
    coproc: 0,
    env: 0,
    exec: 0,
    ionice: 0,
    nice: 0,
    nohup: 0,
    setsid: 0,
    "dbus-run-session": 0,
    stdbuf: 0,
    strace: 0,
    "systemd-run": 0,
    time: 0,
    unbuffer: 0,
    "xvfb-run": 0,
    flock: 1,
    timeout: 1,
    gtimeout: 1,
  }),
);
/** What precedes the program of a command: a keyword, one of these programs, an assignment, or a redirection. */
const BEGINS_LATER = new RegExp(
  [
    `(?:^|[\\s;&|(\`"'/])(?:if|then|else|elif|do|while|until|xargs|parallel|${[...PREFIXES.keys()].join("|")})[\\s"']`,
    /(?:^|[\s;&|(`"'])[A-Za-z_]\w*\+?=/.source,
    /(?:^|[\n;&|(){}`"'])[ \t]*\d?[<>]/.source,
  ].join("|"),
);

/** Whether a command may run a script or a task. Parsing takes much longer, and most commands run none. */
const mayWrap = (command: string) =>
  BEGINS_WITH_WRAPPER.test(command) || (CONTAINS_WRAPPER.test(command) && BEGINS_LATER.test(command));

/** Options of these programs that take a value. */
const PREFIX_VALUES = new Set(["-n", "-s", "-k", "-u", "-o", "-S", "-C", "-w", "--signal", "--kill-after", "-E"]);
const DETACHES = new Set(["coproc", "setsid", "systemd-run"]);
/** `script` runs its command in a terminal of its own. */
const SHELLS = new Set(["bash", "sh", "zsh", "dash", "ksh", "fish", "script"]);
const PACKAGE_RUNNERS = new Set(["npx", "bunx", "pnpx"]);
const PACKAGE_MANAGERS = new Map<string, ReadonlySet<string>>([
  ["npm", new Set(["exec", "x"])],
  ["pnpm", new Set(["dlx", "exec"])],
  ["yarn", new Set(["dlx", "exec"])],
  ["bun", new Set(["x"])],
]);
const TERMINALS = new Set(["tmux", "screen", "zellij"]);
const INTERPRETERS = /^(?:node|deno|bun|tsx|ruby|perl|python[\d.]*)$/;
const TASKS = new Set(["make", "gmake", "just", "task", "rake", "npm", "pnpm", "yarn", "bun", "uv", "source", "."]);
/** Programs of the system, such as `/bin/cat`, are not scripts. */
const SYSTEM_PROGRAM = /^(?:\/usr)?\/s?bin\//;
/** How the code of an interpreter runs other programs. */
const RUNS_OTHERS = /subprocess|child_process|\b(?:popen|spawn|exec|system|fork|pty|Command)\w*\s*\(|`|%x/i;
/** Programs that run commands as another user or on another machine: agents there are not children of this agent. */
const ELSEWHERE = new Set(["ssh", "mosh", "docker", "podman", "kubectl", "sudo", "su", "doas", "chroot", "lxc"]);
const MAX_LAUNCHES = 16;
const MAX_FOLDERS = 4;

class LaunchFinder implements Launches {
  readonly launches: LaunchedProduct[] = [];
  #folders: string[] | null;
  readonly #files = new WrittenFiles();
  wraps = false;
  background = false;
  delayed = false;

  constructor(cwd: string | null) {
    this.#folders = cwd === null ? null : [cwd];
  }

  get folders(): readonly string[] | null {
    return this.#folders;
  }

  add(simple: SimpleCommand, detached: boolean, depth: number): void {
    const { words, isDetached, times } = withoutPrefixes(simple.words);
    const background = simple.background || isDetached || detached;
    this.background ||= background;
    const [first, ...args] = words;
    this.#files.add(simple);
    const program = programIn(first);
    if (program === null || ELSEWHERE.has(baseName(program))) return;
    const name = baseName(program);
    // `xargs` and `parallel` add words to the command, as often as they have some.
    const command = { ...simple, background, ...(times === undefined ? {} : { times, input: null }) };
    const split = commandAfter(name, args);
    const script = this.#files.get(program);
    const [product, rest] = productIn(name, args);
    if (name === "cd" || name === "pushd") this.#enter(args[0]);
    else if (SHELLS.has(name) || name === "eval") this.#shell(command, name, args, depth);
    else if (TERMINALS.has(name)) this.#terminal(args, depth);
    else if (product !== undefined) this.#launch(product, rest, command);
    else if (split >= 0) this.add({ ...command, words: args.slice(split) }, background, depth);
    else if (script != null) this.#inner(asScript(script), background, depth);
    else if (INTERPRETERS.test(name)) this.wraps ||= mayRunOthers(args, command.input);
    else if (TASKS.has(name) || (program.includes("/") && !SYSTEM_PROGRAM.test(program))) this.wraps = true;
    if (name === "sleep" || name === "at") this.delayed = true;
  }

  #launch(product: ProductCommand, args: readonly Word[], { input, background, times }: SimpleCommand) {
    const start = startIn(product, args);
    if (start === null || this.launches.length >= MAX_LAUNCHES) return;
    const plain = args.filter((word) => literal(word)?.startsWith("-") !== true);
    const folder = folderOption(product, args);
    if (folder !== undefined) this.#enter(folder);
    this.launches.push({
      provider: product.provider,
      prompts: [...plain, ...joined(plain), ...(input == null ? [] : [input])],
      // Standard input without a known text, or a word that may be anything.
      open:
        (times === null || !hasPrompt(product, args)) &&
        (input === null ||
          plain.some(isOpen) ||
          (input === undefined && plain.length <= (product.runs === null ? 0 : 1))),
      id: start.id,
      times,
      background,
      headless: isHeadless(product, args),
    });
  }

  /** Changes the folder of the commands that follow. */
  #enter(target: Word | undefined) {
    const path = literal(target);
    const base = this.#folders?.at(-1);
    if (path === null || base === undefined || path.startsWith("~") || path === "-") this.#folders = null;
    else if (this.#folders !== null && this.#folders.length < MAX_FOLDERS) this.#folders.push(resolved(base, path));
  }

  /** `bash -c "script"`, `eval "script"`, or a script from a file. */
  #shell(command: SimpleCommand, name: string, args: readonly Word[], depth: number) {
    const option = args.findIndex((word) => /^-[a-z]*c$/.test(literal(word) ?? ""));
    const path = args.find((word) => literal(word)?.startsWith("-") !== true);
    const script =
      name === "eval"
        ? [args.flat().join(" ")]
        : option >= 0
          ? args[option + 1]
          : path === undefined
            ? command.input
            : this.#files.get(literal(path));
    if (script != null) this.#inner(asScript(script), command.background, depth);
    else this.wraps ||= path !== undefined || command.input !== undefined;
  }

  /** Every argument of a terminal multiplexer may be a command that it runs in a new window. */
  #terminal(args: readonly Word[], depth: number) {
    this.wraps = true;
    this.background = true;
    const at = args.findIndex((word) => productOf(baseName(literal(word) ?? "")) !== undefined);
    if (at >= 0) {
      this.add({ words: args.slice(at), input: undefined, background: true, times: 1, writes: null }, true, depth);
      return;
    }
    for (const text of args.flatMap((word) => literal(word) ?? [])) if (/\s/.test(text)) this.#inner(text, true, depth);
  }

  #inner(script: string, background: boolean, depth: number) {
    if (depth >= 3) return;
    for (const simple of simpleCommands(script)) this.add(simple, background, depth + 1);
  }
}

/**
 * The index of the command that a program runs: behind `--`, as in `retinue run -- codex exec`, or behind a sub-command,
 * as in `poetry run codex exec`. -1 if it runs none.
 */
function commandAfter(name: string, args: readonly Word[]): number {
  const split = args.findIndex((word) => literal(word) === "--");
  if (split >= 0) return runsProduct(args.slice(split + 1)) ? split + 1 : -1;
  if (!RUNNERS.has(`${name} ${literal(args[0])}`)) return -1;
  const isOption = (word: Word | undefined) => literal(word)?.startsWith("-") === true;
  const plain = args.flatMap((word, i) => (i === 0 || isOption(word) ? [] : [i]));
  // Before the command may be the value of an option, or a folder.
  const at = plain.find((i) => runsProduct(args.slice(i)));
  return at !== undefined && plain.every((i) => i >= at || isOption(args[i - 1]) || name === "direnv") ? at : -1;
}

const RUNNERS = new Set(
  ["conda", "doppler", "hatch", "infisical", "op", "pdm", "pipenv", "pixi", "poetry", "rye", "uv"]
    .map((name) => `${name} run`)
    .concat(["asdf", "bundle", "direnv", "fnm", "mise", "nvm", "rtx", "volta"].map((name) => `${name} exec`)),
);

/** Whether an interpreter may run other programs: a script file may, code in the command only if it contains a call. */
function mayRunOthers(args: readonly Word[], input: Word | null | undefined): boolean {
  const option = args.findIndex((word) => /^(?:-[a-z]*[cep]|--eval|--print)$/.test(literal(word) ?? ""));
  const isInput = args.every((word) => literal(word)?.startsWith("-") === true);
  const code = option >= 0 ? args[option + 1] : isInput ? input : null;
  return code == null || RUNS_OTHERS.test(code.join(" "));
}

function runsProduct([program, ...args]: readonly Word[]): boolean {
  const [product, rest] = productIn(baseName(literal(program) ?? ""), args);
  return product !== undefined && isHeadless(product, rest);
}

/** The program of a command: its name is known even if its folder is not, as in `$HOME/bin/codex`. */
const programIn = (word: Word | undefined): string | null =>
  literal(word) ?? (word?.at(-1)?.includes("/") === true ? (word.at(-1) ?? null) : null);

/** The text of a script. Expansions become a variable without a known value. */
const asScript = (script: Word) => script.join("$_");

/** Whether a text among the arguments is certainly a prompt, and not the value of an option. */
function hasPrompt({ prints }: ProductCommand, args: readonly Word[]): boolean {
  return args.some((word, i) => {
    const before = literal(args[i - 1]) ?? "";
    const isValue = before.startsWith("-") && !prints.has(before);
    return !isValue && word[0]?.startsWith("-") !== true && word.some((piece) => /\S\s+\S/.test(piece));
  });
}

/** A word whose text is not known, apart from one or two characters. */
const isOpen = (word: Word) => word.length > 1 && word.join("").trim().length < 3;

/** Some products join all their arguments to one prompt. */
const joined = (plain: readonly Word[]): readonly Word[] => {
  const texts = plain.slice(1).map(literal);
  return texts.length < 2 || texts.includes(null) ? [] : [[texts.join(" ")], [plain.map(literal).join(" ")]];
};

function folderOption({ folder }: ProductCommand, args: readonly Word[]): Word | undefined {
  const at = args.findIndex((word) => folder.has(literal(word) ?? ""));
  if (at >= 0) return args[at + 1];
  const given = args.find(([first = ""]) => first.includes("=") && folder.has(first.split("=", 1)[0] ?? ""));
  return given === undefined ? undefined : [(given[0] ?? "").replace(/^[^=]*=/, ""), ...given.slice(1)];
}

/** The product that a program starts, and its arguments: directly, or as a package. */
function productIn(name: string, args: readonly Word[]): readonly [ProductCommand | undefined, readonly Word[]] {
  const runs = PACKAGE_MANAGERS.get(name)?.has(literal(args[0]) ?? "");
  if (!PACKAGE_RUNNERS.has(name) && runs !== true && !INTERPRETERS.test(name)) return [productOf(name), args];
  const rest = runs === true ? args.slice(1) : args;
  const at = rest.findIndex((word) => literal(word)?.startsWith("-") !== true);
  const program = literal(rest[at]) ?? "";
  const bare = program.startsWith("@") ? program.replace(/(?<=.)@.*$/, "") : baseName(program).replace(/@.*$/, "");
  return [productOf(bare), rest.slice(at + 1)];
}

/** The command without assignments before it, and without programs that only change how it runs. */
function withoutPrefixes(words: readonly Word[]) {
  let rest = words;
  let isDetached = false;
  let times: number | null | undefined;
  for (;;) {
    while (/^[A-Za-z_]\w*\+?=/.test(rest[0]?.[0] ?? "")) rest = rest.slice(1);
    const name = baseName(literal(rest[0]) ?? "");
    const skipped = name === "xargs" || name === "parallel" ? 0 : PREFIXES.get(name);
    if (skipped === undefined) return { words: rest, isDetached, times };
    // `command -v` only looks for a program.
    if (name === "command" && /^-[vV]/.test(literal(rest[1]) ?? "")) return { words: [], isDetached, times };
    if (DETACHES.has(name)) isDetached = true;
    if (name === "xargs" || name === "parallel") times = null;
    rest = rest.slice(1);
    while (literal(rest[0])?.startsWith("-")) {
      const option = literal(rest[0]) ?? "";
      const takes = PREFIX_VALUES.has(option) || (name === "xargs" && /^-[nPLId]$/.test(option));
      rest = rest.slice(takes ? 2 : 1);
    }
    rest = rest.slice(skipped);
    // `xargs` and `parallel` replace this by a word of their input.
    if (times === null) rest = rest.map((word) => word.flatMap((piece) => piece.split("{}")));
  }
}

const baseName = (path: string) => (path.split(/[\\/]/).at(-1) ?? "").replace(/\.(?:exe|cmd|c?js|mjs)$/i, "");

function resolved(base: string, path: string): string {
  const parts = path.startsWith("/") ? [] : base.split("/");
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return path.startsWith("/") ? `/${parts.join("/")}` : parts.join("/") || "/";
}
