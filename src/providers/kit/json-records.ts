import type { AgentKey } from "../../core/facts/ids.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import { asObject, decodeText, type JsonObject, parseJson } from "../../core/tools/json.ts";

export interface JsonReader {
  /** The agent that the record is about; null if the record is ignored. */
  speaker(json: JsonObject): AgentKey | null;
  /** The time of the record; unknown if not given. */
  at?(json: JsonObject): number | null;
  read(json: JsonObject, out: FindingsOf): void;
}

/** Records that do not depend on earlier ones: a small JSON file, rewritten as a whole, or a line of a journal. */
export class JsonRecords implements Parser {
  readonly #file: SourceFile;
  readonly #reader: JsonReader;

  constructor(file: SourceFile, reader: JsonReader) {
    this.#file = file;
    this.#reader = reader;
  }

  push(record: Uint8Array, line: number): Findings {
    const { text, isUtf8 } = decodeText(record);
    const json = asObject(parseJson(text)?.value);
    if (json === null) return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    const speaker = this.#reader.speaker(json);
    if (speaker === null) return NOTHING;
    const at = this.#reader.at?.(json) ?? null;
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker, keys: [] });
    this.#reader.read(json, out);
    if (!isUtf8) out.problem("text-not-utf8", `${record.length} bytes`);
    return out;
  }

  events = () => [];
  save = () => null;
}
