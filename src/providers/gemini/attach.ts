import { ANONYMOUS } from "../../core/facts/ids.ts";
import { type Attach, isBefore, type Resuming, type TranscriptRecord } from "../../core/ports/attach.ts";
import { asList, asNonBlank, asObject, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { attachCommand } from "../kit/gemini-cli.ts";

const decoder = new TextDecoder();

/**
 * `--session-file` begins a new session with the messages of a file. The head of a sub-agent's file marks it as
 * one, and the new session would inherit that, so a copy with another head is used. Tried with 0.61.0.
 */
export const attach: Attach = {
  *resume(agent, ask): Resuming {
    const { until } = ask;
    if (until !== null && until.offset === null)
      return { unable: "its transcript is one document, which cannot be cut" };
    if (agent.agent?.startsWith(ANONYMOUS)) return { unable: "this version of Gemini CLI did not give it an id" };
    const wanted = until === null ? agent.files : agent.files.filter(({ path }) => path === until.path);
    for (const { path } of wanted) {
      const found = yield path;
      if (found === null) continue;
      const records = mainSession(jsonIn(found.filter((record) => isBefore(until, path, record))));
      if (!records.some((record) => asNonBlank(record.id) !== null || asList(record.messages).length > 0))
        return { unable: "its transcript has no messages" };
      const copy = ask.copyAt(`${ask.id}.jsonl`);
      return {
        command: attachCommand("gemini", ["--session-file", copy], agent.model, ask),
        copies: [{ path: copy, records: records.map((record) => JSON.stringify(record)) }],
        limits: agent.isBelow ? ["Gemini CLI gives it the main agent's instructions and tools"] : [],
      };
    }
    return { unable: "its transcript no longer exists" };
  },
  begin: (message, { model }, ask) => attachCommand("gemini", [], model, { ...ask, message }),
};

const jsonIn = (records: readonly TranscriptRecord[]) =>
  records.map(({ bytes }) => asObject(parseJson(decoder.decode(bytes))?.value)).filter((json) => json !== null);

/** The records as those of a main session. */
function mainSession(records: readonly JsonObject[]): JsonObject[] {
  return records.flatMap((record) => {
    const set = asObject(record.$set);
    // The last record of a failed agent removes its messages, that of a completed one adds a summary.
    if (set !== null && "messages" in set && asList(set.messages).length === 0) return [];
    if (set !== null && "summary" in set) return [];
    return [asNonBlank(record.sessionId) === null ? record : { ...record, kind: "main" }];
  });
}
