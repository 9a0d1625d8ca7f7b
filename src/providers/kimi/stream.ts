import { asNonBlank, type JsonObject } from "../../core/tools/json.ts";
import * as key from "./keys.ts";

/** `kimi -p … --output-format stream-json`: messages without ids; the last line names the session. */
export const OUTPUT = {
  names: new Set(["kimi", "@moonshot-ai/kimi-code"]),
  format: "stream-json",
  sessionIn(line: JsonObject) {
    const id = line.type === "session.resume_hint" ? asNonBlank(line.session_id) : null;
    return id === null ? null : key.agent(id, key.MAIN);
  },
};

/** Whether Kimi Code printed a line: the first one has its version. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.role === "meta" && line.type === "system.version" ? true : null;
