import { agentWriter, mainWriter, metaFile, SESSION, THREAD_FILE, text, toolUse } from "../claude-records.ts";
import { type SpoilableHome, spoilable } from "./homes.ts";

/**
 * Control sequences (CSI, OSC for titles, links and the clipboard, C1, DEL) and deceptive characters (bidi controls,
 * zero-width characters, tags).
 */
export const EVIL =
  "\u001b[31m\u001b]0;title\u0007\u001b]52;c;ZXZpbA==\u001b\\\u001b]8;;http://evil.invalid\u0007\u009b2J\u009d0;x\u009c\u007f\u0085\u0090\r\n\u202eevil\u2066\u200b\u{e0041}\ufeff\u0000\u001b[";

/** All control characters except line breaks and tabs. */
export const OBEYED =
  /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/u;

export interface HostileHome extends SpoilableHome {
  readonly uri: string;
  /** The id of the agent below it, which is also hostile. */
  readonly agentId: string;
}

/** A home whose only thread has hostile text in every text field. */
export function hostileHome(folder: string): HostileHome {
  const home = spoilable(folder, "a-single");
  const agentId = `a0b1${EVIL}`;
  const call = "toolu_0123456789abcdef";
  const surroundings = { cwd: `/home/dev/${EVIL}`, gitBranch: EVIL, version: `2.1.200${EVIL}` };
  const main = mainWriter();
  const agent = agentWriter("a2c3");
  const lines = [
    main.user(`Begin ${EVIL}`, surroundings),
    { type: "custom-title", customTitle: EVIL, sessionId: SESSION },
    main.assistant([toolUse(call, "Agent", { prompt: EVIL, description: EVIL, subagent_type: EVIL, name: EVIL })], {
      model: EVIL,
      stop_reason: "tool_use",
    }),
    main.result(call, EVIL, { toolUseResult: { status: "completed", agentId, name: EVIL } }),
    main.result(call, EVIL, {}, true),
    { type: EVIL },
    main.assistant([text(`Answer ${EVIL}`), toolUse(`toolu_${EVIL}0123456789`, EVIL, { path: EVIL })], {
      model: EVIL,
      stop_reason: "tool_use",
    }),
    main.result(`toolu_${EVIL}0123456789`, EVIL),
    main.assistant([text(`Done ${EVIL}`)]),
  ];
  home.put(THREAD_FILE, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  home.put(
    THREAD_FILE.replace(".jsonl", "/subagents/agent-a2c3.jsonl"),
    `${JSON.stringify(agent.assistant([toolUse(call, EVIL)], { stop_reason: "tool_use" }))}\n`,
  );
  home.put(
    metaFile("a2c3"),
    JSON.stringify({ agentType: EVIL, name: EVIL, description: EVIL, parentAgentId: agentId }),
  );
  return { ...home, uri: `claude://${SESSION}`, agentId };
}
