import { Argument, Command, CommanderError, Option } from "commander";
import { SENT_FORMATS, type SentFormat } from "../app/export/destinations/index.ts";
import { FILE_FORMATS, type FileFormat, OLD_TRACES } from "../app/export/formats.ts";
import { Failure } from "../app/failure.ts";
import { HOOKABLE } from "../app/hooks/hook-install.ts";
import type { Library } from "../app/ingest/library.ts";
import { PROVIDER_NAMES } from "../app/machine.ts";
import { RELAYED_NAMES } from "../app/relay/relayed.ts";
import { SKILLED } from "../app/skill.ts";
import { productVersion } from "../app/version.ts";
import { SCOPES } from "../core/ports/team.ts";
import { REDACTION_LEVELS } from "../core/redaction/redaction.ts";
import { nearest } from "../core/tools/nearest.ts";
import { GROUPS } from "../core/views/stats.ts";
import type { AttachFlags } from "./commands/attach.ts";
import { COMPLETIONS_HELP, completions, SHELLS } from "./commands/completions.ts";
import type { DbOptions } from "./commands/db.ts";
import { demo } from "./commands/demo.ts";
import { doctor } from "./commands/doctor.ts";
import { type EventsOptions, events } from "./commands/events.ts";
import { type ExplainOptions, explain } from "./commands/explain.ts";
import type { ExportOptions } from "./commands/export.ts";
import { type FilesOptions, files } from "./commands/files.ts";
import type { GuardOptions } from "./commands/guard.ts";
import type { HookOptions } from "./commands/hook.ts";
import { type HooksOptions, hooks } from "./commands/hooks.ts";
import { importTranscript } from "./commands/import.ts";
import { link, unlink } from "./commands/links.ts";
import { type LsOptions, ls } from "./commands/ls.ts";
import type { OutboxOptions } from "./commands/outbox.ts";
import type { ProxyOptions } from "./commands/proxy.ts";
import { RELAY_HELP, type RelayOptions, relay } from "./commands/relay.ts";
import { EVENT_FORMATS, type RunOptions, run } from "./commands/run.ts";
import { type SearchOptions, search } from "./commands/search.ts";
import { type ServeOptions, serve } from "./commands/serve.ts";
import type { ShipOptions } from "./commands/ship.ts";
import { type ShowOptions, show } from "./commands/show.ts";
import type { SkillOptions } from "./commands/skill.ts";
import { type StatsOptions, stats } from "./commands/stats.ts";
import type { TeamTokenOptions } from "./commands/team-token.ts";
import { TEAM_TOKEN_ACTIONS, TOKEN_ACTIONS, TOKEN_HELP, type TokenOptions, token } from "./commands/token.ts";
import { type TreeOptions, tree } from "./commands/tree.ts";
import { verify } from "./commands/verify.ts";
import { watch } from "./commands/watch.ts";
import { why } from "./commands/why.ts";
import { type CommonOptions, type Context, openContext } from "./context.ts";
import { EXPORT_HELP } from "./export-help.ts";
import { collectLimit, LIMIT_FORM, LIMIT_HELP } from "./limit-option.ts";
import { settingsHelp } from "./settings-help.ts";
import type { Host } from "./terminal.ts";

const URI = "<provider>://<thread>[/<agent>], a thread id, a prefix of one, or latest";

const SHIP_HELP =
  "\nThe token is RETINUE_TEAM_TOKEN, else the content of the file that team.token_file names. team.share.projects and team.share.level decide what leaves this machine. With team.url set, retinue serve sends as well.";

