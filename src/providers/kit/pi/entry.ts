import type { Entry } from "../../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, decodeText, parseJson } from "../../../core/tools/json.ts";
import { singleSpaced } from "../../../core/tools/spaces.ts";
import { readMessage } from "./message.ts";

/** Reads an entry of a session; the entries of a session form a tree. */
export function entryIn(record: Uint8Array): Entry | null {
  const json = asObject(parseJson(decodeText(record).text)?.value);
  const [id, type] = [asNonBlank(json?.id), asNonBlank(json?.type)];
  if (json === null || id === null || type === null || type === "session") return null;
  const message = readMessage(asObject(json.message) ?? {});
  const calls = message?.calls.map((call) => call.name).join(", ") ?? "";
  const text =
    message === null
      ? (asText(json.summary) ?? asText(json.name) ?? asText(json.modelId) ?? asText(json.customType) ?? "")
      : message.text || calls;
  const preview = singleSpaced(text).slice(0, PREVIEW);
  return { id, type, parent: asNonBlank(json.parentId), at: asTime(json.timestamp), preview };
}

const PREVIEW = 96;
