import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asTime, type JsonObject } from "../../core/tools/json.ts";
import { JsonRecords } from "../kit/json-records.ts";
import * as key from "./keys.ts";
import { readEnd } from "./spawns.ts";

const documentOf = (session: string, file: SourceFile, read: (json: JsonObject, out: FindingsOf) => void) =>
  new JsonRecords(file, { speaker: () => key.session(session), read });

/** `summary.json`: folder and title. A forked session names its original as parent; that is not a spawn. */
export const summary = (session: string, file: SourceFile) =>
  documentOf(session, file, (json, out) => {
    const agent = key.session(session);
    const cwd = asNonBlank(asObject(json.info)?.cwd);
    const isChild = json.session_kind === "subagent";
    out.add({
      type: "agent-described",
      agent,
      ...(cwd === null ? {} : { cwd }),
      ...(isChild ? { kind: "subagent" as const } : {}),
    });
    if (cwd !== null && !isChild) out.addAt(asTime(json.created_at), { type: "thread-began", thread: agent, cwd });
    const title = asNonBlank(json.generated_title);
    if (title !== null && !isChild) out.add({ type: "thread-titled", of: agent, title, rank: 1 });
  });

/** `subagents/<agent>/meta.json` of the root, for agents of any depth. */
export const meta = (root: string, id: string, file: SourceFile) =>
  documentOf(root, file, (json, out) => {
    const agent = key.session(id);
    const [prompt, description, agentType] = [json.prompt, json.description, json.subagent_type].map(asNonBlank);
    out.add({
      type: "agent-described",
      agent,
      kind: "subagent",
      ...(prompt == null ? {} : { prompt }),
      ...(description == null ? {} : { description }),
      ...(agentType == null ? {} : { agentType }),
    });
    // A fallback: the root is named whatever the depth.
    out.add({
      type: "parent-named",
      child: agent,
      parent: key.session(root),
      rule: "subagents/<agent>/meta.json",
      source: "protocol",
      confidence: 0.5,
      says: `it is listed among the agents of session ${root}`,
    });
    readEnd(out, agent, json, asTime(json.completed_at), "the list of its root");
  });
