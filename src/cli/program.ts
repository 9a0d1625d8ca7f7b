import { Argument, Command, CommanderError, Option } from "commander";
import { FILE_FORMATS, type FileFormat, OLD_TRACES, SENT_FORMATS, type SentFormat } from "../app/export/formats.ts";
import { Failure } from "../app/failure.ts";
import { HOOKABLE } from "../app/hook-install.ts";
import { PROVIDER_NAMES } from "../app/machine.ts";
import { RELAYED_NAMES } from "../app/relayed.ts";
import { productVersion } from "../app/version.ts";
import { nearest } from "../core/nearest.ts";
import { REDACTION_LEVELS } from "../core/redaction.ts";
import { GROUPS } from "../core/stats.ts";
import { COMPLETIONS_HELP, completions, SHELLS } from "./commands/completions.ts";
import { demo } from "./commands/demo.ts";
import { doctor } from "./commands/doctor.ts";
import { type EventsOptions, events } from "./commands/events.ts";
import type { ExportOptions } from "./commands/export.ts";
import type { HookOptions } from "./commands/hook.ts";
import { type HooksOptions, hooks } from "./commands/hooks.ts";
import { importTranscript } from "./commands/import.ts";
import { link, unlink } from "./commands/links.ts";
import { type LsOptions, ls } from "./commands/ls.ts";
import type { OutboxOptions } from "./commands/outbox.ts";
import type { ProxyOptions } from "./commands/proxy.ts";
import { RELAY_HELP, type RelayOptions, relay } from "./commands/relay.ts";
import { EVENT_FORMATS, type RunOptions, run } from "./commands/run.ts";
import { search } from "./commands/search.ts";
import { type ServeOptions, serve } from "./commands/serve.ts";
import { type ShowOptions, show } from "./commands/show.ts";
import { type StatsOptions, stats } from "./commands/stats.ts";
import { TOKEN_ACTIONS, TOKEN_HELP, type TokenOptions, token } from "./commands/token.ts";
import { type TreeOptions, tree } from "./commands/tree.ts";
import { verify } from "./commands/verify.ts";
import { watch } from "./commands/watch.ts";
import { why } from "./commands/why.ts";
import { type CommonOptions, type Context, openContext } from "./context.ts";
import { EXPORT_HELP } from "./export-help.ts";
import { settingsHelp } from "./settings-help.ts";

const URI = "<provider>://<thread>[/<agent>], a thread id, a prefix of one, or latest";

