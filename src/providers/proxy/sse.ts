const BREAK = /\r\n|\n|\r/g;

/** Reads server-sent events from a copy of what goes by, however it was cut into pieces; whoever the stream is for gets the bytes as they came. */
export class SseReader {
  #rest = "";
  #data: string[] = [];

  /** The data of every event that is complete. Comments, names, ids and retry times say nothing that the data do not. */
  *push(text: string): Generator<string> {
    const all = this.#rest + text;
    let start = 0;
    for (const { 0: line, index } of all.matchAll(BREAK)) {
      // A carriage return at the very end may be half of a line break.
      if (line === "\r" && index === all.length - 1) break;
      yield* this.#line(all.slice(start, index));
      start = index + line.length;
    }
    this.#rest = all.slice(start);
  }

  *#line(line: string): Generator<string> {
    if (line.startsWith("data:")) this.#data.push(line.slice(line[5] === " " ? 6 : 5));
    if (line !== "" || this.#data.length === 0) return;
    yield this.#data.join("\n");
    this.#data = [];
  }
}
