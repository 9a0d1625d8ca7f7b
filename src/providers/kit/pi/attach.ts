import { type AttachRequest, asArgument, type TranscriptRecord } from "../../../core/ports/attach.ts";
import { asObject, type JsonObject, parseJson } from "../../../core/tools/json.ts";

const decoder = new TextDecoder();

/** `<program> --fork <session file>` copies any session file into a new session. */
export const forkOf = (program: string, path: string, ask: AttachRequest) => ({
  command: commandOf(program, ["--fork", path], ask),
  copies: [],
  limits: [],
});

/** `<program> --fork <copy>`, for a session file that is written first. */
export function forkOfCopy(program: string, records: readonly JsonObject[], ask: AttachRequest) {
  const path = ask.copyAt(`${ask.id}.jsonl`);
  const copies = [{ path, records: records.map((record) => JSON.stringify(record)) }];
  return { command: commandOf(program, ["--fork", path], ask), copies, limits: [] };
}

export const commandOf = (
  program: string,
  options: readonly string[],
  { message, isInteractive, args }: AttachRequest,
) => [program, ...(isInteractive ? [] : ["-p"]), ...options, ...args, ...(message === null ? [] : asArgument(message))];

/** The command that begins a new session with this model. */
export const beginOf = (
  program: string,
  message: string,
  { model, vendor }: { readonly model: string | null; readonly vendor: string | null },
  ask: AttachRequest,
) =>
  commandOf(program, model === null || vendor === null ? [] : ["--model", `${vendor}/${model}`], { ...ask, message });

export const jsonOf = ({ bytes }: TranscriptRecord) => asObject(parseJson(decoder.decode(bytes))?.value);