/** `onOpen` gets the library of the command that is run. */
export function buildProgram(host: Host = process, onOpen: (library: Library) => void = () => {}): Command {
  /** Common options are accepted before and after the command. */
  const open = (command: Command): Context => {
    const given = [command.opts<CommonOptions>(), command.parent?.opts<CommonOptions>() ?? {}];
    const any = (name: "json" | "quiet" | "debug") => given.some((options) => options[name] === true);
    const color = given.every((options) => options.color !== false);
    return openContext({ json: any("json"), quiet: any("quiet"), debug: any("debug"), color }, host, onOpen);
  };
  const program = serving(common(new Command("retinue")))
    .description(
      "Shows the sub-agents of your coding agents as a tree: who spawned whom, with which prompt, what each did and cost, and how it ended.",
    )
    .version(productVersion(), "-V, --version")
    .argument("[uri]", URI)
    .option("-I, --head", "print only the YAML frontmatter")
    .option("--full", "include all messages, reasoning, notes and tool results")
    .option("--store <url>", "start a team server, as serve --store does")
    // Otherwise the program would consume the options of its sub-commands.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: (text) => void host.stdout.write(text), outputError: () => {} })
    .addHelpText("after", () => `\n${settingsHelp(host.env, host.stdout.columns)}`)
    .allowExcessArguments(false)
    .showHelpAfterError(false)
    .action((uri: string | undefined, options: ShowOptions & ServeOptions) => {
      if (uri !== undefined) return show(open(program), checked(uri, program), options);
      if (options.head === true) throw new Failure("usage", "--head needs a URI", ["write retinue --head <uri>"]);
      return serve(open(program), options);
    });
  program.hook("preAction", (_, command) => {
    if (command !== program && program.opts<ShowOptions>().head === true)
      throw new Failure("usage", `--head cannot be used with ${command.name()}`, [
        "write retinue --head <uri>, or the command without --head",
      ]);
  });

  serving(common(program.command("serve")))
    .description("start the local server and open the dashboard (the default command), or a team server")
    .option(
      "--store <url>",
      "serve what a team has shipped to this PostgreSQL database, instead of this machine's threads",
    )
    .action((options: ServeOptions, command: Command) => serve(open(command), options));
  serving(common(program.command("demo")))
    .description("open the dashboard on replayed recordings, in a temporary home")
    .action((options: ServeOptions, command: Command) => demo(open(command), options));
  common(program.command("ls"))
    .description("recent top-level threads: status, agents, tokens, cost, title")
    .addOption(new Option("--provider <name>", "only threads of this product").choices(PROVIDER_NAMES))
    .option("--cwd <folder>", "only threads in this folder or below")
    .option("--since <time>", "only threads active since then: 30m, 2h, 3d, 1w, or a date")
    .option("--limit <n>", "how many", "20")
    .option("--all", "list all threads, after reading everything")
    .option("--running", "only running threads")
    .option("--wait", "read everything first; by default only the files of the listed threads are read")
    .action((options: LsOptions, command: Command) => ls(open(command), options));
  program
    .command("statusline")
    .description(
      "print text for a product's status line, or for each row of its agent list; reads the request from stdin",
    )
    .action(async () => void host.stdout.write(await (await import("./statusline.ts")).statusline(host.env)));
  common(program.command("tree"))
    .description("print the tree of agents, with own and subtree usage")
    .argument("<uri>", URI)
    .option("--all", "fold nothing")
    .option("--timeline", "when each agent worked or waited, and the critical path")
    .action((uri: string, options: TreeOptions, command: Command) => tree(open(command), uri, options));
  common(program.command("explain"))
    .description("what went wrong or was wasted, with the records that show it")
    .argument("[uri]", URI)
    .option("--since <time>", "sum up all threads since then instead: 30m, 2h, 3d, 1w, or a date")
    .option("--all", "also print where time and cost went if there is nothing to report")
    .action((uri: string | undefined, options: ExplainOptions, command: Command) =>
      explain(open(command), uri, options),
    );
  common(program.command("files"))
    .description("files that an agent and the agents below it read and changed")
    .argument("<uri>", URI)
    .option("--own", "only this agent")
    .option("--diff", "print the changes that the records contain")
    .action((uri: string, options: FilesOptions, command: Command) => files(open(command), uri, options));
  common(program.command("events"))
    .description("print events, one JSON object per line")
    .argument("<uri>", URI)
    .option("--subtree", "include the agents below")
    .option("--follow", "keep printing new events until interrupted")
    .action((uri: string, options: EventsOptions, command: Command) => events(open(command), uri, options));
  common(program.command("run"))
    .description(
      "run an agent's command, or a script that runs one, and record its output; output, exit code and signals are passed through unchanged, and the command survives if retinue is killed (not on Windows)",
    )
    .argument("<command...>", "the command and its arguments, preferably after --")
    .option("--events", "print events instead of the command's output")
    .option(
      "--control",
      "control the command's input: its agents can be stopped, sent messages and given permissions from watch and the dashboard (docs/live-sources.md lists the products)",
    )
    .addOption(
      new Option(
        "--format <format>",
        "events: all events; spawned: only SubAgentSpawned lines (agent_id, session_id, …)",
      ).choices(EVENT_FORMATS),
    )
    .option(`--limit ${LIMIT_FORM}`, LIMIT_HELP, collectLimit)
    .passThroughOptions()
    .action((argv: string[], options: RunOptions, command: Command) => run(open(command), argv, options));
  common(program.command("hooks"))
    .description("install or uninstall retinue's hooks; shows the change to the product's settings and asks first")
    .addArgument(new Argument("<action>", "install or uninstall").choices(["install", "uninstall"]))
    .addArgument(new Argument("<provider>", "whose settings").choices(HOOKABLE))
    .option("--yes", "do not ask")
    .option("--lineage", "also name session, agent and call in the environment of shell commands that may start agents")
    .action((action: "install" | "uninstall", provider: string, options: HooksOptions, command: Command) =>
      hooks(open(command), action, provider, options),
    );
  common(program.command("compare"))
    .description("compare two trees agent by agent, or two groups of threads with their spread")
    .argument("<left>", "a URI; for a group several, separated by commas")
    .argument("<right>", "what to compare it with: a URI, or several")
    .action(async (left: string, right: string, _options: object, command: Command) =>
      (await import("./commands/compare.ts")).compare(open(command), left, right),
    );
  common(program.command("self"))
    .description("for agents: find the agent that runs this command, and print its tree, siblings and limits")
    .action(async (_options: object, command: Command) => (await import("./commands/self.ts")).self(open(command)));
  common(program.command("skill"))
    .description("print a skill file that tells agents how to use retinue; --install writes it, after asking")
    .addArgument(new Argument("[provider]", "for --install: whose skills").choices(SKILLED))
    .option("--install", "write it to the product's folder of skills")
    .option("--yes", "do not ask")
    .action(async (provider: string | undefined, options: SkillOptions, command: Command) =>
      (await import("./commands/skill.ts")).skill(open(command), provider, options),
    );
  common(program.command("search"))
    .description("search messages, prompts and tool calls")
    .argument("<words...>", "all words must occur; the last one may be a prefix")
    .option("--limit <n>", "how many", "20")
    .option("--wait", "index all text first; otherwise no more than 64 MB of new text is indexed, the newest first")
    .action((words: string[], options: SearchOptions, command: Command) => search(open(command), words, options));
  common(program.command("stats"))
    .description("tokens, cost, time and outcome by day, model, agent type, project and template")
    .addOption(new Option("--by <what>", "group by this only").choices(GROUPS))
    .option("--since <time>", "only usage since then: 2h, 3d, 1w, or a date")
    .option("--limit <n>", "lines per group", "10")
    .action((options: StatsOptions, command: Command) => stats(open(command), options));
  common(program.command("watch"))
    .description("the live tree in the terminal; press ? for help")
    .argument("[uri]", URI)
    .action((uri: string | undefined, _: object, command: Command) => watch(open(command), uri));
  common(program.command("attach"))
    .description(
      "continue an agent as a session of its own, with its whole history; the agent's own records are not changed",
    )
    .argument("<uri>", URI)
    .argument("[args...]", "more arguments for the product's command, after --")
    .option("--print-command", "print what would be run, and change nothing")
    .option("--with <message>", "send this message first; without a terminal, print the response and end")
    .option("--at <event>", "keep the history up to this event: its id or seq, as retinue events prints them")
    .option("--in <folder>", "where to run the product (default: the agent's folder)")
    .action(async (uri: string, args: string[], options: AttachFlags, command: Command) =>
      (await import("./commands/attach.ts")).attach(open(command), uri, args, options),
    );
  common(program.command("why"))
    .description("list all evidence for an agent's parent and status, and what decided")
    .argument("<uri>", URI)
    .action((uri: string, _: object, command: Command) => why(open(command), uri));
  common(program.command("verify"))
    .description("compare retinue's sums with the totals that the product reports; exit 1 if they differ")
    .argument("[uri]", URI)
    .action((uri: string | undefined, _: object, command: Command) => verify(open(command), uri));
  common(program.command("link"))
    .description("set an agent's parent manually; overrides all other evidence")
    .argument("<child>", URI)
    .argument("<parent>", URI)
    .action((child: string, parent: string, _: object, command: Command) => link(open(command), child, parent));
  common(program.command("unlink"))
    .description("remove a manual link")
    .argument("<child>", URI)
    .action((child: string, _: object, command: Command) => unlink(open(command), child));
  common(program.command("import"))
    .description("import a transcript from another machine, with its agents, or the JSON output of an agent's command")
    .argument("<file>", "the transcript of a thread or an agent, or the output of an agent's command; - for stdin")
    .option("--replace", "replace a different transcript of the same thread")
    .action((path: string, options: { replace?: boolean }, command: Command) =>
      importTranscript(open(command), path, options),
    );
  common(program.command("relay"))
    .description("follow a product's server and record its event stream")
    .addArgument(new Argument("<provider>", "the server's product").choices(RELAYED_NAMES))
    .option("--url <server>", "the server's URL (default: the product's usual address)")
    .addHelpText("after", RELAY_HELP)
    .action((name: string, options: RelayOptions, command: Command) => relay(open(command), name, options));
  common(program.command("proxy"))
    .description("start an API proxy that records model calls and links them to agents; prints its address")
    .option("--port <n>", "port to listen on; 0 for any free port (default: 4748)")
    .option("--host <address>", "address to listen on (default: 127.0.0.1)")
    .option(
      "--upstream <url>",
      "where to forward requests, with an optional path prefix (default: the API's own address)",
    )
    .option("--via <url>", "use this HTTP proxy to reach the upstream")
    .option("--timeout <time>", "maximum time without data from the upstream", "10m")
    .option("--token", "require a token, which the printed address contains; always required on non-loopback addresses")
    .option("--redact", "apply the redaction settings before recording")
    .option(`--limit ${LIMIT_FORM}`, LIMIT_HELP, collectLimit)
    .action(async (options: ProxyOptions, command: Command) =>
      (await import("./commands/proxy.ts")).proxy(open(command), options),
    );
  common(program.command("export"))
    .description(
      `export a tree: ${SENT_FORMATS.join(" and ")} send it, the other formats write a file; secrets are removed`,
    )
    .addArgument(new Argument("<format>", "a service or a file format").choices([...SENT_FORMATS, ...FILE_FORMATS]))
    .argument("[uri]", URI)
    .option("--out <file>", "write to this file instead of sending or printing")
    .option("--preview", "print exactly what would be sent, and send nothing")
    .option("--follow", "keep exporting new activity until interrupted; without a URI, of all threads")
    .option("--backfill", "export all threads active since --since; continues where it stopped")
    .option("--since <time>", "how far back: 2h, 3d, 1w, or a date")
    .addOption(
      new Option(
        "--old <how>",
        "what to do with turns that began more than a day ago, which LangSmith's cloud refuses",
      ).choices(OLD_TRACES),
    )
    .addOption(new Option("--level <level>", "redaction level, overriding the settings").choices(REDACTION_LEVELS))
    .addHelpText("after", EXPORT_HELP)
    // Imported on demand, as for the next two commands: no other command needs these modules.
    .action(
      async (format: SentFormat | FileFormat, uri: string | undefined, options: ExportOptions, command: Command) =>
        (await import("./commands/export.ts")).exportTree(open(command), format, uri, options),
    );
  common(program.command("outbox"))
    .description("list the items waiting to be sent, with the reason")
    .option("--retry", "send waiting and refused items again now")
    .option("--drop", "delete refused items")
    .option("--limit <n>", "items per destination", "10")
    .action(async (options: OutboxOptions, command: Command) =>
      (await import("./commands/outbox.ts")).outbox(open(command), options),
    );
  common(program.command("ship"))
    .description("send this machine's records and events to a team server, and keep sending; secrets are removed")
    .option("--to <url>", "the team server's address (default: team.url of the settings)")
    .option("--once", "send what there is; exit 0 when all of it was acknowledged")
    .option("--status", "list what waits to be sent, and why")
    .option("--dry-run", "print exactly what would be sent, one document a line, and send nothing")
    .addHelpText("after", SHIP_HELP)
    .action(async (options: ShipOptions, command: Command) =>
      (await import("./commands/ship.ts")).ship(open(command), options),
    );
  common(program.command("hook"))
    .description("called by agents' hooks: records the payload from stdin and notifies the server; prints nothing")
    .option("--flush", "send new turns, if tracing is enabled")
    .option("--stay", "with --flush: wait until running turns have ended")
    .option("--lineage", "print the command of a shell call with the ids of its agent in the environment")
    .action(async (options: HookOptions, command: Command) =>
      (await import("./commands/hook.ts")).hook(open(command), options),
    );
  common(program.command("token"))
    .description(
      "print the access token of the server or proxy, for systems that do not report the owner of a connection; or manage the tokens of a team server",
    )
    .addArgument(
      new Argument(
        "<action>",
        "show: print the token; link: print a URL that gives a browser access; create, list, revoke: tokens of a team server",
      ).choices([...TOKEN_ACTIONS, ...TEAM_TOKEN_ACTIONS]),
    )
    .argument("[id]", "revoke: the token's id, as list prints it")
    .option("--proxy", "the token of the proxy")
    .option("--store <url>", "the team server's PostgreSQL database")
    .option("--owner <name>", "create: the person whose threads are sent or read")
    .addOption(
      new Option(
        "--scope <scope>",
        "create: send the owner's threads, read those of the teams, or read everything",
      ).choices(SCOPES),
    )
    .option("--team <name...>", "create: the teams that the threads are shared with, or whose threads may be read")
    .option("--expires <time>", "create: until when it is valid: 90d, 1w, or a date (default: until it is revoked)")
    .addHelpText("after", TOKEN_HELP)
    .action(
      async (
        action: (typeof TOKEN_ACTIONS | typeof TEAM_TOKEN_ACTIONS)[number],
        id: string | undefined,
        options: TokenOptions & TeamTokenOptions,
        command: Command,
      ) =>
        action === "show" || action === "link"
          ? token(open(command), action, options)
          : (await import("./commands/team-token.ts")).teamToken(open(command), action, id, options),
    );
  common(program.command("db"))
    .description("manage the database of a team server")
    .addArgument(new Argument("<action>", "migrate: bring the schema up to date, as serve does").choices(["migrate"]))
    .requiredOption("--store <url>", "the PostgreSQL database")
    .action(async (_: string, options: DbOptions, command: Command) =>
      (await import("./commands/db.ts")).migrateDatabase(open(command), options),
    );
  common(program.command("guard"))
    .description("the limits in force, how much of them running threads have used, and what was refused and why")
    .option("--limit <n>", "how many refusals and warnings", "20")
    .action(async (options: GuardOptions, command: Command) =>
      (await import("./commands/guard.ts")).guard(open(command), options),
    );
  common(program.command("doctor"))
    .description("report root folders, what was found and what could not be read")
    .action((_: object, command: Command) => doctor(open(command)));
  common(program.command("completions"))
    .description("print a completion script for your shell")
    .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
    .addHelpText("after", COMPLETIONS_HELP)
    .action((shell: (typeof SHELLS)[number], _: object, command: Command) =>
      completions(open(command), program, shell),
    );
  return program;
}

