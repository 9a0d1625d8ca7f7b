import type { Portable, Recognised } from "../../core/ports/provider.ts";
import { asObject, parseJson } from "../../core/tools/json.ts";
import { isSessionId } from "./locate.ts";
import { CONVERSATION, type Row, readRow } from "./rows.ts";

/** A transcript from another machine. Its records name the thread; ids are used in file names only if they are safe. */
export const portable: Portable = {
  form: "<session>.jsonl or agent-<id>.jsonl, in which a record is a line of JSON with uuid, sessionId and isSidechain",
  recognise(name, head) {
    const first = firstRecord(head);
    if (first === null) return null;
    const stem = name.replace(/\.jsonl$/i, "");
    const session = isSessionId(stem) ? stem : first.sessionId;
    if (session === null || !isName(session)) return null;
    // Up to 2.0.24 a thread may begin with a sidechain record, too; such records name no agent.
    const agent =
      isSessionId(stem) || first.isSidechain !== true
        ? null
        : (first.agentId ?? /^agent-(.+)$/.exec(stem)?.[1] ?? null);
    return agent === null ? threadFile(session, stem) : isName(agent) ? agentFile(session, agent, stem) : null;
  },
};

/** One folder per session: agents of different sessions may have the same short id. */
const folderOf = (session: string) => `projects/${session}`;

function threadFile(session: string, stem: string): Recognised {
  return {
    thread: session,
    agent: null,
    folder: folderOf(session),
    file: `${session}.jsonl`,
    beside: [...new Set([stem, session])].map((name) => ({ name, to: session })),
    // 2.0.28 to 2.1.1 put agents next to the thread.
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
