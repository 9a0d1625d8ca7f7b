import { shellCommand } from "../tools/shell.ts";

/** The command that continues an agent, as people type it. */
export const attachCommand = (uri: string) => shellCommand(["retinue", "attach", uri]);
