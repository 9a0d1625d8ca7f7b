import type { Observation } from "../core/facts/observation.ts";
import type { FileBatch, FileState, TextPosition } from "../core/ports/store.ts";

/** A batch must continue exactly from the stored state. */
export function continues(stored: FileState | null, before: FileState | null): boolean {
  if (stored === null || before === null) return stored === before;
  return (
    stored.generation === before.generation &&
    stored.offset === before.offset &&
    stored.size === before.size &&
    stored.gone === before.gone
  );
}

/** The file exists and has unread bytes, or is empty. */
export const isUnfinished = ({ gone, size, offset }: FileState) => !gone && (size === 0 || offset < size);

/** Whether it describes an agent whose transcript is the file that contains it. */
export const describesFile = (o: Observation): o is Extract<Observation, { readonly type: "agent-described" }> =>
  o.type === "agent-described" && o.file !== undefined;

/** Whether such descriptions differ before and after a batch, also if it has no facts. */
export const isDescribedAnew = (before: FileState | null, after: FileState): boolean =>
  before !== null && (before.size !== after.size || before.offset !== after.offset || before.gone !== after.gone);

/** Updates the file size of a transcript that grew since it was described, and marks a deleted one. */
export function withFileState(o: Observation, file: Pick<FileState, "size" | "offset" | "gone">): Observation {
  if (!describesFile(o) || o.file === undefined) return o;
  return {
    ...o,
    file: { ...o.file, bytes: file.size, readTo: file.offset },
    ...(file.gone ? { warning: "its transcript was deleted; this is its content before" } : {}),
  };
}

/**
 * Where indexing of the file's text continues after a batch of its records is stored; null if all of it is indexed.
 * `due`: the same before the batch. `isAppended`: the batch does not replace the file.
 */
export function textDueAfter(
  { before, after, facts, texts }: FileBatch,
  due: TextPosition | null,
  isAppended: boolean,
): TextPosition | null {
  // A deleted file cannot be read any more.
  if (after.gone) return null;
  if (due !== null || texts !== null || facts.length === 0) return due;
  return isAppended && before !== null ? before : { offset: 0, lines: 0, parser: undefined };
}

/** The words of a text for searching: letters and digits, in lower case. */
export const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
