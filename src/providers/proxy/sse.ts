import { MAX_RECORD } from "../../core/tools/limits.ts";

/** Parses server-sent events from a copy of the stream, in pieces of any size. */
export class SseReader {
  readonly #max: number;
  /**
   * Pieces of the current line. Joined at its end, so that a long line in small pieces is not copied for each of them.
   */
  #parts: string[] = [];
  #isBlank = true;
  #data: string[] = [];
  /** Length of the current event. */
  #length = 0;
  /** A carriage return at the end may be half of a line break, so it is held back. */
  #return = "";

  constructor(max = MAX_RECORD) {
    this.#max = max;
  }

  /**
   * The data of each complete event; events that are too long are skipped. Comments, names, ids and retry times are
   * ignored.
   */
  *push(text: string): Generator<string> {
    const all = this.#withLineFeeds(text);
    let start = 0;
    for (let end = all.indexOf("\n"); end >= 0; end = all.indexOf("\n", start)) {
      this.#add(all.slice(start, end));
      const data = this.#endLine();
      if (data !== null) yield data;
      start = end + 1;
    }
    this.#add(all.slice(start));
  }

  /** Converts CR and CRLF to LF. */
  #withLineFeeds(text: string): string {
    const all = this.#return + text;
    this.#return = all.endsWith("\r") ? "\r" : "";
    const ready = this.#return === "" ? all : all.slice(0, -1);
    return ready.includes("\r") ? ready.replace(/\r\n?/g, "\n") : ready;
  }

  #add(part: string) {
    if (part === "") return;
    this.#isBlank = false;
    this.#length += part.length;
    // For an event that is too long only its end is detected.
    if (this.#length > this.#max) [this.#parts, this.#data] = [[], []];
    else this.#parts.push(part);
  }

  /** The data of the event that ends with this line. */
  #endLine(): string | null {
    const wasBlank = this.#isBlank;
    const line = this.#parts.join("");
    this.#parts = [];
    this.#isBlank = true;
    if (line.startsWith("data:")) this.#data.push(line.slice(line[5] === " " ? 6 : 5));
    else this.#length -= line.length;
    if (!wasBlank) return null;
    const data = this.#data;
    this.#data = [];
    this.#length = 0;
    return data.length === 0 ? null : data.join("\n");
  }
}