export function buildProgram(): Command {
  const program = serving(common(new Command("retinue")))
    .description("Shows what the agents of your agents did: who asked whom for what, what each did and cost, how it ended.")
    .version(productVersion(), "-V, --version")
    .argument("[uri]", URI)
    .option("-I, --head", "print the YAML frontmatter alone")
    .option("--full", "all messages, with reasoning, notes and tool results")
    // Without this the program would eat the options of its commands.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .addHelpText("after", () => `\n${settingsHelp(process.env, process.stdout.columns)}`)
    .allowExcessArguments(false)
    .showHelpAfterError(false)
    .action((uri: string | undefined, options: ShowOptions & ServeOptions) => {
      if (uri !== undefined) return show(open(program), checked(uri, program), options);
      if (options.head === true) throw new Failure("usage", "--head wants to know of what", ["write retinue --head <uri>"]);
      return serve(open(program), options);
    });
  program.hook("preAction", (_, command) => {
    if (command !== program && program.opts<ShowOptions>().head === true)
      throw new Failure("usage", `--head does not go with ${command.name()}`, ["write retinue --head <uri>, or the command without --head"]);
  });

  serving(common(program.command("serve")))
    .description("start the local server and open the dashboard; retinue alone does the same")
    .action((options: ServeOptions, command: Command) => serve(open(command), options));
  serving(common(program.command("demo")))
    .description("the same on recorded agents that work once more, in a temporary home")
    .action((options: ServeOptions, command: Command) => demo(open(command), options));
  common(program.command("ls"))
    .description("recent top-level threads: status, agents, tokens, cost, title")
    .addOption(new Option("--provider <name>", "only this product's").choices(PROVIDER_NAMES))
    .option("--cwd <folder>", "only threads that worked in this folder or below")
    .option("--since <time>", "only threads active since then: 30m, 2h, 3d, 1w, or a date")
    .option("--limit <n>", "how many", "20")
    .option("--running", "only threads that run now")
    .action((options: LsOptions, command: Command) => ls(open(command), options));
  program
    .command("statusline")
    .description("one line for an agent's own status line, or one for each agent shown there; reads what it is asked on stdin")
    .action(async () => void process.stdout.write(await (await import("./statusline.ts")).statusline(process.env)));
  common(program.command("tree"))
    .description("the tree of agents, with own and subtree columns")
    .argument("<uri>", URI)
    .option("--all", "fold nothing")
    .option("--timeline", "who worked when, who waited for whom, and what the end had to wait for")
    .action((uri: string, options: TreeOptions, command: Command) => tree(open(command), uri, options));
  common(program.command("events"))
    .description("what happened, one JSON line an event")
    .argument("<uri>", URI)
    .option("--subtree", "of the agents below as well")
    .option("--follow", "go on with what happens from now on, until interrupted")
    .action((uri: string, options: EventsOptions, command: Command) => events(open(command), uri, options));
  common(program.command("run"))
    .description(
      "run an agent's command, or a script around one, as it is, and record what it says; its output, exit code and signals pass through untouched, and it outlives us if we are killed (not on Windows)",
    )
    .argument("<command...>", "the command and its arguments, best behind --")
    .option("--events", "print what happens as events instead of what the command prints")
    .addOption(new Option("--format <format>", "of the events: all of them, or SubAgentSpawned lines only (agent_id, session_id, …)").choices(EVENT_FORMATS))
    .passThroughOptions()
    .action((words: string[], options: RunOptions, command: Command) => run(open(command), words, options));
  common(program.command("hooks"))
    .description("have an agent's hooks tell us what happens, or no longer; shows the change to its settings and asks")
    .addArgument(new Argument("<action>", "what to do").choices(["install", "uninstall"]))
    .addArgument(new Argument("<provider>", "whose settings").choices(HOOKABLE))
    .option("--yes", "do not ask")
    .action((action: "install" | "uninstall", provider: string, options: HooksOptions, command: Command) => hooks(open(command), action, provider, options));
  common(program.command("search"))
    .description("full text over everything people and agents said and asked tools to do")
    .argument("<words...>", "all of them must occur; the last may be unfinished")
    .option("--limit <n>", "how many", "20")
    .action((words: string[], options: { limit: string }, command: Command) => search(open(command), words, options));
  common(program.command("stats"))
    .description("tokens, cost, time and outcome by day, model, agent type, project and kind of task")
    .addOption(new Option("--by <what>", "only by this").choices(GROUPS))
    .option("--since <time>", "only what was spent since then: 2h, 3d, 1w, or a date")
    .option("--limit <n>", "how many lines each", "10")
    .action((options: StatsOptions, command: Command) => stats(open(command), options));
  common(program.command("watch"))
    .description("the live tree in the terminal: who runs, on what, since when, for how much; ? shows the keys")
    .argument("[uri]", URI)
    .action((uri: string | undefined, _: object, command: Command) => watch(open(command), uri));
  common(program.command("why"))
    .description("every piece of evidence for its parent and its status, and which one decided")
    .argument("<uri>", URI)
    .action((uri: string, _: object, command: Command) => why(open(command), uri));
  common(program.command("verify"))
    .description("sums what was counted against what the product itself reports; exit 1 where they differ")
    .argument("[uri]", URI)
    .action((uri: string | undefined, _: object, command: Command) => verify(open(command), uri));
  common(program.command("link"))
    .description("put an agent under another by hand; wins over every other rule, and is shown as manual")
    .argument("<child>", URI)
    .argument("<parent>", URI)
    .action((child: string, parent: string, _: object, command: Command) => link(open(command), child, parent));
  common(program.command("unlink"))
    .description("take a manual link back")
    .argument("<child>", URI)
    .action((child: string, _: object, command: Command) => unlink(open(command), child));
  common(program.command("import"))
    .description("take in a transcript from elsewhere, with its agents, or what an agent's command printed as JSON; it is then found like any other")
    .argument("<file>", "the transcript of a session, or of one agent, or the output of an agent's command; - for stdin")
    .option("--replace", "even if another one of the same session is here already")
    .action((path: string, options: { replace?: boolean }, command: Command) => importTranscript(open(command), path, options));
  common(program.command("relay"))
    .description("follow a product's server: all that happens on it is kept and shown, as it happens")
    .addArgument(new Argument("<provider>", "whose server it is").choices(RELAYED_NAMES))
    .option("--url <server>", "where it is; otherwise where such a server is as a rule")
    .addHelpText("after", RELAY_HELP)
    .action((name: string, options: RelayOptions, command: Command) => relay(open(command), name, options));
  common(program.command("proxy"))
    .description("an API proxy that records what agents ask and links it to them; prints its address")
    .option("--port <n>", "listen at this port; 0 for any that is free (default: 4748)")
    .option("--host <address>", "listen at this address (default: 127.0.0.1)")
    .option("--upstream <url>", "where requests go, with the path that comes before theirs (default: the API's own address)")
    .option("--via <url>", "an HTTP proxy on the way there")
    .option("--timeout <time>", "how long the upstream may be silent", "10m")
    .option("--token", "ask everybody for a token, which the printed address carries; asked for anyway beyond this machine")
    .option("--redact", "write down only what the settings of redaction let through")
    .action(async (options: ProxyOptions, command: Command) => (await import("./commands/proxy.ts")).proxy(open(command), options));
  common(program.command("export"))
    .description("a tree for other tools: LangSmith and OpenTelemetry are sent to, the others are written; without secrets")
    .addArgument(new Argument("<format>", "for whom").choices([...SENT_FORMATS, ...FILE_FORMATS]))
    .argument("[uri]", URI)
    .option("--out <file>", "write it to this file; what would be sent is written instead of sent")
    .option("--preview", "print exactly what would leave this machine, and send nothing")
    .option("--follow", "go on with what happens from now on, until interrupted; without a URI: of all threads")
    .option("--backfill", "all threads, with --since; goes on where it stopped")
    .option("--since <time>", "how far back: 2h, 3d, 1w, or a date")
    .addOption(new Option("--old <how>", "turns that began more than a day ago, which LangSmith's cloud refuses").choices(OLD_TRACES))
    .addOption(new Option("--level <level>", "how much to tell, instead of what the settings say").choices(REDACTION_LEVELS))
    .addHelpText("after", EXPORT_HELP)
    // Loaded on demand, as the two below: no other command needs what they do.
    .action(async (format: SentFormat | FileFormat, uri: string | undefined, options: ExportOptions, command: Command) =>
      (await import("./commands/export.ts")).exportTree(open(command), format, uri, options),
    );
  common(program.command("outbox"))
    .description("what waits to be sent, and why")
    .option("--retry", "try again at once, what was refused too")
    .option("--drop", "throw away what was refused")
    .option("--limit <n>", "how many items of each", "10")
    .action(async (options: OutboxOptions, command: Command) => (await import("./commands/outbox.ts")).outbox(open(command), options));
  common(program.command("hook"))
    .description("what agents' hooks call: keeps the payload on stdin, wakes the server and is gone; prints nothing")
    .option("--flush", "send what happened since the last time, if tracing is switched on")
    .option("--stay", "with --flush: stay until the turns that are under way have ended")
    .action(async (options: HookOptions, command: Command) => (await import("./commands/hook.ts")).hook(open(command), options));
  common(program.command("token"))
    .description("what lets other programs use the server or the proxy where the system does not tell that they are yours")
    .addArgument(new Argument("<action>", "print the token, or an address that lets a browser in").choices(TOKEN_ACTIONS))
    .option("--proxy", "the token of the proxy")
    .addHelpText("after", TOKEN_HELP)
    .action((action: (typeof TOKEN_ACTIONS)[number], options: TokenOptions, command: Command) => token(open(command), action, options));
  common(program.command("doctor"))
    .description("what was found where, what could not be read and why")
    .action((_: object, command: Command) => doctor(open(command)));
  common(program.command("completions"))
    .description("what your shell needs to complete commands and options")
    .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
    .addHelpText("after", COMPLETIONS_HELP)
    .action((shell: (typeof SHELLS)[number], _: object, command: Command) => completions(open(command), program, shell));
  return program;
}

