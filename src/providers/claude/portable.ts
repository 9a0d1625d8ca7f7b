import { asObject, parseJson } from "../../core/json.ts";
import type { Portable, Recognised } from "../../core/provider.ts";
import { isSessionId } from "./locate.ts";
import { CONVERSATION, type Row, readRow } from "./rows.ts";

/** A transcript from another machine. Its records say whose it is, and are believed only as far as they make a harmless name for a file. */
export const portable: Portable = {
  form: "<session>.jsonl or agent-<id>.jsonl, in which a record is a line of JSON with uuid, sessionId and isSidechain",
  recognise(name, head) {
    const first = firstRecord(head);
    if (first === null) return null;
    const stem = name.replace(/\.jsonl$/i, "");
    const session = isSessionId(stem) ? stem : first.sessionId;
    if (session === null || !isName(session)) return null;
    // A thread whose name is lost begins with a sidechain too, up to 2.0.24; its records name no agent.
    const agent = isSessionId(stem) || first.isSidechain !== true ? null : (first.agentId ?? /^agent-(.+)$/.exec(stem)?.[1] ?? null);
    return agent === null ? threadFile(session, stem) : isName(agent) ? agentFile(session, agent, stem) : null;
  },
};

/** A folder of its own for each session: agents of different sessions may have the same short id. */
const folderOf = (session: string) => `projects/${session}`;

function threadFile(session: string, stem: string): Recognised {
  return {
    thread: session,
    agent: null,
    folder: folderOf(session),
    file: `${session}.jsonl`,
    beside: [...new Set([stem, session])].map((name) => ({ name, to: session })),
    // 2.0.28 to 2.1.1 lay agents beside the thread.
    parts: /^agent-.+\.jsonl$/,
  };
}

function agentFile(session: string, agent: string, stem: string): Recognised {
  const file = `${session}/subagents/agent-${agent}`;
  return {
    thread: session,
    agent,
    folder: folderOf(session),
    file: `${file}.jsonl`,
    beside: [{ name: `${stem}.meta.json`, to: `${file}.meta.json` }],
    parts: null,
  };
}

function firstRecord(head: Uint8Array): Row | null {
  for (const line of new TextDecoder().decode(head).split("\n")) {
    const json = asObject(parseJson(line)?.value);
    if (json === null) continue;
    const row = readRow(json);
    if (CONVERSATION.has(row.type) && row.uuid !== null && row.isSidechain !== null) return row;
  }
  return null;
}

const isName = (id: string) => /^[\w@-][\w.@-]{0,127}$/.test(id);
