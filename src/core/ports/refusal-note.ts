import { asNonBlank, asObject, asText, type JsonObject } from "../tools/json.ts";

/** A note in a recording: retinue refused a spawn call, because of a limit. */
export interface RefusalNote {
  /** The product's id of the thread. */
  readonly session: string;
  readonly call: string;
  /** The product's id of the agent that made the call; null for the thread. */
  readonly by: string | null;
  readonly text: string;
}

export const refusalNote = ({ session, call, by, text }: RefusalNote): JsonObject => ({
  refused: { session, call, by, text },
});

export function refusalIn(note: JsonObject): RefusalNote | null {
  const refused = asObject(note.refused);
  const [session, call] = [asNonBlank(refused?.session), asNonBlank(refused?.call)];
  if (session === null || call === null) return null;
  return { session, call, by: asNonBlank(refused?.by), text: asText(refused?.text) ?? "" };
}