/** The usage line of the command in `args`. */
export function usageFor(program: Command, args: readonly string[]): string {
  const command = program.commands.find((c) => args.includes(c.name()));
  const form = command === undefined ? "[options] <uri> or <command>" : `${command.name()} ${command.usage()}`;
  return `usage: retinue ${form} (retinue ${command === undefined ? "" : `${command.name()} `}--help for details)`;
}

function common(command: Command): Command {
  return command
    .showSuggestionAfterError(false)
    .option("--json", "print JSON")
    .option("--no-color", "no colours")
    .option("--quiet", "no messages on stderr")
    .option("--debug", "print what was read and how long it took");
}

function serving(command: Command): Command {
  return command
    .option("--port <n>", "port to listen on (default: a free one)")
    .option("--host <address>", "address to listen on; a token is required on non-loopback addresses")
    .option("--no-open", "do not open a browser");
}

/** A bare word that cannot be an id is taken for a mistyped command. */
const isWord = (word: string) =>
  /^[a-z][\w-]*$/i.test(word) && word !== "latest" && !/^(?:[\da-f-]{6,}|ses_.*)$/i.test(word);

function checked(uri: string, program: Command): string {
  if (isWord(uri)) throw unknownCommand(uri, program);
  return uri;
}

function unknownCommand(word: string, program: Command): Failure {
  const names = program.commands.map((c) => c.name());
  const suggestion = nearest(word, names);
  return new Failure("usage", `unknown command ${JSON.stringify(word)}: neither a command nor a URI`, [
    suggestion === null ? `commands: ${names.join(", ")}` : `did you mean: retinue ${suggestion}`,
  ]);
}

/** The parser reports the arguments after an unknown command; the error should name the command. */
export function withUnknownCommand(error: unknown, program: Command): unknown {
  const [first] = program.args;
  const isParserError =
    error instanceof CommanderError && ["commander.excessArguments", "commander.unknownOption"].includes(error.code);
  const isKnown = first === undefined || first === "help" || program.commands.some((c) => c.name() === first);
  return isParserError && !isKnown && isWord(first) ? unknownCommand(first, program) : error;
}
