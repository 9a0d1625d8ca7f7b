import { asList, asNonBlank, type JsonObject } from "../../core/tools/json.ts";
import * as key from "./keys.ts";
import { SPAWN } from "./spawns.ts";

/** `grok -p … --output-format streaming-json`: texts of all agents without ids; the last line names the session. */
export const OUTPUT = {
  names: new Set(["grok", "@xai-official/grok"]),
  format: "streaming-json",
  sessionIn(line: JsonObject) {
    const id = line.type === "end" ? asNonBlank(line.sessionId) : null;
    return id === null ? null : key.session(id);
  },
};

/** Whether Grok printed a line: the first one lists its tools. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.type === "available_commands" && asList(line.tools).includes(SPAWN) ? true : null;
