import { describe, expect, it } from "vitest";
import { multipart, patchOf, postOf } from "./multipart.ts";
import type { Run } from "./runs.ts";

const ID = "019b2869-b1cd-7000-8000-000000000001";
const RUN: Run = {
  id: ID,
  trace_id: ID,
  dotted_order: `20251216T174404397000Z${ID}`,
  name: "Claude Code Turn",
  run_type: "chain",
  start_time: "2025-12-16T17:44:04.397000Z",
  end_time: "2025-12-16T17:44:09.497Z",
  session_name: "lab",
  tags: ["a"],
  inputs: { x: "ü" },
  outputs: {},
  error: "User interrupt",
  extra: { metadata: {} },
};

describe("a request", () => {
  it("equals that of LangSmith's own package, byte by byte", () => {
    const { body, contentType } = multipart([postOf(RUN)]);
    const boundary = contentType.slice("multipart/form-data; boundary=".length);
    const part = (name: string, json: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="post.${ID}${name}"\r\nContent-Type: application/json; length=${Buffer.byteLength(json)}\r\n\r\n${json}\r\n`;
    const expected = [
      part(
        "",
        `{"id":"${ID}","trace_id":"${ID}","dotted_order":"20251216T174404397000Z${ID}","name":"Claude Code Turn","run_type":"chain","start_time":"2025-12-16T17:44:04.397000Z","end_time":"2025-12-16T17:44:09.497Z","session_name":"lab","tags":["a"]}`,
      ),
      part(".inputs", '{"x":"ü"}'),
      part(".outputs", "{}"),
      part(".error", '"User interrupt"'),
      part(".extra", '{"metadata":{}}'),
      `--${boundary}--\r\n`,
    ].join("");
    expect(Buffer.from(body).toString()).toBe(expected);
  });

  it("ends a run with the fields that identify it, and does not start it again", () => {
    const { is, parts } = patchOf(RUN);
    expect(is).toBe("patch");
    expect(Object.keys(parts)).toEqual(["", ".outputs", ".error", ".extra"]);
    expect(parts[""]).toEqual({
      id: ID,
      trace_id: ID,
      dotted_order: RUN.dotted_order,
      end_time: RUN.end_time,
      session_name: "lab",
      tags: ["a"],
    });
  });

  it("has a boundary that does not occur in its content", () => {
    const { contentType } = multipart([postOf(RUN)]);
    const boundary = contentType.split("=")[1] ?? "";
    const other = multipart([postOf({ ...RUN, inputs: { x: `\r\n--${boundary}--\r\n` } })]);
    expect(other.contentType).not.toContain(boundary);
    expect(
      Buffer.from(other.body)
        .toString()
        .split(other.contentType.split("=")[1] ?? "").length,
    ).toBe(7);
  });
});
