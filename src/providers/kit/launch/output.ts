/** A field of JSON output that names the thread. In JSON within a string, quotes are escaped and do not match. */
const IN_JSON = /(?<![\\\w])"(?:session_?id|session(?:ID|Id)|thread_id)"\s*:\s*"([\w-]{8,80})"/g;
/** The header of Codex. */
const IN_HEADER = /^(?:session|thread)[ _]id:\s*([\w-]{8,80})\s*$/gim;
/** The first line of Pi. */
const OF_SESSION = /^\{"type":"session",(?:[^{}]*,)?"id":"([\w-]{8,80})"/gm;
/** An id alone in a line, as printed by a filter such as `jq -r .session_id`. */
const ALONE = /^"?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|ses_[\w]{20,40})"?$/gm;
const MAX_IDS = 32;

/** The ids by which products name their threads in an output, in their order. */
export function idsIn(output: string): readonly string[] {
  const found = [IN_JSON, IN_HEADER, OF_SESSION, ALONE].flatMap((form) =>
    [...output.matchAll(form)].map((match) => ({ at: match.index, id: match[1] ?? "" })),
  );
  const ids = found.sort((a, b) => a.at - b.at).map(({ id }) => (/^[0-9A-F-]{36}$/.test(id) ? id.toLowerCase() : id));
  return [...new Set(ids)].slice(0, MAX_IDS);
}

/** Terminal colours. */
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, "g");

/** The end of the output, without colours and without the escapes of JSON texts. */
export const readable = (output: string, chars: number) =>
  output
    .slice(-2 * chars)
    .replace(COLOURS, "")
    .replace(/\\n/g, "\n")
    .replace(/\\(["\\/])/g, "$1")
    .trim()
    .slice(-chars);