/** How the command that was meant is written. */
export function usageFor(program: Command, args: readonly string[]): string {
  const command = program.commands.find((c) => args.includes(c.name()));
  const words = command === undefined ? "[options] <uri> or <command>" : `${command.name()} ${command.usage()}`;
  return `usage: retinue ${words} (retinue ${command === undefined ? "" : `${command.name()} `}--help tells more)`;
}

/** The common options count wherever they stand, before the command or after it. */
function open(command: Command): Context {
  const given = [command.opts<CommonOptions>(), command.parent?.opts<CommonOptions>() ?? {}];
  const any = (name: "json" | "quiet" | "debug") => given.some((options) => options[name] === true);
  return openContext({ json: any("json"), quiet: any("quiet"), debug: any("debug"), color: given.every((options) => options.color !== false) });
}

function common(command: Command): Command {
  return command
    .showSuggestionAfterError(false)
    .option("--json", "print JSON")
    .option("--no-color", "no colours")
    .option("--quiet", "no talk on stderr")
    .option("--debug", "say what was read and how long it took");
}

function serving(command: Command): Command {
  return command
    .option("--port <n>", "listen at this port; otherwise at one that is free")
    .option("--host <address>", "listen at this address; beyond this machine everybody is asked for a token")
    .option("--no-open", "do not open a browser");
}

/** A bare word that cannot be an id was meant as a command. */
const isWord = (word: string) => /^[a-z][\w-]*$/i.test(word) && word !== "latest" && !/^(?:[\da-f-]{6,}|ses_.*)$/i.test(word);

function checked(uri: string, program: Command): string {
  if (isWord(uri)) throw unknownCommand(uri, program);
  return uri;
}

function unknownCommand(word: string, program: Command): Failure {
  const names = program.commands.map((c) => c.name());
  const meant = nearest(word, names);
  return new Failure("usage", `unknown command ${JSON.stringify(word)}: it is neither a command nor a URI`, [
    meant === null ? `commands: ${names.join(", ")}` : `did you mean: retinue ${meant}`,
  ]);
}

/** The parser complains of what follows an unknown command; it is the command that is wrong. */
export function withUnknownCommand(error: unknown, program: Command): unknown {
  const [first] = program.args;
  const isOfWords = error instanceof CommanderError && ["commander.excessArguments", "commander.unknownOption"].includes(error.code);
  const isKnown = first === undefined || first === "help" || program.commands.some((c) => c.name() === first);
  return isOfWords && !isKnown && isWord(first) ? unknownCommand(first, program) : error;
}
