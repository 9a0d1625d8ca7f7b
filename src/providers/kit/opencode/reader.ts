import { FindingsOf, problemAt } from "../../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../../core/ports/provider.ts";
import {
  asCount,
  asList,
  asNonBlank,
  asObject,
  asText,
  decodeText,
  type JsonObject,
  parseJson,
} from "../../../core/tools/json.ts";
import type { EventDraft } from "../../../core/views/event.ts";
import { eventsOf, eventsOfPart } from "./events.ts";
import type { Keys } from "./keys.ts";
import { copyKey, partCopyKey, readLonePart, readMessage, speakerOf } from "./message.ts";
import { type Cursor, cursorIn, extentIn } from "./plan.ts";
import { LAST, readSession } from "./session.ts";
import { type Message, messageOf, partOf, type SessionInfo, sessionOf } from "./shapes.ts";

/** The place of a record. */
interface Place {
  readonly file: SourceFile;
  readonly line: number;
  readonly row?: string | undefined;
}

/** One session of a database: its row, and its messages with their parts. */
export class SessionRows implements Parser {
  readonly #key: Keys;
  readonly #file: SourceFile;
  readonly #database: string | null;
  #updated: number;
  #edge: { readonly row: string; readonly size: number };
  /** The extent of the session in the last record. */
  #extent: unknown;
  /** The last message is incomplete. */
  #open: boolean;
  /** Time of the newest message read. */
  #newest = 0;
  /** The record that was read last; its events follow. */
  #last: { readonly record: Uint8Array; readonly message: Message | null } | null = null;

  constructor(key: Keys, file: SourceFile, saved?: unknown) {
    const cursor = cursorIn(saved);
    this.#key = key;
    this.#file = file;
    this.#database = file.isForeign === true ? null : file.path.slice(0, file.path.lastIndexOf("#"));
    this.#updated = cursor?.updated ?? 0;
    this.#edge = { row: cursor?.edge ?? "", size: cursor?.edgeSize ?? 0 };
    this.#extent = cursor?.extent;
    this.#open = cursor?.open ?? false;
  }

