import type { Observation } from "../core/observation.ts";
import type { FileState } from "../core/store.ts";

/** A batch may only go on from exactly what is stored. */
export function continues(stored: FileState | null, before: FileState | null): boolean {
  if (stored === null || before === null) return stored === before;
  return stored.generation === before.generation && stored.offset === before.offset && stored.size === before.size && stored.gone === before.gone;
}

/** It is there, and there is more in it than was read; or nothing at all is in it. */
export const isUnfinished = ({ gone, size, offset }: FileState) => !gone && (size === 0 || offset < size);

/** A file that grew since it was introduced is shown as large as it is; one that is gone is shown as gone. */
export function asItStands(o: Observation, file: Pick<FileState, "size" | "offset" | "gone">): Observation {
  if (o.type !== "agent-described" || o.file === undefined) return o;
  return {
    ...o,
    file: { ...o.file, bytes: file.size, readTo: file.offset },
    ...(file.gone ? { warning: "its transcript has been deleted; this is what it said" } : {}),
  };
}

/** The words of a text, as a search sees them: letters and digits, in small letters. */
export const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
