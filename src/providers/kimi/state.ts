import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime } from "../../core/tools/json.ts";
import { JsonRecords } from "../kit/json-records.ts";
import * as key from "./keys.ts";

/** `state.json` of a session: its folder, title and agents. Rewritten as a whole. */
export function sessionState(session: string, file: SourceFile): Parser {
  const thread = key.agent(session, key.MAIN);
  return new JsonRecords(file, {
    speaker: () => thread,
    at: (json) => asTime(json.createdAt),
    read(json, out) {
      const at = asTime(json.createdAt);
      const [cwd, title] = [asNonBlank(json.cwd), asNonBlank(json.title)];
      if (cwd !== null) {
        out.addOfFile({ type: "agent-described", agent: thread, cwd });
        if (at !== null) out.add({ type: "thread-began", thread, cwd });
      }
      if (title !== null)
        out.addOfFile({ type: "thread-titled", of: thread, title, rank: json.isCustomTitle === true ? 0 : 1 });
      const source = asNonBlank(json.forkedFrom) ?? asNonBlank(asObject(json.custom)?.forkedFrom);
      if (source !== null)
        out.addOfFile({ type: "agent-described", agent: thread, forkedFrom: key.agent(source, key.MAIN) });
      for (const [id, value] of Object.entries(asObject(json.agents) ?? {})) {
        const one = asObject(value);
        const parent = asNonBlank(one?.parentAgentId);
        if (one === null || id === key.MAIN || asText(one.type) === "main") continue;
        const type = asNonBlank(asObject(one.labels)?.profileName);
        const agent = key.agent(session, id);
        out.addOfFile({
          type: "agent-described",
          agent,
          vouched: true,
          ...(type === null ? {} : { agentType: type }),
          ...(cwd === null ? {} : { cwd }),
        });
        if (parent !== null)
          out.addOfFile({
            type: "parent-named",
            child: agent,
            parent: key.agent(session, parent),
            rule: "state.agents.parentAgentId",
            source: "protocol",
            confidence: 1,
            says: `the state of its session names ${parent} as its parent`,
          });
      }
    },
  });
}
