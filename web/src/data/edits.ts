import { asObject } from "../../../src/core/tools/json.ts";
import { PATH, textOf } from "../../../src/core/views/file-change.ts";

export { changeOf, type Edit, type FileChange } from "../../../src/core/views/file-change.ts";

/** The most significant value of a tool input, as a summary. */
export function gist(input: unknown): string {
  if (typeof input === "string") return input;
  const fields = asObject(input);
  if (fields === null) return input === null || input === undefined ? "" : JSON.stringify(input);
  const significant = textOf(fields, [
    "description",
    "command",
    "cmd",
    ...PATH,
    "pattern",
    "query",
    "url",
    "prompt",
    "message",
    "skill",
    "name",
  ]);
  if (significant !== null) return significant;
  const first = Object.values(fields).find((value) => typeof value === "string" && value !== "");
  return typeof first === "string" ? first : JSON.stringify(input);
}