  save(): Cursor {
    return {
      updated: this.#updated,
      edge: this.#edge.row,
      edgeSize: this.#edge.size,
      extent: extentIn(this.#extent),
      open: this.#open,
    };
  }

  push(record: Uint8Array, line: number, row?: string): Findings {
    const place = { file: this.#file, line, row };
    const json = readObject(record);
    this.#last = null;
    if (json === null) return problemAt(this.#file.path, line, "record-malformed", `${record.length} bytes`, row);
    this.#notePosition(json, row ?? "");
    if (json.session !== undefined) return sessionFindings(this.#key, place, sessionOf(json.session), this.#database);
    this.#extent = json.extent;
    const message = messageIn(json);
    this.#last = { record, message };
    if (message === null) return problemAt(this.#file.path, line, "record-malformed", "not a message", row);
    if (line >= this.#newest) {
      this.#newest = line;
      this.#open = message.completed === null;
    }
    const found = messageFindings(this.#key, place, message);
    const broken = asList(json.parts).length - message.parts.length;
    if (broken === 0) return found;
    const problem = {
      code: "record-malformed",
      where: `${this.#file.path}:${row}`,
      detail: `${broken} of its parts`,
      times: broken,
    } as const;
    return { observations: found.observations, problems: [...found.problems, problem] };
  }

  events(record: Uint8Array): readonly EventDraft[] {
    const message = this.#last?.record === record ? this.#last.message : messageIn(readObject(record) ?? {});
    return message === null ? [] : eventsOf(this.#key, message);
  }

  #notePosition(json: JsonObject, row: string) {
    const updated = asCount(json.updated);
    if (updated < this.#updated) return;
    this.#updated = updated;
    this.#edge = { row, size: asCount(json.size) };
  }
}

/** A record of the database: ids are separate fields. */
function messageIn(json: JsonObject): Message | null {
  const ids = { id: json.id, session: json.sessionID };
  return messageOf(json.info, asList(json.parts), ids, (item) => {
    const part = asObject(item);
    const id = asNonBlank(part?.id);
    return id === null ? null : partOf(part?.data, id);
  });
}

function readObject(record: Uint8Array): JsonObject | null {
  return asObject(parseJson(decodeText(record).text)?.value);
}

function sessionFindings(
  key: Keys,
  { file, line, row }: Place,
  info: SessionInfo | null,
  database: string | null,
): Findings {
  if (info === null) return problemAt(file.path, line, "record-malformed", "not a session", row);
  const out = new FindingsOf({ path: file.path, line, row, at: info.created, speaker: key.session(info.id), keys: [] });
  readSession(key, out, info, file, database);
  return out;
}

function messageFindings(key: Keys, { file, line, row }: Place, message: Message): FindingsOf {
  const out = new FindingsOf({
    path: file.path,
    line,
    row,
    at: message.created,
    speaker: speakerOf(key, message),
    keys: [copyKey(key, message)],
  });
  readMessage(key, out, message);
  return out;
}

/** A file that is a single JSON value. */
function document(
  file: SourceFile,
  read: (json: JsonObject) => Findings | null,
  events: (json: JsonObject) => readonly EventDraft[] = () => [],
): Parser {
  return {
    push(record) {
      const json = readObject(record);
      if (json === null) return problemAt(file.path, 0, "line-not-json", `${record.length} bytes`);
      return read(json) ?? problemAt(file.path, 0, "record-malformed", "a required field is missing");
    },
    events(record) {
      const json = readObject(record);
      return json === null ? [] : events(json);
    },
    save: () => null,
  };
}

/** `storage/session/<project>/ses_….json`, up to 1.1. */
export const sessionFile = (key: Keys, file: SourceFile): Parser =>
  document(file, (json) => sessionFindings(key, { file, line: 0 }, sessionOf(json), null));

/** `storage/message/<session>/msg_….json`: its parts are separate files. */
export const messageFile = (key: Keys, file: SourceFile): Parser =>
  document(file, (json) => {
    const message = messageOf(json, []);
    if (message === null) return null;
    const out = messageFindings(key, { file, line: 0 }, message);
    out.add({
      type: "agent-described",
      agent: key.session(message.session),
      file: { path: file.path, bytes: file.bytes },
    });
    return out;
  });

/** `storage/part/<message>/prt_….json`. */
export function partFile(key: Keys, file: SourceFile): Parser {
  const lone = (json: JsonObject) => {
    const [part, session] = [partOf(json), asNonBlank(json.sessionID)];
    return part === null || session === null ? null : { part, session };
  };
  return document(
    file,
    (json) => {
      const found = lone(json);
      if (found === null) return null;
      const { part, session } = found;
      const keys = part.start === null ? [] : [partCopyKey(key, part)];
      const out = new FindingsOf({ path: file.path, line: 0, at: part.start, speaker: key.session(session), keys });
      readLonePart(key, out, part, session);
      // Sorted last, so that the session's own file is listed first.
      out.addAt(LAST, {
        type: "agent-described",
        agent: key.session(session),
        file: { path: file.path, bytes: file.bytes },
      });
      return out;
    },
    (json) => {
      const found = lone(json);
      return found === null
        ? []
        : eventsOfPart(key, found.part, found.session, key.record(`${asText(json.messageID) ?? ""} 0`));
    },
  );
}

/** The output of `opencode export`: a session with all its messages. */
export function exportFile(key: Keys, file: SourceFile): Parser {
  const messages = (json: JsonObject) =>
    asList(json.messages).map((item) => {
      const one = asObject(item);
      return messageOf(one?.info, asList(one?.parts));
    });
  return document(
    file,
    (json) => {
      const info = sessionOf(json.info);
      if (info === null) return null;
      const session = sessionFindings(key, { file, line: 0, row: "session" }, info, null);
      const all = messages(json).map((message, i) =>
        message === null
          ? problemAt(file.path, 0, "record-malformed", "not a message", `message ${i + 1}`)
          : messageFindings(key, { file, line: i + 1, row: message.id }, message),
      );
      return {
        observations: [session, ...all].flatMap((f) => f.observations),
        problems: [session, ...all].flatMap((f) => f.problems),
      };
    },
    (json) => messages(json).flatMap((message) => (message === null ? [] : eventsOf(key, message))),
  );
}
