/** What the scenarios of agents that start agents are made of. A script is named by the marker in the prompt. */
import type { LineageHome, LineageScripts } from "./lineage.ts";
import { claudeCommand } from "./lineage.ts";

export interface LineageScenario {
  readonly name: string;
  /** The recording that is made of it (`fixtures/lineage`). */
  readonly fixture?: string;
  readonly scripts: LineageScripts;
  /** Of Codex. */
  readonly codexModel?: string;
  /** Files of the project, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the user does; the default is `claude -p` with the script `main`. */
  readonly act?: (home: LineageHome) => Promise<void>;
  /** The parent of every thread and agent, by script; null for a root. */
  readonly tree: Readonly<Record<string, string | null>>;
  /** The parents of several threads with the same script; null for one of the user's. */
  readonly shared?: Readonly<Record<string, readonly (string | null)[]>>;
  /** Scripts of prompts that continue the thread of another script. */
  readonly continues?: Readonly<Record<string, string>>;
  /** Claude's hook puts the ids of agent and call into the environment. */
  readonly hooked?: true;
  /** A server runs meanwhile and sees the processes. */
  readonly served?: true;
  /** Scripts of threads that the records cannot place, although an agent started one of them. */
  readonly undecided?: readonly string[];
}

export const bash = (command: string, more: object = {}) => ({
  tool: "Bash",
  input: { command, description: "Run it", ...more },
});
export const agent = (marker: string) => ({
  tool: "Agent",
  input: { description: `Task ${marker}`, prompt: `Do it. @@${marker}`, subagent_type: "general-purpose" },
});
export const shell = (cmd: string) => ({ tool: "exec_command", input: { cmd, yield_time_ms: 30_000 } });
export const codex = (marker: string, rest = "") => `codex exec "Review a.txt for me. @@${marker}"${rest}`;
export const claude = (marker: string, rest = "") => `claude -p "What is in a.txt, exactly? @@${marker}"${rest}`;
export const fine = [shell("cat a.txt"), { text: "a.txt is fine: one line, nothing to change." }];
export const looked = [{ tool: "Read", input: { file_path: "a.txt" } }, { text: "a.txt has one word, alpha." }];
export const done = { text: "All done." };

/** Runs the commands at the same time. */
export const inCode = (...commands: readonly string[]) => ({
  code: `const all = await Promise.all(${JSON.stringify(commands)}.map((cmd) => tools.exec_command({cmd, yield_time_ms: 30000}))); text(all.map((r) => r.output).join("\\n"));`,
});
export const openShell = (command: string) => ({ name: "bash", args: { command, description: "Ask" } });

/** The first request gets its answer later than the others. */
export function firstTakes(afterMs: number) {
  let asked = 0;
  return () => {
    asked += 1;
    const text = "a.txt is fine: one line, nothing to change.";
    return { blocks: [{ text }], afterMs: asked === 1 ? afterMs : 1_000 };
  };
}

/** Claude's Codex takes longer than the same command of the user, which begins and ends meanwhile. */
export function besideUser(rest = " 2>/dev/null"): Pick<LineageScenario, "scripts" | "act"> {
  return {
    scripts: { claude: { main: [bash(codex("same", rest)), done] }, codex: { same: [firstTakes(15_000)] } },
    act: async ({ start, run, reached }) => {
      const outer = start(claudeCommand("Ask Codex. @@main"));
      await reached("same", 0);
      await run(["codex", "exec", "Review a.txt for me. @@same"]);
      await outer.ended;
    },
  };
}
