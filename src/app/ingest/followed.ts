import { existsSync, realpathSync } from "node:fs";
import type { Provider, Stream } from "../../core/ports/provider.ts";
import { decodeText, parseJson } from "../../core/tools/json.ts";
import { readIfThere } from "../../transports/files.ts";
import { basename, dirname, inside, isAbsolute, normal } from "../../transports/system/paths.ts";
import { type Env, type FollowedPlace, followedRoots } from "../home.ts";

/** A transcript that a hook named and that is outside of the product's folders. */
export interface LooseTranscript {
  readonly file: string;
  readonly session: string;
}

export interface Followed {
  readonly roots: readonly string[];
  /** By folder. */
  readonly loose: ReadonlyMap<string, readonly LooseTranscript[]>;
}

const NOTHING: Followed = { roots: [], loose: new Map() };

/** Places that live sources named, beyond the provider's own roots (`usual`). */
export function followedPlaces(env: Env, provider: Provider, usual: readonly string[]): Followed {
  const list = provider.recorded === undefined ? null : readIfThere(followedRoots(env, provider.name));
  if (list === null) return NOTHING;
  const places = decodeText(list).text.split("\n").flatMap(placeIn);
  const roots = places
    .filter((place) => typeof place === "string")
    .filter((root) => isAbsolute(root) && existsSync(root));
  const known = [...usual, ...roots].flatMap((root) =>
    existsSync(root) ? [root, normal(realpathSync(root))] : [root],
  );
  // Files in the product's own folders are found there.
  const isKnown = (path: string) =>
    known.some((root) => {
      const below = inside(root, path);
      return below !== null && provider.stream(below) !== null;
    });
  const loose = places
    .filter((place) => typeof place !== "string")
    .filter(({ transcript }) => isAbsolute(transcript) && existsSync(dirname(transcript)) && !isKnown(transcript));
  const byFolder = Map.groupBy(loose, ({ transcript }) => dirname(transcript));
  return {
    roots,
    loose: new Map(
      [...byFolder].map(([folder, found]) => [
        folder,
        found.map(({ transcript, session }) => ({ file: basename(transcript), session })),
      ]),
    ),
  };
}

function placeIn(line: string): FollowedPlace[] {
  if (line === "") return [];
  // Older versions wrote folders without quotes.
  if (isAbsolute(line)) return [normal(line)];
  const value = parseJson(line)?.value;
  if (typeof value === "string") return [normal(value)];
  const { transcript, session } = (value ?? {}) as { transcript?: unknown; session?: unknown };
  return typeof transcript === "string" && typeof session === "string"
    ? [{ transcript: normal(transcript), session }]
    : [];
}

/** Folders to search next to loose transcripts. */
export const foldersBeside = (provider: Provider, loose: readonly LooseTranscript[]): readonly string[] => [
  ...new Set(loose.flatMap(({ file, session }) => provider.beside?.(file, session).folders ?? [])),
];

/** The stream of a file next to loose transcripts; null if it belongs to none of them. */
export function looseStream(provider: Provider, loose: readonly LooseTranscript[], path: string): Stream | null {
  for (const { file, session } of loose) {
    const name = provider.beside?.(file, session).inRoot(path) ?? null;
    if (name !== null) return provider.stream(name);
  }
  return null;
}
