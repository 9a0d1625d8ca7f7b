import { asObject, asText, asTime, asWords, decodeText, parseJson } from "../../core/json.ts";
import type { Entry } from "../../core/provider.ts";
import { readMessage } from "./message.ts";

/** An entry of the tree that a session is. */
export function entryIn(record: Uint8Array): Entry | null {
  const json = asObject(parseJson(decodeText(record).text)?.value);
  const [id, type] = [asWords(json?.id), asWords(json?.type)];
  if (json === null || id === null || type === null || type === "session") return null;
  const message = readMessage(asObject(json.message) ?? {});
  const calls = message?.calls.map((call) => call.name).join(", ") ?? "";
  const said = message === null ? (asText(json.summary) ?? asText(json.name) ?? asText(json.modelId) ?? asText(json.customType) ?? "") : message.text || calls;
  const preview = said.replace(/\s+/g, " ").trim().slice(0, PREVIEW);
  return { id, type, parent: asWords(json.parentId), at: asTime(json.timestamp), preview };
}

const PREVIEW = 96;
