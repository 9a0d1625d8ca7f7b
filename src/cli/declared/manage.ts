/** Commands that start servers, act on agents and examine the installation. */
import { Argument, type Command } from "commander";
import { SKILLED } from "../../app/skill.ts";
import type { AttachFlags } from "../commands/attach.ts";
import { COMPLETIONS_HELP, completions, SHELLS } from "../commands/completions.ts";
import { demo } from "../commands/demo.ts";
import { doctor } from "../commands/doctor.ts";
import type { GuardOptions } from "../commands/guard.ts";
import { link, unlink } from "../commands/links.ts";
import { type ServeOptions, serve } from "../commands/serve.ts";
import type { SkillOptions } from "../commands/skill.ts";
import { common, type Declare, serving, URI } from "./common.ts";

const declareServe: Declare = (program, open) => {
  serving(common(program.command("serve")))
    .description("start the local server and open the dashboard (the default command), or a team server")
    .option(
      "--store <url>",
      "serve what a team has shipped to this PostgreSQL database, instead of this machine's threads",
    )
    .action((options: ServeOptions, command: Command) => serve(open(command), options));
};

const declareDemo: Declare = (program, open) => {
  serving(common(program.command("demo")))
    .description("open the dashboard on replayed recordings, in a temporary home")
    .action((options: ServeOptions, command: Command) => demo(open(command), options));
};

const declareSelf: Declare = (program, open) => {
  common(program.command("self"))
    .description("for agents: find the agent that runs this command, and print its tree, siblings and limits")
    .action(async (_options: object, command: Command) => (await import("../commands/self.ts")).self(open(command)));
};

const declareSkill: Declare = (program, open) => {
  common(program.command("skill"))
    .description("print a skill file that tells agents how to use retinue; --install writes it, after asking")
    .addArgument(new Argument("[provider]", "for --install: the product").choices(SKILLED))
    .option("--install", "write it to the product's skills folder")
    .option("--yes", "do not ask; a file that was edited is kept")
    .option("--force", "do not ask, and replace a file that was edited")
    .action(async (provider: string | undefined, options: SkillOptions, command: Command) =>
      (await import("../commands/skill.ts")).skill(open(command), provider, options),
    );
};

const declareAttach: Declare = (program, open) => {
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
      (await import("../commands/attach.ts")).attach(open(command), uri, args, options),
    );
};

const declareLink: Declare = (program, open) => {
  common(program.command("link"))
    .description("set an agent's parent manually; overrides all other evidence")
    .argument("<child>", URI)
    .argument("<parent>", URI)
    .action((child: string, parent: string, _: object, command: Command) => link(open(command), child, parent));
};

const declareUnlink: Declare = (program, open) => {
  common(program.command("unlink"))
    .description("remove a manual link")
    .argument("<child>", URI)
    .action((child: string, _: object, command: Command) => unlink(open(command), child));
};

const declareGuard: Declare = (program, open) => {
  common(program.command("guard"))
    .description("the limits in force, how much of them running threads have used, and what was refused and why")
    .option("--limit <n>", "maximum number of refusals and of warnings", "20")
    .action(async (options: GuardOptions, command: Command) =>
      (await import("../commands/guard.ts")).guard(open(command), options),
    );
};

const declareDoctor: Declare = (program, open) => {
  common(program.command("doctor"))
    .description("report root folders, what was found and what could not be read")
    .action((_: object, command: Command) => doctor(open(command)));
};

const declareCompletions: Declare = (program, open) => {
  common(program.command("completions"))
    .description("print a completion script for your shell")
    .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
    .addHelpText("after", COMPLETIONS_HELP)
    .action((shell: (typeof SHELLS)[number], _: object, command: Command) =>
      completions(open(command), program, shell),
    );
};

export const SERVING: readonly Declare[] = [declareServe, declareDemo];

export const MANAGING: readonly Declare[] = [
  declareSelf,
  declareSkill,
  declareAttach,
  declareLink,
  declareUnlink,
  declareGuard,
  declareDoctor,
  declareCompletions,
];
