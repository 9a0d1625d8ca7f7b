/** Reads server-sent events from a copy of what goes by, however it was cut into pieces; whoever the stream is for gets the bytes as they came. */
export class SseReader {
  #rest = "";
  #data: string[] = [];

  /** The data of every event that is complete. Comments, names, ids and retry times say nothing that the data do not. */
  *push(text: string): Generator<string> {
    const all = withLineFeeds(this.#rest + text);
    let start = 0;
    for (let end = all.indexOf("\n"); end >= 0; end = all.indexOf("\n", start)) {
      if (all.startsWith("data:", start)) this.#data.push(all.slice(start + (all[start + 5] === " " ? 6 : 5), end));
      if (end === start && this.#data.length > 0) {
        yield this.#data.join("\n");
        this.#data = [];
      }
      start = end + 1;
    }
    this.#rest = all.slice(start);
  }
}

/** Lines may end in either way, or in both. A carriage return at the very end may be half of a line break, and waits. */
function withLineFeeds(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n|\r(?!$)/g, "\n") : text;
}
