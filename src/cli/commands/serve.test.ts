import { expect, it } from "vitest";
import { isLateWrite } from "./serve.ts";

const failed = (message: string, at: string) =>
  Object.assign(new TypeError(message), { stack: `${message}\n    at ${at}` });

it("a late write of the client of PostgreSQL is told from other errors", () => {
  const message = "Cannot read properties of null (reading 'write')";
  const client = "Immediate.nextWrite (file:///node_modules/postgres/src/connection.js:255:22)";
  expect(isLateWrite(failed(message, client))).toBe(true);
  expect(isLateWrite(failed(message, "send (file:///dist/chunks/serve.js:1:1)"))).toBe(false);
  expect(isLateWrite(failed("Cannot read properties of null (reading 'end')", client))).toBe(false);
});
