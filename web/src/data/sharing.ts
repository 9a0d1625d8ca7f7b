import { isInShared } from "../../../src/core/tools/recorded-path.ts";
import type { AgentRecord, Sharing } from "./types.ts";

export const LEVEL_LABELS: Readonly<Record<Sharing["level"], string>> = {
  full: "everything except secrets",
  "no-tool-output": "without tool results",
  metadata: "without texts",
};

/** The address of the team server without the protocol. */
export const serverName = ({ url }: Sharing) => url.replace(/^https?:\/\//, "");

export const isSharedThread = ({ projects, ignoresCase }: Sharing, { cwd }: Pick<AgentRecord, "cwd">) =>
  isInShared(projects, cwd, ignoresCase);
