import { literal, type Word } from "./shell-script.ts";

/** How a product is started from a command line, as far as shell commands of other agents show it. */
export interface ProductCommand {
  readonly provider: string;
  /** Its program, and its packages for `npx` and the like. */
  readonly names: readonly string[];
  /** The sub-command that runs without a terminal; null if a flag or nothing does. */
  readonly runs: ReadonlySet<string> | null;
  /** Sub-commands that start no thread. */
  readonly others: ReadonlySet<string>;
  /** Flags and sub-commands that continue a thread instead of starting one. */
  readonly continues: ReadonlySet<string>;
  /** With one of these a continued thread becomes a new one. */
  readonly forks: ReadonlySet<string>;
  /** The option that names the id of the new thread. */
  readonly id?: string;
}

const words = (text: string): ReadonlySet<string> => new Set(text === "" ? [] : text.split(" "));

const OPENCODE = {
  runs: words("run"),
  others: words(
    "acp agent attach auth completion db debug export github import login logout mcp models pr providers serve session stats uninstall upgrade web",
  ),
  continues: words("-c --continue -s --session"),
  forks: words("--fork"),
};

/** The command lines that agents use to start agents. Programs that only have a similar name are not among them. */
export const PRODUCT_COMMANDS: readonly ProductCommand[] = [
  {
    provider: "claude",
    names: ["claude", "@anthropic-ai/claude-code"],
    runs: null,
    others: words(
      "agents api-key auth auto-mode config doctor install mcp migrate-installer plugin plugins setup-token update upgrade",
    ),
    continues: words("-c --continue -r --resume --from-pr --teleport"),
    forks: words("--fork-session"),
    id: "--session-id",
  },
  {
    provider: "codex",
    names: ["codex", "@openai/codex"],
    runs: words("exec e"),
    others: words(
      "a app app-server apply cloud completion debug exec-server execpolicy features help login logout mcp mcp-server plugin responses-api-proxy sandbox update",
    ),
    continues: words("resume"),
    forks: words("fork"),
  },
  { provider: "opencode", names: ["opencode", "opencode-ai"], ...OPENCODE },
  { provider: "kilo", names: ["kilo", "kilocode", "@kilocode/cli"], ...OPENCODE },
  {
    provider: "gemini",
    names: ["gemini", "@google/gemini-cli"],
    runs: null,
    others: words("extensions hooks mcp skills --list-sessions --list-extensions --delete-session"),
    continues: words("-r --resume"),
    forks: words(""),
  },
  {
    provider: "qwen",
    names: ["qwen", "@qwen-code/qwen-code"],
    runs: null,
    others: words("auth channel extensions hooks mcp --list-extensions"),
    continues: words("-r --resume -c --continue"),
    forks: words(""),
  },
  {
    provider: "pi",
    names: ["pi", "@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"],
    runs: null,
    others: words("config install list remove uninstall update --list-models --export"),
    continues: words("-c --continue -r --resume --session"),
    forks: words("--fork"),
  },
  {
    provider: "copilot",
    names: ["copilot", "@github/copilot"],
    runs: null,
    others: words("help login logout mcp plugin update version"),
    continues: words("--continue --resume"),
    forks: words(""),
  },
  {
    provider: "kimi",
    names: ["kimi", "kimi-code", "kimi-cli"],
    runs: null,
    others: words("acp info login logout mcp term web"),
    continues: words("-r -S --session --resume --continue -C"),
    forks: words(""),
  },
  {
    provider: "droid",
    names: ["droid"],
    runs: words("exec"),
    others: words("mcp plugin update"),
    continues: words("-s --session-id -r --resume"),
    forks: words(""),
  },
];

const BY_NAME = new Map(PRODUCT_COMMANDS.flatMap((product) => product.names.map((name) => [name, product] as const)));

export const productOf = (name: string): ProductCommand | undefined => BY_NAME.get(name);

/** Finds the name of a product in a text, before the text is parsed. */
export const NAMES_PRODUCT = new RegExp(
  `(?<![\\w-])(?:${[...BY_NAME.keys()].map((name) => name.replaceAll("/", "\\/")).join("|")})(?![\\w-])`,
);

const ASKS_ABOUT = new Set(["-h", "--help", "-v", "-V", "--version"]);

/** A start of a product that creates a thread; null if the arguments create none. */
export function startIn(product: ProductCommand, args: readonly Word[]): { readonly id: string | null } | null {
  const texts = args.map(literal);
  if (texts.some((text) => text !== null && ASKS_ABOUT.has(text))) return null;
  const given = new Set(texts.flatMap((text) => text?.split("=", 1)[0] ?? []));
  const command = texts.find((text) => text !== null && !text.startsWith("-")) ?? null;
  if (command !== null && product.others.has(command)) return null;
  for (const word of given) if (word.startsWith("-") && product.others.has(word)) return null;
  const isContinued = [...product.continues].some((word) =>
    // A sub-command counts only in its place: the same word may be in a prompt.
    word.startsWith("-") ? given.has(word) : isSubCommand(word, texts, product),
  );
  if (isContinued && ![...product.forks].some((word) => given.has(word))) return null;
  const at = product.id === undefined ? -1 : texts.indexOf(product.id);
  return { id: at < 0 ? null : (texts[at + 1] ?? null) };
}

/** `codex resume` and `codex exec resume`. */
function isSubCommand(word: string, texts: readonly (string | null)[], product: ProductCommand): boolean {
  const plain = texts.filter((text) => text === null || !text.startsWith("-"));
  const [first, second] = plain;
  return first === word || (first != null && product.runs?.has(first) === true && second === word);
}
