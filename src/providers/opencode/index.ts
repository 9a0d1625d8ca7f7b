import type { FileStream, Provider, Stream } from "../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { NAME } from "./keys.ts";
import { planFor } from "./plan.ts";
import { portable } from "./portable.ts";
import { exportFile, messageFile, partFile, SessionRows, sessionFile } from "./reader.ts";
import { relay } from "./relay.ts";
import { ServerEvents } from "./server-events.ts";
import { isPrinted, OpencodeStream, wrap } from "./stream.ts";
import { asSentence } from "./task.ts";
import { wire } from "./wire.ts";

const DATABASE: Stream = { shape: "database", plan: planFor, open: (file, saved) => new SessionRows(file, saved) };

/** Files in a data folder: JSON storage before 1.2, and imports. */
const DOCUMENTS: readonly (readonly [RegExp, typeof sessionFile])[] = [
  [/^storage\/session\/[^/]+\/ses_[^/]+\.json$/, sessionFile],
  [/^storage\/message\/[^/]+\/msg_[^/]+\.json$/, messageFile],
  [/^storage\/part\/[^/]+\/prt_[^/]+\.json$/, partFile],
  [/^export\/[^/]+\/[^/]+\.json$/, exportFile],
];

const STREAM = { open: (saved?: unknown) => new OpencodeStream(saved), promptIn: () => null };
const LIVE = { run: liveStream("stream", STREAM) };
/** Recordings of a followed server, one file per session. */
const FOLLOWED: FileStream = { shape: "lines", open: (file, saved) => new ServerEvents(file, saved) };

/** OpenCode, 1.0 to 1.18. Sources of the format: docs/formats/opencode.md. */
export const opencode: Provider = {
  name: NAME,
  product: "OpenCode",
  vendor: "opencode",
  rootFiles: true,
  folders: ["storage/session", "storage/message", "storage/part", "export"],
  idForm: "a session id looks like ses_e1f1b69ecffev06P57Jpgg6S3M",
  roots(env, home) {
    const list = (value: string | undefined) =>
      (value ?? "")
        .split(",")
        .map((dir) => dir.trim())
        .filter((dir) => dir !== "");
    const data = `${env.XDG_DATA_HOME || `${home}/.local/share`}/opencode`;
    // The product resolves a name without a folder in its data folder; `:memory:` is not a file.
    const databases = list(env.OPENCODE_DB)
      .filter((path) => path !== ":memory:")
      .map((path) => (path.startsWith("/") || /^[A-Za-z]:/.test(path) ? path : `${data}/${path}`));
    const given = [...databases, ...list(env.OPENCODE_DATA_DIR)];
    return given.length > 0 ? given : [data];
  },
  stream(path) {
    if (/^[^/]+\.(db|sqlite|sqlite3)$/.test(path)) return DATABASE;
    const document = DOCUMENTS.find(([name]) => name.test(path));
    // A part names its message, and only the message names the session.
    return document === undefined
      ? null
      : { shape: "document", open: document[1], together: path.slice(0, path.indexOf("/")) };
  },
  recorded: (path) => (/^sse\/.+\.jsonl$/.test(path) ? FOLLOWED : liveAt(LIVE, path)),
  wrap,
  asSentence,
  printed: { form: "opencode run --format json", recognise: isPrinted, stream: printedStream(STREAM) },
  wire,
  relay,
  isThreadId: (id) => /^ses_[A-Za-z0-9]+$/i.test(id),
  isAgentId: (id) => /^[\w.:-]+$/.test(id),
  portable,
};
