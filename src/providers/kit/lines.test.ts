import { describe, expect, it } from "vitest";
import { readJsonLine, recordsIn } from "./lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string, line = 3) => readJsonLine(bytes(text), "f", line, /\{"id":/g);

describe("a line", () => {
  it("is parsed", () => {
    expect(read('{"id":1}')).toEqual({ value: { id: 1 }, isRead: true, problems: [] });
  });

  it("after a truncated one is read, and the loss is reported", () => {
    const found = read('{"id":1,"text":"abc{"id":2,"inner":{"id":3}}');
    expect(found.value).toEqual({ id: 2, inner: { id: 3 } });
    expect(found.problems.map(({ code, where }) => [code, where])).toEqual([["line-not-json", "f:3"]]);
  });

  it("of invalid text is reported, and yields nothing else", () => {
    expect(read("<html>")).toMatchObject({ isRead: false, problems: [{ code: "line-not-json" }] });
  });

  it("with invalid bytes is read with replacement characters", () => {
    const found = readJsonLine(Uint8Array.from([...bytes('{"id":"'), 0xff, ...bytes('"}')]), "f", 1, /\{"id":/g);
    expect(found).toMatchObject({ value: { id: "\ufffd" }, problems: [{ code: "text-not-utf8" }] });
  });
});

describe("a document", () => {
  it("that is truncated is read up to there, and the loss is reported", () => {
    const found = read('{"sessionId":"s","messages":[{"id":1,"text":"a, b"},{"id":2,"te', 0);
    expect(found.value).toEqual({ sessionId: "s", messages: [{ id: 1, text: "a, b" }, { id: 2 }] });
    expect(found.problems.map(({ code }) => code)).toEqual(["line-not-json"]);
  });

  it("without a complete value yields nothing", () => {
    expect(read('{"sess', 0).isRead).toBe(false);
  });
});

describe("several records in one line", () => {
  const split = (text: string) =>
    recordsIn(bytes(text))?.map(({ start, end }) => new TextDecoder().decode(bytes(text).subarray(start, end))) ?? null;

  it.each([
    ['{"a":1}{"b":"}{"}', ['{"a":1}', '{"b":"}{"}']],
    ['{"a":"\\"}{\\""} \t{ "b":{"c":{}}}\r', ['{"a":"\\"}{\\""}', '{ "b":{"c":{}}}']],
    ['{"a":1}{"b":2}{"ü":3}{}', ['{"a":1}', '{"b":2}', '{"ü":3}', "{}"]],
  ])("%s are separated", (line, records) => expect(split(line)).toEqual(records));

  it.each([
    ['{"a":1}{"b":{"c', ['{"a":1}', '{"b":{"c']],
    ['{"a":1}{', ['{"a":1}', "{"]],
    ['{"a":1}{"b":2}{"c":tru}', ['{"a":1}', '{"b":2}', '{"c":tru}']],
    ['{"a":1},', ['{"a":1}', ","]],
  ])("%s: complete records are separated, and the rest is the last one", (line, records) =>
    expect(split(line)).toEqual(records),
  );

  it.each(['{"a":"}{"}', '{"a":[{"b":1},{"c":"} {"}]}', '{"a":1', '{"a":"torn{"b":1}', "", "[1]{", '{"a":1} '])(
    "%s is one record, or an incomplete one",
    (line) => expect(split(line)).toBeNull(),
  );
});
