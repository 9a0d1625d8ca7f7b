import { Command, CommanderError } from "commander";
import { Failure } from "../app/failure.ts";
import type { Library } from "../app/ingest/library.ts";
import { productVersion } from "../app/version.ts";
import { nearest } from "../core/tools/nearest.ts";
import { type ServeOptions, serve } from "./commands/serve.ts";
import { type ShowOptions, show } from "./commands/show.ts";
import { type CommonOptions, type Context, openContext } from "./context.ts";
import { common, serving, URI } from "./declared/common.ts";
import { MANAGING, SERVING } from "./declared/manage.ts";
import { RECORDING } from "./declared/record.ts";
import { SENDING } from "./declared/send.ts";
import { SHOWING } from "./declared/show.ts";
import { settingsHelp } from "./settings-help.ts";
import type { Host } from "./terminal.ts";

/** `onOpen` gets the library of the command that is run. */
export function buildProgram(host: Host = process, onOpen: (library: Library) => void = () => {}): Command {
  const open = (command: Command): Context => openContext(commonOptions(command), host, onOpen);
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

  for (const declare of [...SERVING, ...SHOWING, ...RECORDING, ...SENDING, ...MANAGING]) declare(program, open, host);
  return program;
}

/** Common options are accepted before and after the command. */
function commonOptions(command: Command): CommonOptions {
  const given = [command.opts<CommonOptions>(), command.parent?.opts<CommonOptions>() ?? {}];
  const any = (name: "json" | "quiet" | "debug") => given.some((options) => options[name] === true);
  const color = given.every((options) => options.color !== false);
  return { json: any("json"), quiet: any("quiet"), debug: any("debug"), color };
}

/** The usage line of the command in `args`. */
export function usageFor(program: Command, args: readonly string[]): string {
  const command = program.commands.find((c) => args.includes(c.name()));
  const form = command === undefined ? "[options] <uri> or <command>" : `${command.name()} ${command.usage()}`;
  return `usage: retinue ${form} (retinue ${command === undefined ? "" : `${command.name()} `}--help for details)`;
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
