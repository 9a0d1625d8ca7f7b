import type { FileState, IndexedText, Store, TextBatch, TextDue, TextPosition } from "../../core/ports/store.ts";
import { StoreFault } from "../../stores/fault.ts";
import { noReads, readWhole, tailBefore } from "../../transports/files.ts";
import { positionAfter } from "../../transports/lines.ts";
import { asSource, type Found } from "./discover.ts";
import { indexedTexts, indexedTextsOfLine } from "./indexed-text.ts";
import { findingsIn, jsonLines } from "./json-lines.ts";
import { isUnchanged, WHOLE } from "./sync.ts";

/** Text that is not indexed yet. */
interface TextsLeft {
  readonly files: number;
  readonly bytes: number;
  /** All text of files modified after this time is indexed. */
  readonly reachesMs: number;
}

/** What the indexing needs of a library. */
interface Texted {
  readonly store: Store;
  readonly under: readonly string[];
  source(path: string): Found | undefined;
}

/** Maximum amount indexed in one transaction. */
const PORTION = { bytes: 1 << 20, files: 100 } as const;

/**
 * Indexes the words of files after their records were read, newest file first. How far each file is indexed is stored
 * with its words, so a process can end at any moment and the next one continues there.
 */
export class TextIndex {
  readonly #library: Texted;
  readonly counts = noReads();
  /** Newest first; null before the first query. */
  #due: Map<string, TextDue> | null = null;

  constructor(library: Texted) {
    this.#library = library;
  }

  /** Other processes may have read files. */
  forget(): void {
    this.#due = null;
  }

  /** Adds files whose text is to be indexed. */
  leave(paths: ReadonlySet<string>): void {
    if (paths.size > 0) this.#due = null;
  }

  /** Whether `next` may have something to do. */
  get isBehind(): boolean {
    return this.#due === null || this.#due.size > 0;
  }

  /** Null if all text is indexed. */
  get left(): TextsLeft | null {
    const due = [...this.#list().values()];
    const [newest] = due;
    return newest === undefined
      ? null
      : { files: due.length, bytes: due.reduce((sum, { bytes }) => sum + bytes, 0), reachesMs: newest.modifiedMs };
  }

  #list(): Map<string, TextDue> {
    this.#due ??= new Map(this.#library.store.textsDue(this.#library.under).map((due) => [due.path, due]));
    return this.#due;
  }

  /** Indexes the next portion. Returns the number of bytes read: 0 if nothing is left. */
  async next(): Promise<number> {
    const due = this.#list();
    const batches: TextBatch[] = [];
    let bytes = 0;
    for (const { path } of [...due.values()].slice(0, PORTION.files)) {
      if (bytes >= PORTION.bytes) break;
      const batch = await this.#read(path, PORTION.bytes - bytes);
      // An unreadable file is retried by the next process, or when it has changed.
      if (batch === null || batch.to.offset >= batch.file.offset) due.delete(path);
      else due.set(path, { path, modifiedMs: batch.file.modifiedMs, bytes: batch.file.offset - batch.to.offset });
      if (batch === null) continue;
      batches.push(batch);
      bytes += Math.max(1, batch.to.offset - batch.from.offset);
    }
    if (batches.length > 0) this.#library.store.addTexts(batches);
    return bytes;
  }

  async #read(path: string, most: number): Promise<TextBatch | null> {
    const { store } = this.#library;
    const [file, from, found] = [store.file(path), store.textPosition(path), this.#library.source(path)];
    if (file === null || from === null || found === undefined) return null;
    try {
      if (!this.#isTheSame(found, file)) return null;
      const { texts, to } =
        found.stream.shape === "document"
          ? this.#readDocument(found, file)
          : await this.#readLines(found, file, from, most);
      return { file, from, to, texts };
    } catch (error) {
      if (error instanceof StoreFault) throw error;
      // A file that cannot be read is reported where its records are read.
      return null;
    }
  }

  /** False if the file was replaced: then its records are read first. */
  #isTheSame(found: Found, file: FileState): boolean {
    if (isUnchanged(file, found)) return true;
    if (found.stream.shape === "document" || found.stream.packed !== undefined) return false;
    return (
      file.identity === found.stamp.identity &&
      found.stamp.size >= file.offset &&
      tailBefore(file.path, file.offset, this.counts) === file.tail
    );
  }

  #readDocument(found: Found, { offset, lines, path }: FileState): Pick<TextBatch, "texts" | "to"> {
    const bytes = readWhole(path, this.counts);
    const parser = found.stream.open({ ...asSource(found), bytes: bytes.length });
    parser.push(bytes, 0);
    return {
      texts: parser.events(bytes, 0).flatMap((draft) => indexedTexts(draft, WHOLE)),
      to: { offset, lines, parser: undefined },
    };
  }

  /** Up to the position to which the records were read. */
  async #readLines(
    found: Found,
    file: FileState,
    from: TextPosition,
    most: number,
  ): Promise<Pick<TextBatch, "texts" | "to">> {
    const parser = found.stream.open(asSource(found), from.parser);
    const texts: IndexedText[] = [];
    let { offset, lines } = from;
    const { packed } = found.stream;
    for await (const some of jsonLines(file.path, this.counts, { offset, lines }, packed)) {
      for (const line of some) {
        if (line.end > file.offset || (line.is === "unfinished" && packed === undefined)) break;
        if (line.is === "line" && findingsIn(parser, line).observations.length > 0)
          for (const text of indexedTextsOfLine(parser, line)) texts.push(text);
        ({ offset, lines } = positionAfter(line));
      }
      if (offset - from.offset >= most || offset >= file.offset) break;
    }
    // Blank lines at the end do not count.
    return {
      texts,
      to:
        offset - from.offset >= most
          ? { offset, lines, parser: parser.save() }
          : { offset: file.offset, lines: file.lines, parser: undefined },
    };
  }
}
