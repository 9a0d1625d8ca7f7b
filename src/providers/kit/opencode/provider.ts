import type { Manifest } from "../../../core/ports/manifest.ts";
import type { FileStream, Provider, Stream } from "../../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../live-stream.ts";
import { listIn } from "../roots.ts";
import { attachOf } from "./attach.ts";
import { keysOf } from "./keys.ts";
import { planFor } from "./plan.ts";
import { portableOf } from "./portable.ts";
import { exportFile, messageFile, partFile, SessionRows, sessionFile } from "./reader.ts";
import { relayOf } from "./relay.ts";
import { ServerEvents } from "./server-events.ts";
import { isPrinted, OpencodeStream, wrapOf } from "./stream.ts";
import { asSentence } from "./task.ts";
import { wireOf } from "./wire.ts";

/** The differences between the products that share OpenCode's records. */
export interface Fork {
  /** The vendor whose price list applies. */
  readonly vendor: string;
  /** Programs and packages that run it. */
  readonly programs: readonly string[];
  /** Begins the names of its environment variables. */
  readonly variable: string;
  /** Matches the versions of this product: exported sessions of the family differ only in their version. */
  readonly versions: RegExp;
  /** Matches the `user-agent` of its requests and captures the version. */
  readonly userAgent: RegExp;
}

/** Files in a data folder: JSON storage before OpenCode 1.2, and imports. */
const DOCUMENTS: readonly (readonly [RegExp, typeof sessionFile])[] = [
  [/^storage\/session\/[^/]+\/ses_[^/]+\.json$/, sessionFile],
  [/^storage\/message\/[^/]+\/msg_[^/]+\.json$/, messageFile],
  [/^storage\/part\/[^/]+\/prt_[^/]+\.json$/, partFile],
  [/^export\/[^/]+\/[^/]+\.json$/, exportFile],
];

/** OpenCode or a fork of it. Sources of the format: docs/formats/opencode.md. */
export function opencodeLike(manifest: Manifest, { vendor, programs, variable, versions, userAgent }: Fork): Provider {
  // The program and the data folder have the provider's name, too.
  const { name } = manifest;
  const key = keysOf(name);
  const database: Stream = {
    shape: "database",
    plan: planFor,
    open: (file, saved) => new SessionRows(key, file, saved),
  };
  const stream = { open: (saved?: unknown) => new OpencodeStream(key, saved), promptIn: () => null };
  const live = { run: liveStream("stream", stream) };
  /** Recordings of a followed server, one file per session. */
  const followed: FileStream = { shape: "lines", open: (file, saved) => new ServerEvents(key, file, saved) };
  return {
    ...manifest,
    vendor,
    rootFiles: true,
    folders: ["storage/session", "storage/message", "storage/part", "export"],
    idForm: "a session id looks like ses_e1f1b69ecffev06P57Jpgg6S3M",
    rootsForm: `\`${variable}_DB\` and \`${variable}_DATA_DIR\`, else \`$XDG_DATA_HOME/${name}\` (default \`~/.local/share/${name}\`)`,
    roots(env, home) {
      const data = `${env.XDG_DATA_HOME || `${home}/.local/share`}/${name}`;
      // The product resolves a name without a folder in its data folder; `:memory:` is not a file.
      const databases = listIn(env[`${variable}_DB`])
        .filter((path) => path !== ":memory:")
        .map((path) => (path.startsWith("/") || /^[A-Za-z]:/.test(path) ? path : `${data}/${path}`));
      const given = [...databases, ...listIn(env[`${variable}_DATA_DIR`])];
      return given.length > 0 ? given : [data];
    },
    stream(path) {
      if (/^[^/]+\.(db|sqlite|sqlite3)$/.test(path)) return database;
      const document = DOCUMENTS.find(([file]) => file.test(path));
      // A part names its message, and only the message names the session.
      return document === undefined
        ? null
        : {
            shape: "document",
            open: (file) => document[1](key, file),
            together: path.slice(0, path.indexOf("/")),
          };
    },
    recorded: (path) => (/^sse\/.+\.jsonl$/.test(path) ? followed : liveAt(live, path)),
    wrap: (command) => wrapOf(programs, command),
    attach: attachOf(name, manifest.product),
    asSentence,
    printed: { form: `${name} run --format json`, recognise: isPrinted, stream: printedStream(stream) },
    wire: wireOf(key, userAgent),
    relay: relayOf(name, variable),
    isThreadId: (id) => /^ses_[A-Za-z0-9]+$/i.test(id),
    isAgentId: (id) => /^[\w.:-]+$/.test(id),
    portable: portableOf(name, versions),
  };
}
