import { Command } from "commander";
import { tree } from "./commands/tree.ts";
import { openContext } from "./context.ts";
const program = new Command("retinue");
program.command("tree").argument("<uri>").option("--json").option("--all").action(async (uri, o) => tree(openContext(o), uri, o));
await program.parseAsync();
