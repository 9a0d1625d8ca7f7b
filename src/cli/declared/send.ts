/** Commands that send records to other services, and manage access to them. */
import { Argument, type Command, Option } from "commander";
import { SENT_FORMATS, type SentFormat } from "../../app/export/destinations/index.ts";
import { FILE_FORMATS, type FileFormat, OLD_TRACES } from "../../app/export/formats.ts";
import { SCOPES } from "../../core/ports/team.ts";
import { REDACTION_LEVELS } from "../../core/redaction/redaction.ts";
import type { BudgetAction, BudgetOptions } from "../commands/budget.ts";
import type { DbAction, DbOptions } from "../commands/db.ts";
import type { ExportOptions } from "../commands/export.ts";
import type { OutboxOptions } from "../commands/outbox.ts";
import type { ShipOptions } from "../commands/ship.ts";
import type { TeamTokenOptions } from "../commands/team-token.ts";
import { TEAM_TOKEN_ACTIONS, TOKEN_ACTIONS, TOKEN_HELP, type TokenOptions, token } from "../commands/token.ts";
import { EXPORT_HELP } from "../export-help.ts";
import { common, type Declare, URI } from "./common.ts";

const SHIP_HELP =
  "\nThe token is RETINUE_TEAM_TOKEN, else the content of the file that team.token_file names. team.share.projects and team.share.level decide what leaves this machine. With team.url set, retinue serve sends as well.";

const declareExport: Declare = (program, open) => {
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
        (await import("../commands/export.ts")).exportTree(open(command), format, uri, options),
    );
};

const declareOutbox: Declare = (program, open) => {
  common(program.command("outbox"))
    .description("list the items waiting to be sent, with the reason")
    .option("--retry", "send waiting and refused items again now")
    .option("--drop", "delete refused items")
    .option("--limit <n>", "items per destination", "10")
    .action(async (options: OutboxOptions, command: Command) =>
      (await import("../commands/outbox.ts")).outbox(open(command), options),
    );
};

const declareShip: Declare = (program, open) => {
  common(program.command("ship"))
    .description("send this machine's records and events to a team server, and keep sending; secrets are removed")
    .option("--to <url>", "the team server's address (default: team.url of the settings)")
    .option("--once", "send what there is; exit 0 when all of it was acknowledged")
    .option("--status", "list what is waiting to be sent, and why")
    .option("--dry-run", "print exactly what would be sent, one document per line, and send nothing")
    .addHelpText("after", SHIP_HELP)
    .action(async (options: ShipOptions, command: Command) =>
      (await import("../commands/ship.ts")).ship(open(command), options),
    );
};

const declareToken: Declare = (program, open) => {
  common(program.command("token"))
    .description(
      "print the access token of the server or proxy, for systems that do not report the owner of a connection; or manage the tokens of a team server",
    )
    .addArgument(
      new Argument(
        "<action>",
        "show: print the token; link: print a URL that gives a browser access; create, list, revoke: tokens of a team server; unshare: end the sharing of a person's threads with teams",
      ).choices([...TOKEN_ACTIONS, ...TEAM_TOKEN_ACTIONS]),
    )
    .argument("[id]", "revoke: the token's id, as list prints it")
    .option("--proxy", "the token of the proxy")
    .option("--store <url>", "the team server's PostgreSQL database")
    .option(
      "--owner <name>",
      "create: the person whose threads are sent or read; unshare: the person whose threads are no longer shared",
    )
    .addOption(
      new Option(
        "--scope <scope>",
        "create: send the owner's threads, read those of the teams, or read everything",
      ).choices(SCOPES),
    )
    .option(
      "--team <name...>",
      "create: the teams that the threads are shared with, or whose threads may be read; unshare: the teams that no longer see them",
    )
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
          : (await import("../commands/team-token.ts")).teamToken(open(command), action, id, options),
    );
};

const declareDb: Declare = (program, open) => {
  common(program.command("db"))
    .description("manage the database of a team server")
    .addArgument(
      new Argument(
        "<action>",
        "migrate: bring the schema up to date, as serve does; distribute: divide the tables by owner over the nodes of a Citus cluster; prune: drop old events",
      ).choices(["migrate", "distribute", "prune"]),
    )
    .option("--store <url>", "the PostgreSQL database")
    .option("--older-than <time>", "prune: months of events that ended longer ago than this, such as 180d")
    .option("--print", "distribute: print the statements, and change nothing")
    .action(async (action: DbAction, options: DbOptions, command: Command) =>
      (await import("../commands/db.ts")).db(open(command), action, options),
    );
};

const declareBudget: Declare = (program, open) => {
  common(program.command("budget"))
    .description("list, set and remove monthly budgets of people, teams and projects, for the pages of a team server")
    .addArgument(new Argument("<action>", "what to do").choices(["list", "set", "remove"]))
    .option("--store <url>", "the team server's PostgreSQL database")
    .option("--owner <name>", "the budget of a person")
    .option("--team <name>", "the budget of everyone who shares with this team")
    .option("--project <name>", "the budget of a project, over all people")
    .option("--usd <n>", "set: US dollars in a calendar month (UTC)")
    .action(async (action: BudgetAction, options: BudgetOptions, command: Command) =>
      (await import("../commands/budget.ts")).budget(open(command), action, options),
    );
};

export const SENDING: readonly Declare[] = [
  declareExport,
  declareOutbox,
  declareShip,
  declareToken,
  declareDb,
  declareBudget,
];
