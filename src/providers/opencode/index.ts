import { liveAt, liveStream, printedStream } from "../../core/live-stream.ts";
import type { FileStream, Provider, Stream } from "../../core/provider.ts";
import { NAME } from "./keys.ts";
import { planFor } from "./plan.ts";
import { portable } from "./portable.ts";
import { exportFile, messageFile, partFile, SessionRows, sessionFile } from "./reader.ts";
import { relay } from "./relay.ts";
import { ServerEvents } from "./server-events.ts";
import { isPrinted, OpencodeStream, wrap } from "./stream.ts";
import { inWords } from "./task.ts";
import { wire } from "./wire.ts";

const DATABASE: Stream = { shape: "database", plan: planFor, open: (file, saved) => new SessionRows(file, saved) };

/** Below a data folder: files before 1.2, and what was imported. */
const DOCUMENTS: readonly (readonly [RegExp, typeof sessionFile])[] = [
  [/^storage\/session\/[^/]+\/ses_[^/]+\.json$/, sessionFile],
  [/^storage\/message\/[^/]+\/msg_[^/]+\.json$/, messageFile],
  [/^storage\/part\/[^/]+\/prt_[^/]+\.json$/, partFile],
  [/^export\/[^/]+\/[^/]+\.json$/, exportFile],
];

const STREAM = { open: (saved?: unknown) => new OpencodeStream(saved), promptIn: () => null };
const LIVE = { run: liveStream(STREAM) };
/** What a server said while it was followed, a file a session. */
const FOLLOWED: FileStream = { shape: "lines", open: (file, saved) => new ServerEvents(file, saved) };

/** OpenCode, 1.0 to 1.18. How each format is known: docs/formats/opencode.md. */
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
    // The product takes a name without a folder for one in its data folder; `:memory:` is no file.
    const databases = list(env.OPENCODE_DB)
      .filter((path) => path !== ":memory:")
      .map((path) => (path.startsWith("/") || /^[A-Za-z]:/.test(path) ? path : `${data}/${path}`));
    const given = [...databases, ...list(env.OPENCODE_DATA_DIR)];
    return given.length > 0 ? given : [data];
  },
  stream(path) {
    if (/^[^/]+\.(db|sqlite|sqlite3)$/.test(path)) return DATABASE;
    const document = DOCUMENTS.find(([name]) => name.test(path));
    return document === undefined ? null : { shape: "document", open: document[1] };
  },
  recorded: (path) => (/^sse\/.+\.jsonl$/.test(path) ? FOLLOWED : liveAt(LIVE, path)),
  wrap,
  inWords,
  printed: { form: "opencode run --format json", recognise: isPrinted, stream: printedStream(STREAM) },
  wire,
  relay,
  isThreadId: (id) => /^ses_[A-Za-z0-9]+$/i.test(id),
  isAgentId: (id) => /^[\w.:-]+$/.test(id),
  portable,
};
