import { asList, asObject, type JsonObject } from "../tools/json.ts";

/**
 * File changes of a tool call, recognised by the shape of its input, because every product names its tools differently.
 */
export interface Edit {
  readonly path: string | null;
  readonly before: string;
  readonly after: string;
}

export type FileChange =
  | { readonly is: "edits"; readonly edits: readonly Edit[] }
  | { readonly is: "patch"; readonly patch: string };

const BEFORE = ["old_string", "oldString", "old_text", "oldText", "old_str"] as const;
const AFTER = ["new_string", "newString", "new_text", "newText", "new_str"] as const;
export const PATH = ["file_path", "filePath", "path", "file", "filename"] as const;
const PATCH = ["patch", "input", "diff", "patchText", "command"] as const;
const PATCH_BEGINS = /^(\*\*\* Begin Patch|diff --git |--- \S[^\n]*\n\+\+\+ )/m;

export function changeOf(input: unknown): FileChange | null {
  if (typeof input === "string") return asPatch(input);
  const fields = asObject(input);
  if (fields === null) return null;
  const patch = textOf(fields, PATCH);
  const found = patch === null ? null : asPatch(patch);
  if (found !== null) return found;
  const path = textOf(fields, PATH);
  const edits = [fields, ...asList(fields.edits)].flatMap((edit) => editOf(asObject(edit), path));
  if (edits.length > 0) return { is: "edits", edits };
  const content = textOf(fields, ["content", "file_text"]);
  return path !== null && content !== null ? { is: "edits", edits: [{ path, before: "", after: content }] } : null;
}

function editOf(input: JsonObject | null, path: string | null): Edit[] {
  if (input === null) return [];
  const [before, after] = [textOf(input, BEFORE), textOf(input, AFTER)];
  return before === null || after === null ? [] : [{ path: textOf(input, PATH) ?? path, before, after }];
}

const asPatch = (text: string): FileChange | null =>
  PATCH_BEGINS.test(text.slice(0, 4_000)) ? { is: "patch", patch: text } : null;

/** The first of these fields that is a text. */
export function textOf(input: JsonObject, names: readonly string[]): string | null {
  for (const name of names) if (typeof input[name] === "string") return input[name];
  return null;
}
