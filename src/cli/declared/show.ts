/** Commands that print threads, agents and what is known about them. */
import { type Command, Option } from "commander";
import { PROVIDER_NAMES } from "../../app/machine.ts";
import { GROUPS } from "../../core/views/stats.ts";
import { type EventsOptions, events } from "../commands/events.ts";
import { type ExplainOptions, explain } from "../commands/explain.ts";
import { type FilesOptions, files } from "../commands/files.ts";
import { type LsOptions, ls } from "../commands/ls.ts";
import { type SearchOptions, search } from "../commands/search.ts";
import { type StatsOptions, stats } from "../commands/stats.ts";
import { type TreeOptions, tree } from "../commands/tree.ts";
import { verify } from "../commands/verify.ts";
import { watch } from "../commands/watch.ts";
import { why } from "../commands/why.ts";
import { common, type Declare, URI } from "./common.ts";

const declareLs: Declare = (program, open) => {
  common(program.command("ls"))
    .description("recent top-level threads: status, agents, tokens, cost, title")
    .addOption(new Option("--provider <name>", "only threads of this product").choices(PROVIDER_NAMES))
    .option("--cwd <folder>", "only threads in this folder or below")
    .option("--since <time>", "only threads active since then: 30m, 2h, 3d, 1w, or a date")
    .option("--limit <n>", "maximum number of threads", "20")
    .option("--all", "list all threads, after reading everything")
    .option("--running", "only running threads")
    .option("--wait", "read everything first; by default only the files of the listed threads are read")
    .action((options: LsOptions, command: Command) => ls(open(command), options));
};

const declareTree: Declare = (program, open) => {
  common(program.command("tree"))
    .description("print the tree of agents, with own and subtree usage")
    .argument("<uri>", URI)
    .option("--all", "print every agent; by default, completed ones of many siblings are folded")
    .option("--timeline", "when each agent worked or waited, and the critical path")
    .action((uri: string, options: TreeOptions, command: Command) => tree(open(command), uri, options));
};

const declareExplain: Declare = (program, open) => {
  common(program.command("explain"))
    .description("what went wrong or was wasted, with the records that show it")
    .argument("[uri]", URI)
    .option("--since <time>", "sum up all threads since then instead: 30m, 2h, 3d, 1w, or a date")
    .option("--all", "print all lines of long lists, and times and costs even if there is nothing to report")
    .action((uri: string | undefined, options: ExplainOptions, command: Command) =>
      explain(open(command), uri, options),
    );
};

const declareFiles: Declare = (program, open) => {
  common(program.command("files"))
    .description("files that an agent and the agents below it read and changed")
    .argument("<uri>", URI)
    .option("--own", "only this agent")
    .option("--diff", "print the changes that the records contain")
    .action((uri: string, options: FilesOptions, command: Command) => files(open(command), uri, options));
};

const declareEvents: Declare = (program, open) => {
  common(program.command("events"))
    .description("print events, one JSON object per line")
    .argument("<uri>", URI)
    .option("--subtree", "include the agents below")
    .option("--follow", "keep printing new events until interrupted")
    .action((uri: string, options: EventsOptions, command: Command) => events(open(command), uri, options));
};

const declareCompare: Declare = (program, open) => {
  common(program.command("compare"))
    .description("compare two trees agent by agent, or two groups of threads with their spread")
    .argument("<left>", "a URI; for a group several, separated by commas")
    .argument("<right>", "the other side: a URI, or several separated by commas")
    .action(async (left: string, right: string, _options: object, command: Command) =>
      (await import("../commands/compare.ts")).compare(open(command), left, right),
    );
};

const declareSearch: Declare = (program, open) => {
  common(program.command("search"))
    .description("search messages, prompts and tool calls")
    .argument("<words...>", "all words must occur; the last one may be a prefix")
    .option("--limit <n>", "maximum number of results", "20")
    .option("--wait", "index all text first; by default, at most 64 MB of new text is indexed, newest first")
    .action((words: string[], options: SearchOptions, command: Command) => search(open(command), words, options));
};

const declareStats: Declare = (program, open) => {
  common(program.command("stats"))
    .description("tokens, cost, time and outcome by day, model, agent type, project and template")
    .addOption(new Option("--by <what>", "group by this only").choices(GROUPS))
    .option("--since <time>", "only usage since then: 2h, 3d, 1w, or a date")
    .option("--limit <n>", "lines per group", "10")
    .action((options: StatsOptions, command: Command) => stats(open(command), options));
};

const declareWatch: Declare = (program, open) => {
  common(program.command("watch"))
    .description("the live tree in the terminal; press ? for help")
    .argument("[uri]", URI)
    .action((uri: string | undefined, _: object, command: Command) => watch(open(command), uri));
};

const declareWhy: Declare = (program, open) => {
  common(program.command("why"))
    .description("list all evidence for an agent's parent and status, and what decided")
    .argument("<uri>", URI)
    .action((uri: string, _: object, command: Command) => why(open(command), uri));
};

const declareVerify: Declare = (program, open) => {
  common(program.command("verify"))
    .description("compare retinue's sums with the totals that the product reports; exit 1 if they differ")
    .argument("[uri]", URI)
    .action((uri: string | undefined, _: object, command: Command) => verify(open(command), uri));
};

export const SHOWING: readonly Declare[] = [
  declareLs,
  declareTree,
  declareExplain,
  declareFiles,
  declareEvents,
  declareCompare,
  declareSearch,
  declareStats,
  declareWatch,
  declareWhy,
  declareVerify,
];
