import { MAX_RECORD } from "../../core/limits.ts";

/** Reads server-sent events from a copy of what goes by, however it was cut into pieces; whoever the stream is for gets the bytes as they came. */
export class SseReader {
  readonly #max: number;
  /** Of the line that has not ended yet. Joined when it does: a long line in small pieces must not be copied for each of them. */
  #parts: string[] = [];
  #isBlank = true;
  #data: string[] = [];
  /** Of the event that has not ended yet. */
  #length = 0;
  /** A carriage return at the very end may be half of a line break, and waits. */
  #return = "";

  constructor(max = MAX_RECORD) {
    this.#max = max;
  }

  /** The data of every event that is complete; one that is too long is left out. Comments, names, ids and retry times say nothing that the data do not. */
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

  /** Lines may end in either way, or in both. */
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
    // Of one that is too long only the end is looked for.
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
