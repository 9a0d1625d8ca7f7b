/** Commands that bring records in: wrapped commands, hooks, servers, the API proxy, imports. */
import { Argument, type Command, Option } from "commander";
import { HOOKABLE } from "../../app/hooks/hook-install.ts";
import { RELAYED_NAMES } from "../../app/relay/relayed.ts";
import type { HookOptions } from "../commands/hook.ts";
import { type HooksOptions, hooks } from "../commands/hooks.ts";
import { importTranscript } from "../commands/import.ts";
import type { ProxyOptions } from "../commands/proxy.ts";
import { RELAY_HELP, type RelayOptions, relay } from "../commands/relay.ts";
import { EVENT_FORMATS, type RunOptions, run } from "../commands/run.ts";
import { collectLimit, LIMIT_FORM, LIMIT_HELP } from "../limit-option.ts";
import { common, type Declare } from "./common.ts";

const declareStatusline: Declare = (program, _open, host) => {
  program
    .command("statusline")
    .description(
      "print text for a product's status line, or for each row of its agent list; reads the request from stdin",
    )
    .action(async () => void host.stdout.write(await (await import("../statusline.ts")).statusline(host.env)));
};

const declareRun: Declare = (program, open) => {
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
};

const declareHooks: Declare = (program, open) => {
  common(program.command("hooks"))
    .description("install or uninstall retinue's hooks; shows the change to the product's settings and asks first")
    .addArgument(new Argument("<action>", "install or uninstall").choices(["install", "uninstall"]))
    .addArgument(new Argument("<provider>", "the product").choices(HOOKABLE))
    .option("--yes", "do not ask")
    .option("--lineage", "also name session, agent and call in the environment of shell commands that may start agents")
    .action((action: "install" | "uninstall", provider: string, options: HooksOptions, command: Command) =>
      hooks(open(command), action, provider, options),
    );
};

const declareHook: Declare = (program, open) => {
  common(program.command("hook"))
    .description(
      "called by agents' hooks: records the payload from stdin and notifies the server; prints nothing unless a limit is exceeded",
    )
    .option("--flush", "send new turns, if tracing is enabled")
    .option("--stay", "with --flush: wait until running turns have ended")
    .option("--lineage", "print the command of a shell call with the ids of its agent in the environment")
    .action(async (options: HookOptions, command: Command) =>
      (await import("../commands/hook.ts")).hook(open(command), options),
    );
};

const declareImport: Declare = (program, open) => {
  common(program.command("import"))
    .description("import a transcript from another machine, with its agents, or the JSON output of an agent's command")
    .argument("<file>", "the transcript of a thread or an agent, or the output of an agent's command; - for stdin")
    .option("--replace", "replace a different transcript of the same thread")
    .action((path: string, options: { replace?: boolean }, command: Command) =>
      importTranscript(open(command), path, options),
    );
};

const declareRelay: Declare = (program, open) => {
  common(program.command("relay"))
    .description("follow a product's server and record its event stream")
    .addArgument(new Argument("<provider>", "the server's product").choices(RELAYED_NAMES))
    .option("--url <server>", "the server's URL (default: the product's usual address)")
    .addHelpText("after", RELAY_HELP)
    .action((name: string, options: RelayOptions, command: Command) => relay(open(command), name, options));
};

const declareProxy: Declare = (program, open) => {
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
      (await import("../commands/proxy.ts")).proxy(open(command), options),
    );
};

export const RECORDING: readonly Declare[] = [
  declareStatusline,
  declareRun,
  declareHooks,
  declareHook,
  declareImport,
  declareRelay,
  declareProxy,
];
